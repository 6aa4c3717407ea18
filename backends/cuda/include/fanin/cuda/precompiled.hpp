// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <fanin/cuda/session.hpp>
#include <fanin/detail/axes_functor.hpp>
#include <fanin/detail/axes_results.hpp>
#include <fanin/detail/destination.hpp>
#include <fanin/detail/segments_functor.hpp>
#include <fanin/detail/strided.hpp>
#include <fanin/exact_sum.hpp>
#include <fanin/pending.hpp>
#include <fanin/reducer.hpp>
#include <fanin/reducers.hpp>

#pragma GCC visibility push(default)

namespace fanin::detail {

/// reduce(span) of the default strategy for one reducer, whose value_type is the element's.
template <class Reducer>
struct cuda_span_reduction {
  using element = typename Reducer::value_type;
  using result = reducer_result_t<Reducer>;
  static result reduce(const cuda_handle& handle, const char* label, const element* data, std::int64_t count,
                       const Reducer& reducer);
  static void reduce_into(const cuda_handle& handle, const char* label, result* out, const element* data,
                          std::int64_t count, const Reducer& reducer);
  static pending<result> reduce_async(const cuda_handle& handle, const char* label, const element* data,
                                      std::int64_t count, const Reducer& reducer);
};

/// Rows that lie along the last dimension of two, or (Axis 0) across it: a matrix gives either, by its layout. Types of
/// their own, since templates of others are visible outside of a shared library only where these are.
template <class T, std::size_t Axis>
struct rows_of_matrix {
  using type = axes_functor<strided_values<itself, 2, T>, axes_of<2, Axis>, iterate::right>;
};
template <class T>
struct short_segments_of {
  using type = segments_functor<contiguous_element<T>, std::int32_t>;
};
/// Which of them All is.
template <class All>
struct rows_in_library;
template <class T, std::size_t Axis>
struct rows_in_library<axes_functor<strided_values<itself, 2, T>, axes_of<2, Axis>, iterate::right>> {
  using type = rows_of_matrix<T, Axis>;
};
template <class T>
struct rows_in_library<segments_functor<contiguous_element<T>, std::int32_t>> {
  using type = short_segments_of<T>;
};

/// The same with a result for each of them.
template <class Reducer, class Rows>
struct cuda_many_reduction {
  using all_type = typename Rows::type;
  using axes = typename all_type::axes;
  using put = results_in_view<axes_result_of_t<Reducer, axes::reduced_rank>, axes::left_rank, iterate::right>;
  using composite = axes_composite<axes_placed<md_results_themselves, axes, iterate::right, Reducer>, Reducer>;
  static void reduce_into(const cuda_handle& handle, const char* label, const put& to, const all_type& all,
                          const composite& c);
  static pending<void> reduce_async(const cuda_handle& handle, const char* label, const put& to, const all_type& all,
                                    const composite& c);
};

/// Whether a functor gives an array's elements, and nobody wrote it.
template <class F>
inline constexpr bool is_data = false;
template <std::size_t Rank, class T>
inline constexpr bool is_data<strided_values<itself, Rank, T>> = true;
template <class T>
inline constexpr bool is_data<contiguous_element<T>> = true;
template <class T>
inline constexpr bool is_data<strided_element<T>> = true;

/// Whether cuda_span_reduction<Reducer> stands in the library, so that units without a CUDA compiler can call it.
template <class Reducer>
inline constexpr bool is_precompiled = false;
/// Whether cuda_many_reduction<its only reducer, rows_in_library<All>::type> does.
template <class Put, class All, class Composite>
inline constexpr bool is_precompiled_for = false;

// The built-in reducers over the built-in types, as APPLY(reducer<type>).
#define FANIN_DETAIL_INTEGERS(APPLY, reducer) \
  APPLY(reducer<std::int32_t>)                \
  APPLY(reducer<std::int64_t>)                \
  APPLY(reducer<std::uint32_t>)               \
  APPLY(reducer<std::uint64_t>)
#define FANIN_DETAIL_FLOATS(APPLY, reducer) \
  APPLY(reducer<float>)                     \
  APPLY(reducer<double>)
#define FANIN_DETAIL_ARITHMETIC(APPLY, reducer) \
  FANIN_DETAIL_INTEGERS(APPLY, reducer)         \
  FANIN_DETAIL_FLOATS(APPLY, reducer)
#define FANIN_DETAIL_PRECOMPILED(APPLY)       \
  FANIN_DETAIL_ARITHMETIC(APPLY, sum)         \
  FANIN_DETAIL_ARITHMETIC(APPLY, prod)        \
  FANIN_DETAIL_ARITHMETIC(APPLY, min)         \
  FANIN_DETAIL_ARITHMETIC(APPLY, max)         \
  FANIN_DETAIL_ARITHMETIC(APPLY, min_loc)     \
  FANIN_DETAIL_ARITHMETIC(APPLY, max_loc)     \
  FANIN_DETAIL_ARITHMETIC(APPLY, min_max)     \
  FANIN_DETAIL_ARITHMETIC(APPLY, min_max_loc) \
  FANIN_DETAIL_ARITHMETIC(APPLY, land)        \
  FANIN_DETAIL_ARITHMETIC(APPLY, lor)         \
  FANIN_DETAIL_INTEGERS(APPLY, band)          \
  FANIN_DETAIL_INTEGERS(APPLY, bor)           \
  FANIN_DETAIL_FLOATS(APPLY, exact_sum)

#define FANIN_DETAIL_DECLARE(reducer)                   \
  template <>                                           \
  inline constexpr bool is_precompiled<reducer> = true; \
  extern template struct cuda_span_reduction<reducer>;
FANIN_DETAIL_PRECOMPILED(FANIN_DETAIL_DECLARE)
#undef FANIN_DETAIL_DECLARE

// Of matrices' rows and columns, and of segments by offsets of 32 bits, as APPLY(reducer<type>, rows).
#define FANIN_DETAIL_SHAPES(APPLY, reducer, type) \
  APPLY(reducer<type>, rows_of_matrix<type, 0>)   \
  APPLY(reducer<type>, rows_of_matrix<type, 1>)   \
  APPLY(reducer<type>, short_segments_of<type>)
#define FANIN_DETAIL_SHAPES_PRECOMPILED(APPLY, type) \
  FANIN_DETAIL_SHAPES(APPLY, sum, type)              \
  FANIN_DETAIL_SHAPES(APPLY, min, type)              \
  FANIN_DETAIL_SHAPES(APPLY, max, type)              \
  FANIN_DETAIL_SHAPES(APPLY, min_loc, type)          \
  FANIN_DETAIL_SHAPES(APPLY, max_loc, type)          \
  FANIN_DETAIL_SHAPES(APPLY, exact_sum, type)

#define FANIN_DETAIL_DECLARE(...)                                                                           \
  template <>                                                                                               \
  inline constexpr bool                                                                                     \
      is_precompiled_for<cuda_many_reduction<__VA_ARGS__>::put, cuda_many_reduction<__VA_ARGS__>::all_type, \
                         cuda_many_reduction<__VA_ARGS__>::composite> = true;                               \
  extern template struct cuda_many_reduction<__VA_ARGS__>;
FANIN_DETAIL_SHAPES_PRECOMPILED(FANIN_DETAIL_DECLARE, float)
FANIN_DETAIL_SHAPES_PRECOMPILED(FANIN_DETAIL_DECLARE, double)
#undef FANIN_DETAIL_DECLARE

}  // namespace fanin::detail

#pragma GCC visibility pop
