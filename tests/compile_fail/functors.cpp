// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include <fanin/parallel_reduce.hpp>
#include <fanin/reducers.hpp>
#include <fanin/serial/serial.hpp>

// One functor that must be refused for each macro, and the nearest one that must not be.

struct tag {};
struct other_tag {};

struct candidate {
#if defined(BYTE_INDEX_OF_INTS)
  double operator()(std::uint8_t i) const { return i; }
#elif defined(INDEX_OF_INTS)
  double operator()(unsigned i) const { return i; }
#elif defined(TAGGED)
  double operator()(tag, std::int64_t i) const { return static_cast<double>(i); }
#elif defined(NARROW_INDEX_OF_ONE_TAG)
  double operator()(tag, int i) const { return i; }
  double operator()(other_tag, std::int64_t i) const { return static_cast<double>(i); }
#elif defined(WIDE_INDEX_OF_ONE_TAG)
  double operator()(tag, std::uint64_t i) const { return static_cast<double>(i); }
  double operator()(other_tag, int i) const { return i; }
#elif defined(GENERIC_INDEX_OF_ONE_TAG)
  template <class Index>
  auto operator()(tag, Index i) const {
    return static_cast<double>(i << 1);
  }
  double operator()(other_tag, int i) const { return i; }
#elif defined(ACCUMULATOR_BY_VALUE)
  void operator()(std::int64_t i, double acc) const { acc += static_cast<double>(i); }
#elif defined(ACCUMULATOR_BY_REFERENCE)
  void operator()(std::int64_t i, double& acc) const { acc += static_cast<double>(i); }
#elif defined(NARROW_INDEX)
  double operator()(int i) const { return i; }
#elif defined(NARROW_INDEX_WITH_ACCUMULATOR)
  void operator()(unsigned i, double& acc) const { acc += i; }
#elif defined(WIDE_INDEX)
  double operator()(std::uint64_t i) const { return static_cast<double>(i); }
#elif defined(BOTH_FORMS)
  double operator()(std::int64_t i) const { return static_cast<double>(i); }
  void operator()(std::int64_t i, double& acc) const { acc += static_cast<double>(i); }
#elif defined(NO_VALUE)
  void operator()(std::int64_t) const {}
#elif defined(WRONG_VALUE)
  const char* operator()(std::int64_t) const { return "no number"; }
#elif defined(CONVERTIBLE_VALUE)
  float operator()(std::int64_t) const { return 1.0F; }
#elif defined(NOT_CALLABLE)
  double operator()(std::int64_t, std::int64_t, std::int64_t) const { return 0; }
#elif defined(NOT_CONST)
  double operator()(std::int64_t i) { return static_cast<double>(i); }
#elif defined(ONE_OF_TWO_ACCUMULATORS_BY_VALUE)
  void operator()(std::int64_t, double& a, double b) const { a += b; }
#else
  double operator()(std::int64_t i) const { return static_cast<double>(i); }
#endif
};

#if defined(ONE_OF_TWO_ACCUMULATORS_BY_VALUE)
fanin::tuple<double, double> use() {
  return fanin::parallel_reduce(fanin::range(fanin::serial{}, 10), candidate{}, fanin::sum<double>{},
                                fanin::sum<double>{});
}
#elif defined(INDEX_OF_INTS) || defined(BYTE_INDEX_OF_INTS)
double use() {
  return fanin::parallel_reduce(fanin::range<std::int32_t>(fanin::serial{}, 10), candidate{}, fanin::sum<double>{});
}
#elif defined(TAGGED) || defined(WITHOUT_THE_TAG) || defined(NARROW_INDEX_OF_ONE_TAG) || \
    defined(WIDE_INDEX_OF_ONE_TAG) || defined(GENERIC_INDEX_OF_ONE_TAG)
double use() {
  return fanin::parallel_reduce(fanin::range<tag>(fanin::serial{}, 10), candidate{}, fanin::sum<double>{});
}
#elif defined(LOOP_WITHOUT_THE_TAG)
void use() { fanin::parallel_for(fanin::range<tag>(fanin::serial{}, 10), candidate{}); }
#elif defined(INDEX_OF_16_BITS)
auto use() { return fanin::range<std::int16_t>(fanin::serial{}, 10); }
#elif defined(TWO_TAGS)
auto use() { return fanin::range<tag, candidate>(fanin::serial{}, 10); }
#else
double use() { return fanin::parallel_reduce(fanin::range(fanin::serial{}, 10), candidate{}, fanin::sum<double>{}); }
#endif
