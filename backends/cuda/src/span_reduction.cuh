// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/cuda/cuda.hpp>

// The bodies behind precompiled.hpp, for the units here that instantiate them.
namespace fanin::detail {

template <class Reducer>
constexpr auto composite_in_library(const Reducer& reducer) {
  return with_columns<cuda_strategy::one_pass>(substitute_composite(make_composite(reducer)));
}

template <class Reducer>
auto cuda_span_reduction<Reducer>::reduce(const cuda_handle& handle, const char* label, const element* data,
                                          std::int64_t count, const Reducer& reducer) -> result {
  return with_span_source(data, count, [&](const auto& source) {
    return reduce_blocking<cuda_strategy::one_pass>(handle, label, source, composite_in_library(reducer));
  });
}

template <class Reducer>
void cuda_span_reduction<Reducer>::reduce_into(const cuda_handle& handle, const char* label, result* out,
                                               const element* data, std::int64_t count, const Reducer& reducer) {
  with_span_source(data, count, [&](const auto& source) {
    reduce_ordered<cuda_strategy::one_pass>(handle, label, out, source, composite_in_library(reducer));
  });
}

template <class Reducer>
auto cuda_span_reduction<Reducer>::reduce_async(const cuda_handle& handle, const char* label, const element* data,
                                                std::int64_t count, const Reducer& reducer) -> pending<result> {
  return with_span_source(data, count, [&](const auto& source) {
    return reduce_pending<cuda_strategy::one_pass>(handle, label, source, composite_in_library(reducer));
  });
}

}  // namespace fanin::detail

#define FANIN_DETAIL_INSTANTIATE(reducer) template struct cuda_span_reduction<reducer>;
