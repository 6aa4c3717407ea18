// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <span>

#include <fanin/fanin.hpp>

// In a unit of a C++ compiler the CUDA backend has precompiled reductions of spans, and no kernels for functors.

struct element {
  FANIN_FUNCTION double operator()(std::int64_t i) const { return static_cast<double>(i); }
};

struct negate {
  FANIN_FUNCTION double operator()(double x) const { return -x; }
};

#if defined(FUNCTOR)
double use(fanin::cuda& gpu) { return fanin::parallel_reduce(fanin::range(gpu, 10), element{}, fanin::sum<double>{}); }
#elif defined(FUNCTOR_INTO)
void use(fanin::cuda& gpu, double* out) {
  fanin::parallel_reduce_into(out, fanin::range(gpu, 10), element{}, fanin::sum<double>{});
}
#elif defined(FUNCTOR_ASYNC)
double use(fanin::cuda& gpu) {
  return fanin::parallel_reduce_async(fanin::range(gpu, 10), element{}, fanin::sum<double>{}).get();
}
#elif defined(PARALLEL_FOR)
void use(fanin::cuda& gpu) { fanin::parallel_for(fanin::range(gpu, 10), element{}); }
#elif defined(TRANSFORM)
double use(fanin::cuda& gpu, std::span<const double> x) {
  return fanin::transform_reduce(gpu, x, negate{}, fanin::sum<double>{});
}
#elif defined(OTHER_STRATEGY)
double use(fanin::cuda& gpu, std::span<const double> x) {
  const auto view = gpu.with<fanin::cuda_strategy::shuffle>();
  return fanin::reduce(view, x, fanin::sum<double>{});
}
#elif defined(RESOURCE)
fanin::cuda use(cudaStream_t stream, std::span<double> resource) { return fanin::cuda(stream, resource); }
#else
double use(fanin::cuda& gpu, std::span<const double> x, double* out) {
  fanin::reduce_into(out, gpu, x, fanin::sum<double>{});
  return fanin::reduce(gpu, x, fanin::sum<double>{}) + fanin::reduce_async(gpu, x, fanin::sum<double>{}).get();
}
#endif
