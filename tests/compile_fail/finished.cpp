// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>

#include <fanin/finished.hpp>
#include <fanin/merge.hpp>
#include <fanin/parallel_reduce.hpp>
#include <fanin/reduce.hpp>
#include <fanin/reducers.hpp>
#include <fanin/serial/serial.hpp>

// What finished(g, reducers...) takes, and what it refuses in words, one thing for each macro.

struct mean {
  double n;
  double operator()(double sum) const { return sum / n; }
};

void use(const double* x, double* out) {
  const fanin::serial exec;
  const auto f = [x](std::int64_t i) { return x[i]; };
  const auto all = fanin::range(exec, 10);
#if defined(BESIDE_ANOTHER)
  fanin::parallel_reduce(all, f, fanin::finished(mean{10}, fanin::sum<double>{}), fanin::max<double>{});
#elif defined(WITHOUT_REDUCER)
  fanin::parallel_reduce(all, f, fanin::finished(mean{10}));
#elif defined(OTHER_ARGUMENTS)
  fanin::parallel_reduce(all, f, fanin::finished(mean{10}, fanin::sum<double>{}, fanin::max<double>{}));
#elif defined(NOT_CONST)
  fanin::parallel_reduce(all, f,
                         fanin::finished([n = 10](double sum) mutable { return sum / ++n; }, fanin::sum<double>{}));
#elif defined(GIVES_NOTHING)
  fanin::parallel_reduce(all, f, fanin::finished([out](double sum) { *out = sum; }, fanin::sum<double>{}));
#elif defined(GIVES_A_STRING)
  fanin::parallel_reduce(all, f, fanin::finished([](double sum) { return std::to_string(sum); }, fanin::sum<double>{}));
#elif defined(GIVES_WHAT_CANNOT_BE_ASSIGNED)
  struct fixed {
    const double value = 0;
  };
  fanin::parallel_reduce(all, f, fanin::finished([](double) { return fixed{}; }, fanin::sum<double>{}));
#elif defined(POINTER_TO_MEMBER)
  fanin::parallel_reduce(all, f, fanin::finished(&fanin::value_index<double>::index, fanin::max_loc<double>{}));
#elif defined(ASYNC_WITH_OTHER_ARGUMENTS)
  fanin::parallel_reduce_async(all, f, fanin::finished(mean{10}, fanin::sum<double>{}, fanin::max<double>{}));
#elif defined(MERGED)
  double into = 1;
  fanin::merge(into, 2.0, fanin::finished(mean{10}, fanin::sum<double>{}));
#elif defined(WITH_32_BIT_INDEX)
  fanin::parallel_reduce(all, [x](int i) { return x[i]; }, fanin::finished(mean{10}, fanin::sum<double>{}));
#else
  fanin::parallel_reduce_into(out, all, f, fanin::finished(mean{10}, fanin::sum<double>{}));
  const double xs[] = {1, 2};
  const auto both = fanin::finished([](double sum, double most) { return fanin::tuple{sum / most, most > 0}; },
                                    fanin::sum<double>{}, fanin::max<double>{});
  const auto [ratio, is_positive] = fanin::reduce("label", exec, xs, both);
  const auto again = fanin::transform_reduce(exec, xs, [](double v) { return v; }, both);
  *out = is_positive ? ratio : get<0>(again);
#endif
}
