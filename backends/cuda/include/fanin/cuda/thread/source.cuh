// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include <fanin/error.hpp>
#include <fanin/macros.hpp>

/// What a thread gathers from. A source has `count` elements and accumulate(composite, state, i) for 0 <= i < count;
/// one that is contiguous has 16-byte vectors too.
namespace fanin::detail {

/// The type of f(i), if f has that form.
template <class F>
struct value_of_index {
  using type = void;
};
template <class F>
  requires std::is_invocable_v<const F&, std::int64_t>
struct value_of_index<F> {
  using type = std::remove_cvref_t<std::invoke_result_t<const F&, std::int64_t>>;
};

/// A functor over the indices first, first + 1, ...
template <class F>
struct index_source {
  static constexpr bool has_vectors = false;
  using value_type = typename value_of_index<F>::type;
  static constexpr std::size_t value_size = [] {
    if constexpr (std::is_void_v<value_type>) {
      return std::size_t{0};
    } else {
      return sizeof(value_type);
    }
  }();
  F f;
  std::int64_t first;
  std::int64_t count;

  __device__ value_type value(std::int64_t i) const { return f(first + i); }
  __device__ std::int64_t index(std::int64_t i) const { return first + i; }

  template <class Composite>
  __device__ void accumulate(const Composite& c, typename Composite::state_type& state, std::int64_t i) const {
    c.accumulate(f, state, first + i);
  }
};

/// Partial results of an earlier launch; reduced with a merging composite.
template <class Accumulator>
struct partials_source {
  static constexpr bool has_vectors = false;
  static constexpr std::size_t value_size = 0;
  const Accumulator* data;
  std::int64_t count;

  template <class Merging>
  __device__ void accumulate(const Merging& c, Accumulator& state, std::int64_t i) const {
    c.join(state, data[i]);
  }
};

/// Elements of a contiguous array that fit 16-byte loads: `head` single ones, whole vectors, and the rest.
template <class T>
struct span_source {
  static constexpr bool has_vectors = true;
  static constexpr int width = static_cast<int>(16 / sizeof(T));
  struct alignas(16) vector {
    T element[width];
  };

  const T* data;
  std::int64_t count;
  std::int64_t head;

  FANIN_FUNCTION std::int64_t vectors() const { return (count - head) / width; }
  __device__ const vector* first_vector() const { return reinterpret_cast<const vector*>(data + head); }

  template <class Composite>
  __device__ void accumulate(const Composite& c, typename Composite::state_type& state, std::int64_t i) const {
    c.fold(state, data[i], i);
  }
};

/// Elements of a contiguous array of any other size, one by one.
template <class T>
struct element_at {
  const T* data;
  FANIN_FUNCTION const T& operator()(std::int64_t i) const { return data[i]; }
};

template <class T>
inline constexpr bool fits_vectors = sizeof(T) <= 16 && (sizeof(T) & (sizeof(T) - 1)) == 0 && alignof(T) == sizeof(T);

template <class T>
auto make_span_source(const T* data, std::int64_t count) {
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  if (count > 0 && address % alignof(T) != 0) {
    throw invalid_argument("fanin::reduce: the array's address is no multiple of its type's alignment, " +
                           std::to_string(alignof(T)) + " bytes");
  }
  if constexpr (fits_vectors<T>) {
    const auto head = static_cast<std::int64_t>((16 - address % 16) % 16 / sizeof(T));
    return span_source<T>{data, count, head < count ? head : count};
  } else {
    return index_source<element_at<T>>{{data}, 0, count};
  }
}

}  // namespace fanin::detail
