// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/// Arrays that numpy wrote: `.npy` files (format versions 1.0, 2.0, 3.0) and the members of `.npz`
/// archives. A file is taken as untrusted: nothing in it is executed, and nothing is allocated
/// before its size has been checked against the bytes that are there.
namespace fanin_perf {

/// One sentence: which file, what is wrong with it, what to do.
class input_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What an element is in memory, after widening: integers have 64 bits, so that their sums do.
enum class element_type : std::uint8_t { int64, uint64, float32, float64 };

/// numpy's name of the type, such as "float32".
[[nodiscard]] std::string_view to_string(element_type type) noexcept;
[[nodiscard]] std::size_t size_of(element_type type) noexcept;

/// Owned bytes on a 64-byte boundary, not initialised. data() is null when size() is 0.
class aligned_bytes {
 public:
  static constexpr std::size_t alignment = 64;

  aligned_bytes() noexcept = default;

  /// Throws std::bad_alloc.
  explicit aligned_bytes(std::size_t size) : size_(size) {
    if (size != 0) {
      bytes_.reset(static_cast<std::byte*>(::operator new(size, std::align_val_t{alignment})));
    }
  }

  aligned_bytes(aligned_bytes&& other) noexcept
      : bytes_(std::move(other.bytes_)), size_(std::exchange(other.size_, 0)) {}

  aligned_bytes& operator=(aligned_bytes&& other) noexcept {
    bytes_ = std::move(other.bytes_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  [[nodiscard]] std::byte* data() noexcept { return bytes_.get(); }
  [[nodiscard]] const std::byte* data() const noexcept { return bytes_.get(); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  struct release {
    void operator()(std::byte* p) const noexcept { ::operator delete(p, std::align_val_t{alignment}); }
  };

  std::unique_ptr<std::byte, release> bytes_;
  std::size_t size_ = 0;
};

/// An array in native byte order, its elements in the order in which the file stores them.
struct input_array {
  std::string source;               ///< file, and the array's name in it, for messages and reports
  std::string dtype;                ///< as the header has it, such as ">i2"
  element_type type{};              ///< of the elements in `data`
  std::string note;                 ///< what was changed in reading, such as "int16 widened to int64"; or empty
  std::vector<std::int64_t> shape;  ///< empty for a numpy scalar, which is one element
  bool fortran_order = false;       ///< storage order has the first index running fastest
  std::int64_t n = 0;               ///< elements: the shape's product
  aligned_bytes data;               ///< n * size_of(type) bytes
};

/// The shape as Python writes it: "()", "(3,)", "(2, 3)".
[[nodiscard]] std::string shape_text(std::span<const std::int64_t> shape);

namespace detail {
template <class T>
constexpr bool always_false = false;

template <class T>
constexpr element_type element_type_of() {
  if constexpr (std::is_same_v<T, std::int64_t>) {
    return element_type::int64;
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    return element_type::uint64;
  } else if constexpr (std::is_same_v<T, float>) {
    return element_type::float32;
  } else if constexpr (std::is_same_v<T, double>) {
    return element_type::float64;
  } else {
    static_assert(always_false<T>, "an input array holds int64, uint64, float or double");
  }
}
}  // namespace detail

/// The elements, in storage order; the span lives as long as `from.data`.
/// Throws std::invalid_argument where T is not `from.type`.
template <class T>
[[nodiscard]] std::span<const T> elements(const input_array& from) {
  if (detail::element_type_of<T>() != from.type) {
    throw std::invalid_argument(std::string(from.source).append(" holds ").append(to_string(from.type)));
  }
  return {reinterpret_cast<const T*>(from.data.data()), static_cast<std::size_t>(from.n)};
}

/// Calls f(std::span<const T>) with the elements in their own type and returns what f returns.
template <class F>
decltype(auto) visit_elements(const input_array& from, F&& f) {
  switch (from.type) {
    case element_type::int64: return std::forward<F>(f)(elements<std::int64_t>(from));
    case element_type::uint64: return std::forward<F>(f)(elements<std::uint64_t>(from));
    case element_type::float32: return std::forward<F>(f)(elements<float>(from));
    case element_type::float64: return std::forward<F>(f)(elements<double>(from));
  }
  throw std::invalid_argument("the array's element type has no such value");
}

/// Reads `path`; whether it is .npy or .npz is told by its content, not by its suffix.
/// `array_name` names one array of an .npz (with or without ".npy"), and may be empty where there
/// is only one; it must be empty for .npy. Elements: int64, uint64, float32 and float64 as they
/// are; int8, int16 and int32 widened to int64, uint8, uint16 and uint32 to uint64; other types are
/// refused. n == 0 is an array without data. Throws input_error; memory that cannot be had is
/// one, too.
[[nodiscard]] input_array load_array(const std::filesystem::path& path, std::string_view array_name = {});

/// The same from bytes in memory, which must outlive the call only; `name` stands for the file in
/// messages.
[[nodiscard]] input_array parse_array(std::span<const std::byte> bytes, std::string_view name,
                                      std::string_view array_name = {});
[[nodiscard]] input_array parse_npy(std::span<const std::byte> bytes, std::string_view name);
[[nodiscard]] input_array parse_npz(std::span<const std::byte> bytes, std::string_view name,
                                    std::string_view array_name = {});

/// The index into the array flattened in C order (what numpy.argmin means) of the element that is
/// stored at `storage_index`; -1, the place in an empty array, stays -1. For Fortran order with
/// ties, the first in storage order need not be the first in C order. Throws std::out_of_range
/// outside of [-1, n).
[[nodiscard]] std::int64_t numpy_flat_index(const input_array& from, std::int64_t storage_index);

}  // namespace fanin_perf
