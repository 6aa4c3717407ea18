// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "spaces.hpp"
#include "support/data.hpp"

namespace {

namespace detail = fanin::detail;
using fanin_test::mix;

template <class Space>
class kokkos_runs : public kokkos_case<Space> {};
TYPED_TEST_SUITE(kokkos_runs, host_spaces);

/// Keys of runs of drawn lengths, and what plain loops make of them: sums, and where each begins.
struct drawn_runs {
  std::vector<int> keys;
  std::vector<std::int64_t> xs;
  std::vector<std::int64_t> begins;
  std::vector<std::int64_t> sums;

  explicit drawn_runs(std::uint64_t seed) {
    const std::size_t n = seed < 6 ? seed : mix(seed) % 90'000;
    const std::uint64_t most = std::uint64_t{1} << mix(seed + 1) % 12;
    while (keys.size() < n) {
      const std::uint64_t draw = mix(seed * 100'000 + begins.size());
      const std::uint64_t length = 1 + (draw % 90 == 0 ? draw / 128 % 70'000 : draw / 128 % most);
      begins.push_back(std::ssize(keys));
      sums.push_back(0);
      for (std::uint64_t k = 0; k < length && keys.size() < n; ++k) {
        keys.push_back(static_cast<int>(begins.size() % 3));
        xs.push_back(static_cast<std::int64_t>(mix(keys.size()) % 100));
        sums.back() += xs.back();
      }
    }
  }
};

TYPED_TEST(kokkos_runs, drawn_ones) {
  const fanin::kokkos<TypeParam> exec;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const drawn_runs of(seed);
    const std::size_t count = of.begins.size();
    std::vector<int> keys(count + 1, -1);
    std::vector<std::int64_t> sums(count + 1, -1);
    const auto some = static_cast<std::size_t>(seed % 3 == 0 ? mix(seed) % (count + 1) : count);
    std::int64_t told = -1;
    fanin::reduce_into(fanin::runs_to(std::span(keys).first(some), sums.data(), &told), exec,
                       fanin::runs(of.xs, of.keys), fanin::sum<std::int64_t>{});
    ASSERT_EQ(told, static_cast<std::int64_t>(count)) << seed;
    for (std::size_t r = 0; r <= count; ++r) {
      ASSERT_EQ(sums[r], r < some ? of.sums[r] : -1) << seed << ", run " << r;
      ASSERT_EQ(keys[r], r < some ? of.keys[static_cast<std::size_t>(of.begins[r])] : -1) << seed << ", run " << r;
    }
  }
}

/// What devices do, on a host: also with less workspace than before, and with more.
TYPED_TEST(kokkos_runs, as_on_a_device) {
  using put_type = detail::results_in_line<std::int64_t>;
  using values = detail::strided_element<std::int64_t>;
  const auto all = detail::make_axes_composite<detail::axes_of<2, 1>>(detail::md_shape<1, fanin::iterate::right>{},
                                                                      fanin::sum<std::int64_t>{});
  const fanin::kokkos<TypeParam> exec;
  const TypeParam& space = exec.space();
  const auto state = std::make_shared<detail::kokkos_state<TypeParam>>(space);
  const detail::kokkos_label label("runs", detail::kokkos_call::parallel_reduce);
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const drawn_runs of(seed);
    const std::size_t count = of.begins.size();
    std::vector<int> keys(count + 1, -1);
    std::vector<std::int64_t> sums(count + 1, -1);
    const auto some = static_cast<std::size_t>(seed % 3 == 0 ? mix(seed) % (count + 1) : count);
    std::int64_t told = -1;
    const detail::runs_put<detail::results_in_order<int>, put_type> put{
        {keys.data()}, {sums.data(), 1}, static_cast<std::int64_t>(some)};
    const detail::runs_functor<values, int> runs{{of.keys.data(), std::ssize(of.keys)}, {of.xs.data(), 1}};
    const std::int64_t* const at =
        detail::kokkos_reduce_runs_on_device(*state, space, label, seed % 2 == 0 ? &told : nullptr, put, runs, all);
    space.fence();
    ASSERT_EQ(*at, static_cast<std::int64_t>(count)) << seed;
    if (seed % 2 == 0) {
      ASSERT_EQ(at, &told);
    }
    for (std::size_t r = 0; r <= count; ++r) {
      ASSERT_EQ(sums[r], r < some ? of.sums[r] : -1) << seed << ", run " << r;
      ASSERT_EQ(keys[r], r < some ? of.keys[static_cast<std::size_t>(of.begins[r])] : -1) << seed << ", run " << r;
    }
  }
}

/// Right ones among them, on each other or not, have their own elements, each once.
TYPED_TEST(kokkos_runs, segments_of_offsets_that_fall) {
  const fanin::kokkos<TypeParam> exec;
  const std::vector<double> ones(400'000, 1);
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    std::vector<std::int64_t> offsets;
    std::vector<double> expected;
    for (std::uint64_t k = 0; k < 2 + seed; ++k) {
      const std::uint64_t draw = mix(seed * 1'000 + k);
      const bool goes_on = k > 0 && draw % 4 != 0;
      offsets.push_back(
          goes_on ? std::min(offsets.back() + static_cast<std::int64_t>(draw / 8 % 90'000), std::int64_t{400'000})
                  : static_cast<std::int64_t>(draw / 8 % 400'000));
      if (k > 0) expected.push_back(static_cast<double>(std::max(offsets[k] - offsets[k - 1], std::int64_t{0})));
    }
    std::vector<double> sums(expected.size(), -1);
    fanin::reduce_into(sums, exec, fanin::segments(ones, offsets), fanin::sum<double>{});
    ASSERT_EQ(sums, expected) << seed;
  }
}

/// One element is too much.
struct needs_too_much {
  std::int64_t of_row;
  double operator()(std::int64_t i, std::int64_t k) const {
    if (i == of_row && k % 50 == 49) throw std::bad_alloc();
    return 1;
  }
};

template <class Space>
using kokkos_many = kokkos_runs<Space>;
TYPED_TEST_SUITE(kokkos_many, host_spaces);

TYPED_TEST(kokkos_many, work_items_without_memory) {
  const fanin::kokkos<TypeParam> exec;
  const std::vector<std::int64_t> offsets{0, 60, 70'100, 70'200, 70'300};
  std::vector<double> out(300);
  const auto over_all = [&](const needs_too_much& f) {
    const fanin::sum<double> sum;
    EXPECT_THROW(fanin::parallel_reduce_into(out.data(), fanin::rows(exec, 300, 100), f, sum), std::bad_alloc);
    EXPECT_THROW(fanin::parallel_reduce_into(out.data(), fanin::columns(exec, 5'000, 300), f, sum), std::bad_alloc);
    EXPECT_THROW(fanin::parallel_reduce_into(out.data(), fanin::columns(exec, 100, 300), f, sum), std::bad_alloc);
    EXPECT_THROW(fanin::parallel_reduce_into(out.data(), fanin::segments(exec, offsets), f, sum), std::bad_alloc);
  };
  for (const std::int64_t row : {0, 1, 2, 3}) over_all({row});

  fanin::parallel_reduce_into(out.data(), fanin::segments(exec, offsets), needs_too_much{-1}, fanin::sum<double>{});
  EXPECT_EQ((std::vector<double>(out.begin(), out.begin() + 4)), (std::vector<double>{60, 70'040, 100, 100}));
}

}  // namespace
