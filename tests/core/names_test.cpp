// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <ranges>
#include <span>
#include <vector>

#include <gtest/gtest.h>

// An application's own names: types and namespaces called like Fanin's, and macros.
struct sum {};
struct cuda {};
struct serial {};
namespace range {}
namespace detail {}
namespace host {}
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define I 1

#include <fanin/fanin.hpp>

#include "support/their_names.hpp"

static_assert(min(3, 2) + max(3, 2) == 5 + 0 * I);
#undef I
#undef max
#undef min

/// A library with a value of its own, and functions of Fanin's names that take anything.
namespace theirs {

FANIN_TEST_THEIRS(parallel_reduce)
FANIN_TEST_THEIRS(parallel_reduce_into)
FANIN_TEST_THEIRS(parallel_reduce_async)
FANIN_TEST_THEIRS(parallel_for)
FANIN_TEST_THEIRS(reduce)
FANIN_TEST_THEIRS(reduce_into)
FANIN_TEST_THEIRS(reduce_async)
FANIN_TEST_THEIRS(transform_reduce)
FANIN_TEST_THEIRS(transform_reduce_into)
FANIN_TEST_THEIRS(transform_reduce_async)
FANIN_TEST_THEIRS(merge)
FANIN_TEST_THEIRS(range)
FANIN_TEST_THEIRS(add)
FANIN_TEST_THEIRS(multiply)
FANIN_TEST_THEIRS(minimum)
FANIN_TEST_THEIRS(maximum)
FANIN_TEST_THEIRS(is_nan)
FANIN_TEST_THEIRS(is_negative)
FANIN_TEST_THEIRS(is_lower)
FANIN_TEST_THEIRS(is_higher)
FANIN_TEST_THEIRS(fold_by)
FANIN_TEST_THEIRS(data_of)
FANIN_TEST_THEIRS(size_of)
FANIN_TEST_THEIRS(dimensions_of)
FANIN_TEST_THEIRS(make_composite)
FANIN_TEST_THEIRS(result_value)
FANIN_TEST_THEIRS(fold_value)
FANIN_TEST_THEIRS(gather_indices)
FANIN_TEST_THEIRS(md_range)
FANIN_TEST_THEIRS(make_md_composite)
FANIN_TEST_THEIRS(for_stretches)
FANIN_TEST_THEIRS(use_apart)

struct value {
  double x = 0;
  void operator&() const = delete;
  template <class T>
  void operator,(T&&) const = delete;
  friend value operator+(const value& a, const value& b) { return {a.x + b.x}; }
  friend bool operator<(const value& a, const value& b) { return a.x < b.x; }
  friend bool operator==(const value& a, const value& b) = default;
};
struct numbered {
  value operator()(std::int64_t i) const { return {static_cast<double>(i)}; }
};
struct planar {
  value operator()(std::int64_t i, std::int64_t j) const { return {static_cast<double>(10 * i + j)}; }
};
struct itself {
  value operator()(const value& x) const { return x; }
};
struct total {
  using value_type = value;
  value identity() const { return {}; }
  void join(value& into, const value& from) const { into.x += from.x; }
};

}  // namespace theirs

/// Functions of Fanin's names that are called without a namespace, for a type of which Fanin is an associated one.
namespace matrices {

template <class T>
struct matrix {};
const matrix<fanin::value_index<double>> some;

#define FANIN_TEST_OWN(name)                   \
  template <class M>                           \
  constexpr int name(const M&) {               \
    return 1;                                  \
  }                                            \
  template <class M, class Other>              \
  constexpr int name(const M&, const Other&) { \
    return 2;                                  \
  }                                            \
  static_assert(name(some) == 1 && name(some, some) == 2);
FANIN_TEST_OWN(rows)
FANIN_TEST_OWN(columns)
FANIN_TEST_OWN(segments)
FANIN_TEST_OWN(runs)
FANIN_TEST_OWN(runs_to)
FANIN_TEST_OWN(range)
FANIN_TEST_OWN(md_range)
FANIN_TEST_OWN(reduce)
FANIN_TEST_OWN(transform_reduce)
FANIN_TEST_OWN(parallel_reduce)
FANIN_TEST_OWN(parallel_for)
FANIN_TEST_OWN(finished)
FANIN_TEST_OWN(exact_dot)
FANIN_TEST_OWN(merge)
template <int Axis, class M>
constexpr int axes(const M&) {
  return Axis;
}
static_assert(axes<3>(some) == 3);

}  // namespace matrices

template <>
struct fanin::ordering<theirs::value> {
  static constexpr theirs::value lowest() { return {-1e300}; }
  static constexpr theirs::value highest() { return {1e300}; }
};

namespace {

TEST(names, of_an_application_do_not_stand_for_fanins) {
  using theirs::value;
  const fanin::serial exec;
  std::vector<value> xs(100);
  for (std::size_t i = 0; i < xs.size(); ++i) xs[i].x = static_cast<double>(i);
  const fanin::sum<value> sum;
  const theirs::total total;
  const theirs::numbered f;
  value out;

  EXPECT_EQ(fanin::reduce(xs, sum).x, 4950);
  EXPECT_EQ(fanin::reduce_async(xs, total).get().x, 4950);
  fanin::reduce_into(std::addressof(out), xs, sum);
  EXPECT_EQ(out.x, 4950);
  EXPECT_EQ(fanin::parallel_reduce(fanin::range(exec, 10), f, total).x, 45);
  const auto [sum_of_places, least_place] =
      fanin::parallel_reduce(fanin::md_range({3, 10}), theirs::planar{}, total, fanin::min_loc<value>{});
  EXPECT_EQ(sum_of_places.x, 435);
  EXPECT_EQ(least_place.index, (fanin::md_index<2>{{0, 0}}));
  EXPECT_EQ(fanin::parallel_reduce_async(fanin::range(10), f, sum).get().x, 45);
  fanin::parallel_reduce_into(std::addressof(out), fanin::range(11), f, sum);
  EXPECT_EQ(out.x, 55);
  EXPECT_EQ(fanin::transform_reduce(xs, theirs::itself{}, total).x, 4950);
  EXPECT_EQ(fanin::transform_reduce_async(xs, theirs::itself{}, sum).get().x, 4950);
  fanin::transform_reduce_into(std::addressof(out), xs, theirs::itself{}, sum);
  EXPECT_EQ(out.x, 4950);

  const auto [least, most, place] =
      fanin::reduce(xs, fanin::min<value>{}, fanin::max<value>{}, fanin::max_loc<value>{});
  EXPECT_EQ(least.x, 0);
  EXPECT_EQ(most.x, 99);
  EXPECT_EQ(place.index, 99);
  fanin::merge(out, most, sum);
  EXPECT_EQ(out.x, 5049);
  const fanin::buffer<value> copy(xs);
  EXPECT_EQ(fanin::reduce(copy, fanin::finished(theirs::itself{}, total)).x, 4950);
}

}  // namespace
