// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include <fanin/finished.hpp>
#include <fanin/reduce.hpp>
#include <fanin/view.hpp>

#include "contract/contract.hpp"
#include "support/expect_invalid.hpp"

/// Views of several dimensions, whatever their strides: each index once, places in the view's own order, all forms.
namespace fanin_test {

using place_in_plane = fanin::md_index<2>;

struct layout {
  const char* name;
  std::int64_t offset;
  std::array<std::int64_t, 2> extents;
  std::array<std::int64_t, 2> strides;
};

/// Of an array of 100000 elements.
inline const std::vector<layout>& layouts() {
  static const std::vector<layout> all{
      {"rows", 0, {37, 101}, {101, 1}},
      {"columns", 0, {37, 101}, {1, 37}},
      {"padded rows", 5, {37, 101}, {128, 1}},
      {"padded columns", 5, {37, 101}, {1, 64}},
      {"every third", 1, {37, 101}, {303, 3}},
      {"backwards", 3'736, {37, 101}, {-101, -1}},
      {"rows backwards", 99'000, {500, 3}, {-7, 2}},
      {"one row for all", 4, {300, 25}, {0, 1}},
      {"one element", 9, {40, 30}, {0, 0}},
      {"one column", 2, {2'049, 1}, {40, 1}},
      {"one row", 2, {1, 2'049}, {1, 40}},
      {"overlapping", 0, {60, 70}, {1, 1}},
      {"many columns on each other", 0, {900, 1'001}, {1, 99}},
      {"nothing", 0, {0, 7}, {7, 1}},
      {"nothing at all", 0, {7, 0}, {1, 7}},
  };
  return all;
}

template <class From, class To>
constexpr bool is_view_of = std::is_convertible_v<fanin::view<From, 2>, fanin::view<To, 2>>;
static_assert(is_view_of<int, const int> && !is_view_of<const int, int> && !is_view_of<int, const long>);
static_assert(std::is_trivially_copyable_v<fanin::view<const int, 2>>);

/// Small numbers with many equals.
inline std::vector<std::int32_t> view_elements() {
  std::vector<std::int32_t> elements(100'000);
  for (std::size_t at = 0; at < elements.size(); ++at) {
    elements[at] = static_cast<std::int32_t>(mix(at) % 50);
  }
  return elements;
}

struct view_facts {
  std::int64_t sum = 0;
  fanin::value_index<std::int32_t, place_in_plane> least{std::numeric_limits<std::int32_t>::max(), {{-1, -1}}};
  fanin::value_index<std::int32_t, place_in_plane> most{std::numeric_limits<std::int32_t>::lowest(), {{-1, -1}}};
  friend bool operator==(const view_facts&, const view_facts&) = default;
};

/// By plain loops, of value(i, j).
template <class Value>
view_facts facts_of(const std::array<std::int64_t, 2>& extents, const Value& value) {
  view_facts facts;
  for (std::int64_t i = 0; i < extents[0]; ++i) {
    for (std::int64_t j = 0; j < extents[1]; ++j) {
      const std::int32_t x = value(i, j);
      facts.sum += x;
      if (x < facts.least.value) facts.least = {x, {{i, j}}};
      if (x > facts.most.value) facts.most = {x, {{i, j}}};
    }
  }
  return facts;
}

/// 100 x + y tells the elements of a pair apart.
struct hundreds {
  FANIN_FUNCTION std::int32_t operator()(std::int32_t x, std::int32_t y) const { return 100 * x + y; }
};
struct facts_of_results {
  FANIN_FUNCTION view_facts operator()(std::int64_t sum, const fanin::value_index<std::int32_t, place_in_plane>& least,
                                       const fanin::value_index<std::int32_t, place_in_plane>& most) const {
    return {sum, least, most};
  }
};

template <class Fixture>
class views : public contract<Fixture> {};
TYPED_TEST_SUITE(views, fixtures, fixture_names);

TYPED_TEST(views, of_any_strides_in_every_form) {
  using exec_type = typename TypeParam::exec_type;
  const std::vector<std::int32_t> host = view_elements();
  placed<std::int32_t, exec_type> x(this->exec(), host);
  const fanin::sum<std::int32_t, std::int64_t> sum;
  const fanin::min_loc<std::int32_t> least;
  const fanin::max_loc<std::int32_t> most;
  for (const layout& one : layouts()) {
    const fanin::view<const std::int32_t, 2> view(x.data() + one.offset, one.extents, one.strides);
    const auto element = [&](std::int64_t i, std::int64_t j) {
      return host[static_cast<std::size_t>(one.offset + i * one.strides[0] + j * one.strides[1])];
    };
    const view_facts expected = facts_of(one.extents, element);
    EXPECT_EQ(fanin::reduce(this->exec(), view, sum), expected.sum) << one.name;

    using result = fanin::tuple<std::int64_t, decltype(expected.least), decltype(expected.most)>;
    destination<result, exec_type> out(this->exec());
    const result blocking = fanin::reduce(this->exec(), view, sum, least, most);
    fanin::reduce_into(out.pointer(), this->exec(), view, sum, least, most);
    auto later = fanin::reduce_async(this->exec(), view, sum, least, most);
    const result written = out.get();
    const result got = later.get();
    for (const result& of : {blocking, written, got}) {
      EXPECT_EQ((facts_of_results{}(fanin::get<0>(of), fanin::get<1>(of), fanin::get<2>(of))), expected) << one.name;
    }
  }
}

TYPED_TEST(views, of_different_layouts_meet_by_index) {
  using exec_type = typename TypeParam::exec_type;
  const std::vector<std::int32_t> host = view_elements();
  placed<std::int32_t, exec_type> x(this->exec(), host);
  const auto all = fanin::finished(facts_of_results{}, fanin::sum<std::int32_t, std::int64_t>{},
                                   fanin::min_loc<std::int32_t>{}, fanin::max_loc<std::int32_t>{});
  const layout& rows = layouts()[0];
  for (const layout& one : layouts()) {
    if (one.extents != rows.extents) continue;
    const fanin::view<const std::int32_t, 2> view(x.data() + one.offset, one.extents, one.strides);
    const fanin::view<const std::int32_t, 2> beside(x.data() + 50'000, one.extents);
    const auto value = [&](std::int64_t i, std::int64_t j) {
      return hundreds{}(host[static_cast<std::size_t>(one.offset + i * one.strides[0] + j * one.strides[1])],
                        host[static_cast<std::size_t>(50'000 + i * one.extents[1] + j)]);
    };
    const view_facts expected = facts_of(one.extents, value);
    EXPECT_EQ(fanin::transform_reduce(this->exec(), view, beside, hundreds{}, all), expected) << one.name;
    const auto swapped = [&](std::int64_t i, std::int64_t j) { return value(i, j) % 100 * 100 + value(i, j) / 100; };
    EXPECT_EQ(fanin::transform_reduce(this->exec(), beside, view, hundreds{}, fanin::sum<std::int32_t, std::int64_t>{}),
              facts_of(one.extents, swapped).sum)
        << one.name;
    const auto in_turn = [&](std::int64_t i, std::int64_t j) {  // x and y of 100 x + y
      const std::int32_t both = value(i, j);
      return both % 100 * 100 + both / 100;
    };
    EXPECT_EQ(fanin::transform_reduce(this->exec(), beside, view, hundreds{}, fanin::sum<std::int32_t, std::int64_t>{}),
              facts_of(one.extents, in_turn).sum)
        << one.name;
  }
}

TYPED_TEST(views, of_one_and_of_four_dimensions) {
  using exec_type = typename TypeParam::exec_type;
  const std::vector<std::int32_t> host = view_elements();
  placed<std::int32_t, exec_type> x(this->exec(), host);
  const fanin::view<std::int32_t, 1> every_third(x.data() + 1, {30'000}, {3});
  std::int64_t third = 0;
  for (std::size_t i = 0; i < 30'000; ++i) third += host[1 + 3 * i];
  const auto [sum, most] = fanin::reduce(this->exec(), every_third, fanin::sum<std::int32_t, std::int64_t>{},
                                         fanin::max_loc<std::int32_t>{});
  EXPECT_EQ(sum, third);
  std::int64_t first = 0;
  while (host[static_cast<std::size_t>(1 + 3 * first)] != 49) ++first;
  EXPECT_TRUE(is_same(most, fanin::value_index<std::int32_t>{49, first}));

  const fanin::view<std::int32_t, 4> block(x.data(), {5, 6, 7, 8}, {1, 2'000, 50, 6});
  std::int64_t of_block = 0;
  for (std::size_t at = 0; at < 5 * 6 * 7 * 8; ++at) {
    of_block += host[at / 336 + at / 56 % 6 * 2'000 + at / 8 % 7 * 50 + at % 8 * 6];
  }
  EXPECT_EQ(fanin::reduce(this->exec(), block, fanin::sum<std::int32_t, std::int64_t>{}), of_block);
  const fanin::view<const std::int32_t, 4> read_only = block;
  EXPECT_EQ(fanin::reduce(this->exec(), read_only, fanin::sum<std::int32_t, std::int64_t>{}), of_block);
}

TYPED_TEST(views, of_one_and_of_several_dimensions_meet_as_they_lie) {
  using exec_type = typename TypeParam::exec_type;
  const std::vector<std::int32_t> host = view_elements();
  placed<std::int32_t, exec_type> x(this->exec(), host);
  const fanin::sum<std::int32_t, std::int64_t> sum;
  const fanin::view<const std::int32_t, 2> across(x.data(), {20, 30}, {1, 20});
  const fanin::view<const std::int32_t, 1> flat(x.data() + 700, {600});
  std::int64_t expected = 0;
  for (std::size_t at = 0; at < 600; ++at) expected += hundreds{}(host[at], host[700 + at]);
  EXPECT_EQ(fanin::transform_reduce(this->exec(), across, flat, hundreds{}, sum), expected);
  const fanin::view<const std::int32_t, 2> padded(x.data(), {20, 30}, {32, 1});
  expect_invalid([&] { fanin::transform_reduce(this->exec(), padded, flat, hundreds{}, sum); }, "is not contiguous");
}

TYPED_TEST(views, what_cannot_be_reached_or_does_not_fit_is_refused) {
  using exec_type = typename TypeParam::exec_type;
  auto& exec = this->exec();
  placed<std::int32_t, exec_type> x(exec, std::vector<std::int32_t>(24, 1));
  const fanin::sum<std::int32_t> sum;
  const auto refused = [&](const auto& view, const char* words) {
    expect_invalid([&] { fanin::reduce(exec, view, sum); }, words);
  };
  std::int32_t* const nowhere = nullptr;
  refused(fanin::view<std::int32_t, 2>(nowhere, {4, 6}, {1, 4}), "is null and has 24 elements");
  EXPECT_EQ(fanin::reduce(exec, fanin::view<std::int32_t, 2>(nowhere, {4, 0}, {1, 4}), sum), 0);
  auto* const crooked = reinterpret_cast<std::int32_t*>(reinterpret_cast<char*>(x.data()) + 2);
  refused(fanin::view<std::int32_t, 2>(crooked, {2, 2}, {1, 4}), "alignment");
  refused(fanin::view<std::int32_t, 2>(x.data(), {3, 3}, {1, std::int64_t{1} << 61}), "beyond 64-bit");
  const fanin::view<std::int32_t, 2> view(x.data(), {4, 6});
  const fanin::view<std::int32_t, 2> across(x.data(), {6, 4});
  expect_invalid([&] { fanin::transform_reduce(exec, view, across, hundreds{}, sum); }, "dimensions differ");
  const std::int64_t half = std::int64_t{1} << 32;
  EXPECT_THROW((fanin::view<std::int32_t, 2>(x.data(), {half, half})), fanin::invalid_argument);
  EXPECT_THROW((fanin::view<std::int32_t, 2>(x.data(), {2, -1})), fanin::invalid_argument);
  EXPECT_EQ((fanin::view<std::int32_t, 3>(x.data(), {half, half, std::int64_t{0}}).size()), 0U);
}

}  // namespace fanin_test
