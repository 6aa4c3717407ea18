// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include <fanin/md_range.hpp>
#include <fanin/parallel_reduce.hpp>
#include <fanin/reducers.hpp>
#include <fanin/serial/serial.hpp>

// One functor over two dimensions that must be refused for each macro, and the nearest one that must not be.

struct candidate {
#if defined(ACCUMULATOR_BY_VALUE)
  void operator()(std::int64_t i, std::int64_t j, double acc) const { acc += static_cast<double>(i * j); }
#elif defined(ACCUMULATOR_BY_REFERENCE)
  void operator()(std::int64_t i, std::int64_t j, double& acc) const { acc += static_cast<double>(i * j); }
#elif defined(ONE_OF_TWO_ACCUMULATORS_BY_VALUE)
  void operator()(std::int64_t, std::int64_t, double& a, double b) const { a += b; }
#elif defined(PLACE_WITH_ACCUMULATOR)
  void operator()(std::int64_t i, std::int64_t, fanin::value_index<double>& acc) const { acc.index = i; }
#elif defined(NARROW_INDEX)
  double operator()(std::int64_t i, int j) const { return static_cast<double>(i * j); }
#elif defined(TOO_FEW_INDICES)
  double operator()(std::int64_t i) const { return static_cast<double>(i); }
#elif defined(NO_VALUE)
  void operator()(std::int64_t, std::int64_t) const {}
#elif defined(LOOP_OF_TOO_MANY_INDICES)
  double operator()(std::int64_t, std::int64_t, std::int64_t) const { return 0; }
#else
  double operator()(std::int64_t i, std::int64_t j) const { return static_cast<double>(i * j); }
#endif
};

void use() {
#if defined(BOUNDS_OF_TWO_RANKS)
  const auto range = fanin::md_range(fanin::serial{}, {1, 1}, fanin::md_index<3>{{5, 5, 5}});
#elif defined(ONE_DIMENSION)
  const auto range = fanin::md_range(fanin::serial{}, {10});
#else
  const auto range = fanin::md_range(fanin::serial{}, {10, 20});
#endif
#if defined(LOOP_OF_TOO_MANY_INDICES)
  fanin::parallel_for(range, candidate{});
#elif defined(ONE_OF_TWO_ACCUMULATORS_BY_VALUE)
  (void)fanin::parallel_reduce(range, candidate{}, fanin::sum<double>{}, fanin::sum<double>{});
#elif defined(PLACE_WITH_ACCUMULATOR)
  (void)fanin::parallel_reduce(range, candidate{}, fanin::min_loc<double>{});
#else
  (void)fanin::parallel_reduce(range, candidate{}, fanin::sum<double>{});
#endif
}
