// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include <fanin/bitwise_copyable.hpp>
#include <fanin/error.hpp>
#include <fanin/execution.hpp>
#include <fanin/range.hpp>

namespace fanin {

namespace detail {

template <class T>
void check_copy(std::size_t to, std::size_t from, const char* call) {
  static_assert(is_bitwise_copyable_v<T>,
                "fanin: only bitwise copyable elements can be copied (fanin::is_bitwise_copyable)");
  if (to != from) {
    throw invalid_argument(std::string(call) + ": " + std::to_string(from) + " elements do not fit a destination of " +
                           std::to_string(to) + "; give spans of one length");
  }
}

inline void check_not_null(const void* pointer, const char* call) {
  if (pointer == nullptr) throw invalid_argument(std::string(call) + ": a span of more than no elements is null");
}

}  // namespace detail

/// Copies host elements into the backend's memory. Blocks until it is done, after earlier work of `exec`. n == 0 does
/// nothing. Throws invalid_argument when lengths differ, a span is null, or `to` is not the backend's memory.
template <class Exec, class T>
void copy_from_host(Exec&& exec, std::span<const std::type_identity_t<T>> host, std::span<T> to) {
  using object = std::remove_cvref_t<Exec>;
  const auto handle = detail::handle_of(std::forward<Exec>(exec));
  detail::check_copy<T>(to.size(), host.size(), "fanin::copy_from_host");
  if (host.empty()) return;
  detail::check_not_null(host.data(), "fanin::copy_from_host");
  detail::check_not_null(to.data(), "fanin::copy_from_host");
  backend<object>::check_memory(handle, to.data(), "fanin::copy_from_host: the destination");
  backend<object>::copy_from_host(backend<object>::memory(handle), to.data(), host.data(), host.size_bytes());
}

/// Copies elements of the backend's memory to the host. Blocks until it is done, after earlier work of `exec`. n == 0
/// does nothing. Throws invalid_argument when lengths differ, a span is null, or `from` is not the backend's memory.
template <class Exec, class T>
void copy_to_host(Exec&& exec, std::span<const std::type_identity_t<T>> from, std::span<T> host) {
  using object = std::remove_cvref_t<Exec>;
  const auto handle = detail::handle_of(std::forward<Exec>(exec));
  detail::check_copy<T>(host.size(), from.size(), "fanin::copy_to_host");
  if (host.empty()) return;
  detail::check_not_null(host.data(), "fanin::copy_to_host");
  detail::check_not_null(from.data(), "fanin::copy_to_host");
  backend<object>::check_memory(handle, from.data(), "fanin::copy_to_host: the source");
  backend<object>::copy_to_host(backend<object>::memory(handle), host.data(), from.data(), host.size_bytes());
}

/// n elements in the memory of a backend. Owning, movable, not copyable. The elements are uninitialised; n == 0 holds
/// no memory and has a null data(). May outlive its execution object, and the thread whose default object that is: the
/// destructor waits for the object's work, if there still is one, and frees; copies are then made on their own.
template <class T, class Exec>
class buffer {
  struct checked {};
  static_assert(alignof(T) <= 64, "fanin::buffer holds elements that need to be aligned to 64 bytes at most");
  static_assert(is_bitwise_copyable_v<T>, "fanin::buffer holds bitwise copyable elements (fanin::is_bitwise_copyable)");

 public:
  using value_type = T;
  using execution_type = Exec;
  using memory_type = typename backend<Exec>::memory_type;

  /// Memory for n elements. Throws invalid_argument when n * sizeof(T) overflows, the backend's error (or
  /// std::bad_alloc on host backends) when there is no memory.
  template <class Object, detail::index_value N>
    requires std::same_as<std::remove_cvref_t<Object>, Exec>
  buffer(Object&& exec, N n)
      : buffer(detail::handle_of(std::forward<Object>(exec)), detail::to_index(n, "fanin::buffer"), checked{}) {}

  /// The same on the default object of the backend.
  template <detail::index_value N>
  explicit buffer(N n) : buffer(backend<Exec>::default_object(), n) {}

  /// A copy of host elements. Blocks until it is done.
  template <class Object>
    requires std::same_as<std::remove_cvref_t<Object>, Exec>
  buffer(Object&& exec, std::span<const T> host) : buffer(std::forward<Object>(exec), host.size()) {
    copy_from(host);
  }

  /// The same on the default object of the backend.
  explicit buffer(std::span<const T> host) : buffer(backend<Exec>::default_object(), host) {}

  buffer(buffer&& other) noexcept
      : memory_{std::move(other.memory_)},
        data_{std::exchange(other.data_, nullptr)},
        size_{std::exchange(other.size_, 0)} {}
  buffer& operator=(buffer&& other) noexcept {
    if (this != &other) {
      release();
      memory_ = std::move(other.memory_);
      data_ = std::exchange(other.data_, nullptr);
      size_ = std::exchange(other.size_, 0);
    }
    return *this;
  }
  ~buffer() { release(); }

  T* data() noexcept { return data_; }
  const T* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  std::span<T> span() noexcept { return {data_, size_}; }
  std::span<const T> span() const noexcept { return {data_, size_}; }

  /// Copies size() host elements in. Blocks until it is done; throws invalid_argument for another length.
  void copy_from(std::span<const T> host) {
    detail::check_copy<T>(size_, host.size(), "fanin::buffer::copy_from");
    if (host.empty()) return;
    detail::check_not_null(host.data(), "fanin::buffer::copy_from");
    backend<Exec>::copy_from_host(memory_, data_, host.data(), host.size_bytes());
  }

  /// Copies all elements to the host, after earlier work of the object. Blocks until it is done; throws
  /// invalid_argument for another length.
  void copy_to(std::span<T> host) const {
    detail::check_copy<T>(host.size(), size_, "fanin::buffer::copy_to");
    if (host.empty()) return;
    detail::check_not_null(host.data(), "fanin::buffer::copy_to");
    backend<Exec>::copy_to_host(memory_, host.data(), data_, host.size_bytes());
  }

 private:
  buffer(const typename backend<Exec>::handle_type& handle, std::int64_t n, checked)
      : memory_{backend<Exec>::memory(handle)} {
    if (n < 0) throw invalid_argument("fanin::buffer: " + std::to_string(n) + " elements: the extent is negative");
    if (static_cast<std::size_t>(n) > static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max()) / sizeof(T)) {
      throw invalid_argument("fanin::buffer: " + std::to_string(n) + " elements of " + std::to_string(sizeof(T)) +
                             " bytes overflow the address space");
    }
    if (n == 0) return;
    data_ = static_cast<T*>(backend<Exec>::allocate(handle, static_cast<std::size_t>(n) * sizeof(T)));
    size_ = static_cast<std::size_t>(n);
  }
  void release() noexcept {
    if (data_ != nullptr) backend<Exec>::deallocate(memory_, data_, size_ * sizeof(T));
    data_ = nullptr;
    size_ = 0;
  }

  memory_type memory_;
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace fanin
