// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/cuda/cuda.hpp>

// The bodies behind precompiled.hpp, for the units here that instantiate them.
namespace fanin::detail {

template <class Reducer>
constexpr auto composite_in_library(const Reducer& reducer) {
  return detail::with_columns<cuda_strategy::one_pass>(detail::substitute_composite(detail::make_composite(reducer)));
}

template <class Reducer>
auto cuda_span_reduction<Reducer>::reduce(const cuda_handle& handle, const char* label, const element* data,
                                          std::int64_t count, const Reducer& reducer) -> result {
  return detail::with_span_source(data, count, [&](const auto& source) {
    return detail::reduce_blocking<cuda_strategy::one_pass>(handle, label, source,
                                                            detail::composite_in_library(reducer));
  });
}

template <class Reducer>
void cuda_span_reduction<Reducer>::reduce_into(const cuda_handle& handle, const char* label, result* out,
                                               const element* data, std::int64_t count, const Reducer& reducer) {
  detail::with_span_source(data, count, [&](const auto& source) {
    detail::reduce_ordered<cuda_strategy::one_pass>(handle, label, out, source, detail::composite_in_library(reducer));
  });
}

template <class Reducer>
auto cuda_span_reduction<Reducer>::reduce_async(const cuda_handle& handle, const char* label, const element* data,
                                                std::int64_t count, const Reducer& reducer) -> pending<result> {
  return detail::with_span_source(data, count, [&](const auto& source) {
    return detail::reduce_pending<cuda_strategy::one_pass>(handle, label, source,
                                                           detail::composite_in_library(reducer));
  });
}

}  // namespace fanin::detail

#define FANIN_DETAIL_INSTANTIATE(reducer) template struct cuda_span_reduction<reducer>;
