// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include <fanin/fanin.hpp>

// What a CUDA compiler must refuse of functors and reducers: as a mere warning a host-only one yields an empty kernel.

#if defined(HOST_ONLY_REDUCER)
#define REDUCER_FUNCTION
#define ELEMENT_FUNCTION FANIN_FUNCTION
#elif defined(HOST_ONLY_FUNCTOR)
#define REDUCER_FUNCTION FANIN_FUNCTION
#define ELEMENT_FUNCTION
#else
#define REDUCER_FUNCTION FANIN_FUNCTION
#define ELEMENT_FUNCTION FANIN_FUNCTION
#endif

void somewhere_on_the_host(double x);

struct candidate {
  using value_type = double;
  REDUCER_FUNCTION double identity() const { return 0; }
  REDUCER_FUNCTION void join(double& into, const double& from) const {
#if defined(HOST_ONLY_REDUCER)
    somewhere_on_the_host(from);
#endif
    into += from;
  }
};

struct element {
  ELEMENT_FUNCTION double operator()(std::int64_t i) const {
#if defined(HOST_ONLY_FUNCTOR)
    somewhere_on_the_host(1.0);
#endif
    return static_cast<double>(i);
  }
};

#if defined(INTO_OF_A_STRATEGY_THAT_FINISHES_ON_THE_HOST)
void use(fanin::cuda& gpu, double* out) {
  const auto view = gpu.with<fanin::cuda_strategy::shuffle>();
  fanin::parallel_reduce_into(out, fanin::range(view, 10), element{}, candidate{});
}
#else
double use(fanin::cuda& gpu) { return fanin::parallel_reduce(fanin::range(gpu, 10), element{}, candidate{}); }
#endif
