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
#elif defined(ROWS_OF_FUNCTOR)
struct at {
  FANIN_FUNCTION double operator()(std::int64_t, std::int64_t j) const { return static_cast<double>(j); }
};
void use(fanin::cuda& gpu, double* out) {
  fanin::parallel_reduce_into(out, fanin::rows(gpu, 3, 4), at{}, fanin::sum<double>{});
}
#elif defined(ROWS_OF_TWO)
void use(fanin::cuda& gpu, fanin::view<const double, 2> x, fanin::tuple<double, double>* out) {
  fanin::reduce_into(out, gpu, fanin::rows(x), fanin::sum<double>{}, fanin::min<double>{});
}
#elif defined(ROWS_OF_INTEGERS)
fanin::pending<void> use(fanin::cuda& gpu, fanin::view<const int, 2> x, int* out) {
  return fanin::reduce_async(out, gpu, fanin::rows(x), fanin::sum<int>{});
}
#elif defined(LONG_OFFSETS)
void use(fanin::cuda& gpu, std::span<const double> x, std::span<const std::int64_t> offsets, double* out) {
  fanin::reduce_into(out, gpu, fanin::segments(x, offsets), fanin::sum<double>{});
}
#elif defined(RESOURCE)
fanin::cuda use(cudaStream_t stream, std::span<double> resource) { return fanin::cuda(stream, resource); }
#else
double use(fanin::cuda& gpu, std::span<const double> x, double* out) {
  fanin::reduce_into(out, gpu, x, fanin::sum<double>{});
  return fanin::reduce(gpu, x, fanin::sum<double>{}) + fanin::reduce_async(gpu, x, fanin::sum<double>{}).get() +
         fanin::reduce(gpu, x, fanin::exact_sum<double>{});
}
void use(fanin::cuda& gpu, fanin::view<const float, 2> x, std::span<const std::int32_t> offsets, float* out) {
  fanin::reduce_into(out, gpu, fanin::rows(x), fanin::sum<float>{});
  fanin::reduce_async(fanin::view<float, 1>(out, {x.extent(1)}, {2}), gpu, fanin::columns(x), fanin::exact_sum<float>{})
      .get();
  fanin::reduce_into(out, gpu, fanin::segments(std::span(x.data(), x.size()), offsets), fanin::max<float>{});
}
#endif
