// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/cuda/cuda.hpp>

// The bodies behind precompiled.hpp of calls with many results, for the units here that instantiate them.
namespace fanin::detail {

template <class Reducer, class Rows>
void cuda_many_reduction<Reducer, Rows>::reduce_into(const cuda_handle& handle, const char* label, const put& to,
                                                     const all_type& all, const composite& c) {
  detail::reduce_many_ordered(handle, label, to, all, detail::substitute_composite(c));
}

template <class Reducer, class Rows>
pending<void> cuda_many_reduction<Reducer, Rows>::reduce_async(const cuda_handle& handle, const char* label,
                                                               const put& to, const all_type& all, const composite& c) {
  return detail::reduce_many_pending(handle, label, to, all, detail::substitute_composite(c));
}

}  // namespace fanin::detail

#define FANIN_DETAIL_INSTANTIATE_MANY(...) template struct cuda_many_reduction<__VA_ARGS__>;
