// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <concepts>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace fanin::detail {

/// Device memory that an application gives, in the order of a stream.
class cuda_resource {
 public:
  cuda_resource() = default;
  virtual ~cuda_resource() = default;
  cuda_resource(const cuda_resource&) = delete;
  cuda_resource& operator=(const cuda_resource&) = delete;

  virtual void* allocate(std::size_t bytes, std::size_t alignment, cudaStream_t stream) = 0;
  virtual void deallocate(void* pointer, std::size_t bytes, std::size_t alignment, cudaStream_t stream) = 0;
};

/// How a resource names what it does.
enum class resource_shape {
  none,
  bytes_alignment_stream,  ///< allocate(bytes, alignment, stream), deallocate(pointer, bytes, alignment, stream)
  stream_first,            ///< allocate(stream, bytes, alignment), deallocate(stream, pointer, bytes, alignment)
  named_async,             ///< allocate_async and deallocate_async as the first
  bytes_stream,            ///< allocate(bytes, stream), deallocate(pointer, bytes, stream)
};

template <class R>
constexpr resource_shape shape_of_resource() {
  using stream = cudaStream_t;
  using std::size_t;
  if constexpr (requires(R& r, void* p, size_t n, stream s) {
                  { r.allocate(n, n, s) } -> std::convertible_to<void*>;
                  r.deallocate(p, n, n, s);
                }) {
    return resource_shape::bytes_alignment_stream;
  } else if constexpr (requires(R& r, void* p, size_t n, stream s) {
                         { r.allocate(s, n, n) } -> std::convertible_to<void*>;
                         r.deallocate(s, p, n, n);
                       }) {
    return resource_shape::stream_first;
  } else if constexpr (requires(R& r, void* p, size_t n, stream s) {
                         { r.allocate_async(n, n, s) } -> std::convertible_to<void*>;
                         r.deallocate_async(p, n, n, s);
                       }) {
    return resource_shape::named_async;
  } else if constexpr (requires(R& r, void* p, size_t n, stream s) {
                         { r.allocate(n, s) } -> std::convertible_to<void*>;
                         r.deallocate(p, n, s);
                       }) {
    return resource_shape::bytes_stream;
  } else {
    return resource_shape::none;
  }
}

/// What is behind a pointer of any kind, or the thing itself.
template <class T>
decltype(auto) behind(T& thing) {
  if constexpr (requires { *thing; }) {
    return *thing;
  } else {
    return (thing);
  }
}

/// A resource of whichever shape: `Held` is a pointer to it, of any kind, or the resource itself.
template <class Held>
class cuda_resource_of final : public cuda_resource {
  using resource = std::remove_reference_t<decltype(detail::behind(std::declval<Held&>()))>;
  static constexpr resource_shape shape = shape_of_resource<resource>();
  static_assert(shape != resource_shape::none,
                "fanin::cuda(stream, resource): a resource has allocate(bytes, alignment, stream) and "
                "deallocate(pointer, bytes, alignment, stream), or these with the stream in front, or without the "
                "alignment, or named allocate_async and deallocate_async");

 public:
  explicit cuda_resource_of(Held held) : held_(std::move(held)) {}

  void* allocate(std::size_t bytes, std::size_t alignment, cudaStream_t stream) override {
    resource& r = detail::behind(held_);
    if constexpr (shape == resource_shape::bytes_alignment_stream) {
      return r.allocate(bytes, alignment, stream);
    } else if constexpr (shape == resource_shape::stream_first) {
      return r.allocate(stream, bytes, alignment);
    } else if constexpr (shape == resource_shape::named_async) {
      return r.allocate_async(bytes, alignment, stream);
    } else {
      return r.allocate(bytes, stream);
    }
  }
  void deallocate(void* pointer, std::size_t bytes, std::size_t alignment, cudaStream_t stream) override {
    resource& r = detail::behind(held_);
    if constexpr (shape == resource_shape::bytes_alignment_stream) {
      r.deallocate(pointer, bytes, alignment, stream);
    } else if constexpr (shape == resource_shape::stream_first) {
      r.deallocate(stream, pointer, bytes, alignment);
    } else if constexpr (shape == resource_shape::named_async) {
      r.deallocate_async(pointer, bytes, alignment, stream);
    } else {
      r.deallocate(pointer, bytes, stream);
    }
  }

 private:
  Held held_;
};

/// Refers to an lvalue, and keeps anything else.
template <class R>
std::shared_ptr<cuda_resource> make_resource(R&& resource) {
  if constexpr (std::is_lvalue_reference_v<R> && !requires { *resource; }) {
    return std::make_shared<cuda_resource_of<std::remove_reference_t<R>*>>(std::addressof(resource));
  } else {
    return std::make_shared<cuda_resource_of<std::remove_cvref_t<R>>>(std::forward<R>(resource));
  }
}

}  // namespace fanin::detail
