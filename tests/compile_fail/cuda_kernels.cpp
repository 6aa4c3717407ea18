// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <span>

#include <fanin/fanin.hpp>

// What a CUDA compiler must refuse of functors and reducers: as a mere warning a host-only one yields an empty kernel.
// Function pointers it would take, and plain lambdas refuse in words about a file of its own.

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
#elif defined(FINISHED_BY_A_STRATEGY_THAT_FINISHES_ON_THE_HOST)
double use(fanin::cuda& gpu) {
  const auto view = gpu.with<fanin::cuda_strategy::shuffle>();
  return fanin::parallel_reduce(fanin::range(view, 10), element{},
                                fanin::finished([] FANIN_FUNCTION(double sum) { return sum / 10; }, candidate{}));
}
#elif defined(FINISHED_BY_A_PLAIN_LAMBDA)
double use(fanin::cuda& gpu) {
  return fanin::parallel_reduce(fanin::range(gpu, 10), element{},
                                fanin::finished([](double sum) { return sum / 10; }, candidate{}));
}
#elif defined(ASYNC_OF_A_STRATEGY_THAT_FINISHES_ON_THE_HOST)
double use(fanin::cuda& gpu) {
  const auto view = gpu.with<fanin::cuda_strategy::shuffle>();
  return fanin::parallel_reduce_async(fanin::range(view, 10), element{}, candidate{}).get();
}
#elif defined(LARGE_ACCUMULATOR)
struct counters {
  int count[10'241];
};
struct counts {
  using value_type = unsigned;
  using accumulator_type = counters;
  using result_type = int;
  FANIN_FUNCTION counters identity() const { return counters{}; }
  FANIN_FUNCTION void fold(counters& acc, unsigned value, std::int64_t) const { ++acc.count[value % 10'241]; }
  FANIN_FUNCTION void join(counters& into, const counters& from) const {
    for (int i = 0; i < 10'241; ++i) into.count[i] += from.count[i];
  }
  FANIN_FUNCTION int result(const counters& acc) const { return acc.count[0]; }
};
int use(fanin::cuda& gpu, std::span<const unsigned> x) { return fanin::reduce(gpu, x, counts{}); }
#elif defined(LONG_DOUBLE)
long double use(fanin::cuda& gpu, std::span<const long double> x) {
  return fanin::reduce(gpu, x, fanin::sum<long double>{});
}
#elif defined(POINTER_INTO)
FANIN_FUNCTION double of_index(std::int64_t i) { return static_cast<double>(i); }
void use(fanin::cuda& gpu, double* out) {
  fanin::parallel_reduce_into(out, fanin::range(gpu, 10), &of_index, candidate{});
}
#elif defined(POINTER_FOR)
FANIN_FUNCTION void at_index(std::int64_t) {}
void use(fanin::cuda& gpu) { fanin::parallel_for(fanin::range(gpu, 10), &at_index); }
#elif defined(POINTER_TRANSFORM)
FANIN_FUNCTION double of_element(double x) { return -x; }
double use(fanin::cuda& gpu, std::span<const double> x) {
  return fanin::transform_reduce(gpu, x, &of_element, candidate{});
}
#elif defined(POINTER_SEGMENTS)
FANIN_FUNCTION double of_place(std::int64_t, std::int64_t k) { return static_cast<double>(k); }
void use(fanin::cuda& gpu, std::span<const int> offsets, double* out) {
  fanin::parallel_reduce_into(out, fanin::segments(gpu, offsets).prepared(), &of_place, candidate{});
}
#elif defined(PLAIN_LAMBDA)
double use(fanin::cuda& gpu, double scale) {
  const auto f = [=](std::int64_t i) { return scale * static_cast<double>(i); };
  return fanin::parallel_reduce(fanin::range(gpu, 10), f, candidate{});
}
#else
// Of a name that speaks of lambdas, with a call operator for any index; and an extended lambda.
template <class T>
struct lambda_of {
  template <class Index>
  FANIN_FUNCTION T operator()(Index i) const {
    return static_cast<T>(i);
  }
};
double use(fanin::cuda& gpu, double scale) {
  const auto range = fanin::range(gpu, 10);
  const auto f = FANIN_LAMBDA(std::int64_t i) { return scale * static_cast<double>(i); };
  return fanin::parallel_reduce(range, element{}, candidate{}) +
         fanin::parallel_reduce(range, lambda_of<double>{}, candidate{}) +
         fanin::parallel_reduce(range, f, candidate{});
}
#endif
