// SPDX-License-Identifier: Apache-2.0
#undef __forceinline__
#define __forceinline__ inline  // each function stands by itself

#include <cstdint>
#include <span>

#include <fanin/cuda/cuda.hpp>
#include <fanin/exact_sum.hpp>
#include <fanin/parallel_reduce.hpp>
#include <fanin/range.hpp>
#include <fanin/reduce.hpp>
#include <fanin/reducers.hpp>

#include "span_reduction.cuh"

/// The calls whose walks scripts/walk.sh counts, as users write them. Not linked, and never run.
struct square {
  FANIN_FUNCTION double operator()(std::int64_t i) const { return static_cast<double>(i) * static_cast<double>(i); }
};

double walk_of_double(const fanin::cuda& gpu, std::span<const double> xs) {
  return fanin::reduce(gpu, xs, fanin::sum<double>{});
}
double walk_of_functor(const fanin::cuda& gpu, std::int64_t n) {
  return fanin::parallel_reduce(fanin::range(gpu, n), square{}, fanin::sum<double>{});
}
double walk_of_exact_sum(const fanin::cuda& gpu, std::span<const double> xs) {
  return fanin::reduce(gpu, xs, fanin::exact_sum<double>{});
}

namespace fanin::detail {
template struct cuda_span_reduction<sum<double>>;  // which stands in the library
}  // namespace fanin::detail
