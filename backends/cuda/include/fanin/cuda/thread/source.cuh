// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <fanin/batch.hpp>
#include <fanin/cuda/recipe.hpp>
#include <fanin/detail/md_functor.hpp>
#include <fanin/detail/over_arrays.hpp>
#include <fanin/detail/strided.hpp>
#include <fanin/device/unfused.cuh>
#include <fanin/macros.hpp>
#include <fanin/tuple.hpp>

/// What a thread gathers from. A source has `count` elements and accumulate(composite, state, i) for 0 <= i < count;
/// one that is contiguous has 16-byte vectors too, another says of how many `words` that is which it reads through.
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

/// Of how many words a functor is; of one over several dimensions, without what all of them hold alike, and without the
/// extents by which f finds its elements.
template <class F>
inline constexpr std::size_t words_of = (sizeof(F) + sizeof(void*) - 1) / sizeof(void*);
template <std::size_t Words, std::size_t Rank>
inline constexpr std::size_t words_beside_extents = Words < Rank ? 1 : Words - (Rank - 1);
template <class F, std::size_t Rank, iterate Order>
inline constexpr std::size_t words_of<md_functor<F, Rank, Order>> = words_beside_extents<words_of<F>, Rank>;
template <class F, std::size_t Rank, class... T>
inline constexpr std::size_t words_of<strided_values<F, Rank, T...>> = words_of<F> + sizeof...(T);

/// Whether f's values are not to be fused with what folds them, so that they are the same whoever does.
template <class F>
inline constexpr bool keeps_values = false;

/// Whether a source is a box by tiles (thread/tiles.cuh).
template <class Source>
inline constexpr bool has_tiles = false;

/// A functor over the indices first, first + 1, ...
template <class F>
struct index_source {
  static constexpr bool has_vectors = false;
  static constexpr std::size_t words = words_of<F>;
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

  __device__ value_type value(std::int64_t i) const { return value_of(f, first + i); }
  /// Of elements i, i + step, ...
  template <class Value, int Count>
  __device__ void values(Value (&value)[Count], std::int64_t i, std::int64_t step) const {
    detail::with_row(f, first + i, first + i + (Count - 1) * step, [&](const auto& g) {
#pragma unroll
      for (int k = 0; k < Count; ++k) value[k] = value_of(g, first + i + k * step);
    });
  }
  __device__ std::int64_t index(std::int64_t i) const { return first + i; }

  template <class Composite>
  __device__ void accumulate(const Composite& c, typename Composite::state_type& state, std::int64_t i) const {
    if constexpr (keeps_values<F> && !std::is_void_v<value_type>) {
      c.fold(state, value(i), index(i));
    } else {
      c.accumulate(f, state, first + i);
    }
  }

 private:
  template <class G>
  static __device__ decltype(auto) value_of(const G& g, std::int64_t i) {
    if constexpr (keeps_values<F>) {
      return detail::unfused(g(i));
    } else {
      return g(i);
    }
  }
};

/// What one load brings at most. Of words: bytes would be taken apart and put together again.
struct alignas(16) sixteen_bytes {
  std::uint32_t words[4];
};

/// 16 bytes of an array of T.
template <class T>
struct alignas(16) vector_of {
  static constexpr int width = static_cast<int>(16 / sizeof(T));
  T element[width];
};

/// One load, also of a vector of bytes: number `at` behind `from`.
template <class T, class Index>
__device__ vector_of<T> load_vector(const T* from, Index at) {
  return std::bit_cast<vector_of<T>>(reinterpret_cast<const sixteen_bytes*>(from)[at]);
}

/// How many whole vectors of Width elements there are. Of a number that has no sign: fewer instructions.
template <int Width>
FANIN_FUNCTION constexpr std::int64_t whole_vectors(std::int64_t elements) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(elements) / Width);
}

/// Elements of a contiguous array that fit 16-byte loads: `head` single ones, whole vectors, and the rest. The address
/// is that of the vectors, so that a load needs no arithmetic but its own number's.
template <class T>
struct span_source {
  static constexpr bool has_vectors = true;
  static constexpr int arrays = 1;
  using value_type = T;
  static constexpr std::size_t value_size = sizeof(T);
  using vector = vector_of<T>;
  static constexpr int width = vector::width;

  const T* behind_head;
  std::int64_t count;
  std::int64_t head;

  FANIN_FUNCTION std::int64_t vectors() const { return detail::whole_vectors<width>(count - head); }
  __device__ const T& value(std::int64_t i) const { return behind_head[i - head]; }
  __device__ const vector* first_vector() const { return reinterpret_cast<const vector*>(behind_head); }
  /// Vector number `at` behind the first `done`.
  template <class Index>
  __device__ vector load(std::int64_t done, Index at) const {
    return detail::load_vector(behind_head + done * width, at);
  }

  /// A tile of vectors `step` vectors apart, the first of them number `at`.
  template <int Rows>
  __device__ tile_batch<Rows, width, T> batch(const vector (&v)[Rows], std::int64_t at, std::int64_t step,
                                              int rows) const {
    return {v[0].element, head + at * width, step * width, rows};
  }
  template <int Rows, class Composite>
  __device__ void fold(const Composite& c, typename Composite::state_type& state, const vector (&v)[Rows],
                       std::int64_t at, std::int64_t step, int rows) const {
    c.fold_batch(state, batch(v, at, step, rows));
  }

  template <class Composite>
  __device__ void accumulate(const Composite& c, typename Composite::state_type& state, std::int64_t i) const {
    c.fold(state, value(i), i);
  }
};

/// f(x[i], y[i], ...) of contiguous arrays whose elements have one size and whose addresses are equal modulo 16.
template <class F, class... T>
struct transformed_source {
  static constexpr bool has_vectors = true;
  static constexpr int arrays = sizeof...(T);
  using value_type = std::remove_cvref_t<std::invoke_result_t<const F&, const T&...>>;
  static constexpr int width = std::min({vector_of<T>::width...});
  static constexpr std::size_t value_size = 16 / width;
  using vector = tuple<vector_of<T>...>;

  span_transform<F, T...> behind_head;
  std::int64_t count;
  std::int64_t head;

  FANIN_FUNCTION std::int64_t vectors() const { return detail::whole_vectors<width>(count - head); }
  __device__ value_type value(std::int64_t i) const { return behind_head(i - head); }
  template <class Index>
  __device__ vector load(std::int64_t done, Index at) const {
    return load(done, at, std::index_sequence_for<T...>{});
  }

  template <int Rows, class Composite>
  __device__ void fold(const Composite& c, typename Composite::state_type& state, const vector (&v)[Rows],
                       std::int64_t at, std::int64_t step, int rows) const {
    fold(c, state, v, at, step, rows, std::make_integer_sequence<int, width>{},
         std::make_integer_sequence<int, (Rows - 1) * width>{});
  }

  template <class Composite>
  __device__ void accumulate(const Composite& c, typename Composite::state_type& state, std::int64_t i) const {
    c.fold(state, value(i), i);
  }

 private:
  template <class Index, std::size_t... I>
  __device__ vector load(std::int64_t done, Index at, std::index_sequence<I...>) const {
    return {detail::load_vector(get<I>(behind_head.data) + done * width, at)...};
  }
  /// f is called for the rows that there are, and no more: in a tile the others repeat the first one's values.
  template <int Rows, class Composite, int... First, int... K>
  __device__ void fold(const Composite& c, typename Composite::state_type& state, const vector (&v)[Rows],
                       std::int64_t at, std::int64_t step, int rows, std::integer_sequence<int, First...>,
                       std::integer_sequence<int, K...>) const {
    constexpr std::index_sequence_for<T...> all;
    using tile = tile_batch<Rows, width, value_type>;
    if constexpr (Composite::template takes_any<tile>) {
      const value_type first[] = {value_in<First>(v[0], all)...};
      const value_type values[] = {
          first[First]..., (1 + K / width < rows ? value_in<K % width>(v[1 + K / width], all) : first[K % width])...};
      c.fold_batch(state, tile{values, head + at * width, step * width, rows});
    } else {
      const auto fold_one = [&]<int Row, int Column>() {
        if (Row < rows) {
          c.fold(state, value_in<Column>(v[Row], all), head + (at + Row * step) * width + Column);
        }
      };
      (fold_one.template operator()<0, First>(), ...);
      (fold_one.template operator()<1 + K / width, K % width>(), ...);
    }
  }
  template <int K, std::size_t... I>
  __device__ value_type value_in(const vector& v, std::index_sequence<I...>) const {
    return behind_head.f(get<I>(v).element[K]...);
  }
};

/// Elements of a contiguous array of any other size, one by one.
template <class T>
struct element_at {
  const T* data;
  FANIN_FUNCTION const T& operator()(std::int64_t i) const { return data[i]; }
};

/// The same by 16-byte loads, for an array whose address and whose elements' size are multiples of 16.
template <class T>
struct wide_element_at {
  const T* data;
  FANIN_FUNCTION T operator()(std::int64_t i) const {
    struct chunks {
      sixteen_bytes of[sizeof(T) / sizeof(sixteen_bytes)];
    };
    return std::bit_cast<T>(reinterpret_cast<const chunks*>(data)[i]);
  }
};

/// Vectors of elements are made first and loaded then.
template <class T>
inline constexpr bool fits_vectors =
    std::is_trivially_copyable_v<T> && std::is_default_constructible_v<T> && std::is_copy_assignable_v<T> &&
    sizeof(T) <= 16 && (sizeof(T) & (sizeof(T) - 1)) == 0;

/// The alignment that 16-byte loads ask of an array of T; 0 for a type that does not fit them, or is
/// bitwise copyable without the language knowing it.
template <class T>
inline constexpr std::size_t wide_alignment = fits_vectors<T>                                          ? sizeof(T)
                                              : std::is_trivially_copyable_v<T> && sizeof(T) % 16 == 0 ? 16
                                                                                                       : 0;

/// The source for 16-byte loads, for an array that has that alignment.
template <class T>
auto make_span_source(const T* data, std::int64_t count) {
  if constexpr (fits_vectors<T>) {
    const auto address = reinterpret_cast<std::uintptr_t>(data);
    const auto head = std::min(static_cast<std::int64_t>((16 - address % 16) % 16 / sizeof(T)), count);
    return span_source<T>{data + head, count, head};
  } else {
    return index_source<wide_element_at<T>>{{data}, 0, count};
  }
}

/// Calls use(source) with the source for an array. Where the type's own alignment does not tell whether 16-byte loads
/// are possible (std::complex<float>), both ways are compiled and the address decides.
template <class T, class Use>
decltype(auto) with_span_source(const T* data, std::int64_t count, const Use& use) {
  constexpr std::size_t alignment = wide_alignment<T>;
  if constexpr (alignment != 0 && alignof(T) >= alignment) {
    return use(detail::make_span_source(data, count));
  } else {
    if constexpr (alignment != 0) {
      if (reinterpret_cast<std::uintptr_t>(data) % alignment == 0) return use(detail::make_span_source(data, count));
    }
    return use(index_source<element_at<T>>{{data}, 0, count});
  }
}

/// Whether a source is one contiguous array, which the bulk copy engine can bring.
template <class Source>
inline constexpr bool is_one_array = false;
template <class T>
inline constexpr bool is_one_array<span_source<T>> = true;

/// How many elements that are read one by one a thread has in flight where all threads that a device holds run: as many
/// as bring what `elements` calls of a functor of one word do. One of several words is taken to read a value for each.
/// Those that write have one call's loads in flight at a time, and need the registers of few calls, so that all threads
/// do run. On an H200, q = A p with p.q over 2^24 doubles (3 words): 173 us with one call, 208 with two, 212 with
/// eight; x and r updated with r.r (8 words): 288, 318, 317; x.y of 2^24 floats (2 words), which only reads: 97.7 with
/// eight, 97.2 with four, 98.3 with two, 103.9 with one.
template <class Source>
constexpr int elements_in_flight(int elements) {
  if (Source::words == 1) return elements;
  constexpr std::size_t floats = Source::value_size == 0 ? 2 : (Source::value_size + sizeof(float) - 1) / sizeof(float);
  return std::max(elements / static_cast<int>(Source::words * floats), 1);
}

/// How many vectors or elements a thread has in flight: as many loads for several arrays as for one. A grid of few
/// threads has as many elements as the recipe says.
template <class Source>
constexpr int units_in_flight(const cuda_recipe& recipe, bool has_few_threads) {
  if constexpr (Source::has_vectors) {
    return std::max(recipe.loads / Source::arrays, 1);
  } else {
    return has_few_threads ? recipe.elements : detail::elements_in_flight<Source>(recipe.elements);
  }
}

/// The same in a grid of one block, which has a multiprocessor's registers to itself: as many loads for each of several
/// arrays as for one (on an H200, products of 2^12 floats 1.74 us instead of 1.79, of 2^14 2.28 instead of 2.42). Of
/// indices fewer, since each is behind a condition in a round that is not whole.
template <class Source>
constexpr int units_in_flight_alone(const cuda_recipe& recipe) {
  constexpr int most_indices = 4;
  if constexpr (Source::has_vectors) {
    return recipe.loads;
  } else {
    return std::min(detail::units_in_flight<Source>(recipe, true), most_indices);
  }
}

/// Whether Count values of a source can be held before they are folded.
template <class Source, int Count>
inline constexpr bool values_fit_registers = [] {
  constexpr std::size_t most_bytes = 128;
  if constexpr (Source::value_size == 0) {
    return false;
  } else {
    return Source::value_size * Count <= most_bytes &&
           std::is_trivially_default_constructible_v<typename Source::value_type> &&
           std::is_copy_assignable_v<typename Source::value_type>;
  }
}();

/// Calls use(source) with the source for a functor over the indices first, first + 1, ..., of which this strategy makes
/// that composite.
template <class Strategy, class Composite, class F, class Use>
decltype(auto) with_index_source(const F& f, std::int64_t first, std::int64_t count, const Use& use) {
  return use(index_source<F>{f, first, count});
}

/// transform_reduce: by 16-byte loads where the arrays' elements have one size and their addresses agree.
template <class Strategy, class Composite, class F, class... T, class Use>
decltype(auto) with_index_source(const span_transform<F, T...>& f, std::int64_t first, std::int64_t count,
                                 const Use& use) {
  constexpr std::size_t size = std::max({sizeof(T)...});
  if constexpr ((fits_vectors<T> && ...) && ((sizeof(T) == size) && ...)) {
    const auto address_of = [](const auto* data) { return reinterpret_cast<std::uintptr_t>(data); };
    const std::uintptr_t address = address_of(get<0>(f.data));
    const bool agree = [&]<std::size_t... I>(std::index_sequence<I...>) {
      return ((address_of(get<I>(f.data)) % 16 == address % 16) && ...);
    }(std::index_sequence_for<T...>{});
    if (first == 0 && agree && address % size == 0) {
      const auto head = std::min(static_cast<std::int64_t>((16 - address % 16) % 16 / size), count);
      span_transform<F, T...> behind_head = f;
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        ((get<I>(behind_head.data) += head), ...);
      }(std::index_sequence_for<T...>{});
      return use(transformed_source<F, T...>{behind_head, count, head});
    }
  }
  return use(index_source<span_transform<F, T...>>{f, first, count});
}

}  // namespace fanin::detail
