// SPDX-License-Identifier: Apache-2.0
#include <fanin/cuda/cuda.hpp>
#include <fanin/exact_sum.hpp>
#include <fanin/reducers.hpp>
#include <many_reduction.cuh>

/// Of fanin::cuda's library, for the simulated device, what tests of many results over ranks call.
namespace fanin::detail {
template struct cuda_many_reduction<sum<double>, rows_of_matrix<double, 0>>;
template struct cuda_many_reduction<sum<double>, rows_of_matrix<double, 1>>;
template struct cuda_many_reduction<exact_sum<double>, rows_of_matrix<double, 0>>;
template struct cuda_many_reduction<exact_sum<double>, rows_of_matrix<double, 1>>;
}  // namespace fanin::detail
