// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <fanin/cuda/session.hpp>
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

/// Whether cuda_span_reduction<Reducer> stands in the library, so that units without a CUDA compiler can call it.
template <class Reducer>
inline constexpr bool is_precompiled = false;

// The built-in reducers over the built-in types, as APPLY(reducer<type>).
#define FANIN_DETAIL_INTEGERS(APPLY, reducer) \
  APPLY(reducer<std::int32_t>)                \
  APPLY(reducer<std::int64_t>)                \
  APPLY(reducer<std::uint32_t>)               \
  APPLY(reducer<std::uint64_t>)
#define FANIN_DETAIL_ARITHMETIC(APPLY, reducer) \
  FANIN_DETAIL_INTEGERS(APPLY, reducer)         \
  APPLY(reducer<float>)                         \
  APPLY(reducer<double>)
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
  FANIN_DETAIL_INTEGERS(APPLY, bor)

#define FANIN_DETAIL_DECLARE(reducer)                   \
  template <>                                           \
  inline constexpr bool is_precompiled<reducer> = true; \
  extern template struct cuda_span_reduction<reducer>;
FANIN_DETAIL_PRECOMPILED(FANIN_DETAIL_DECLARE)
#undef FANIN_DETAIL_DECLARE

}  // namespace fanin::detail

#pragma GCC visibility pop
