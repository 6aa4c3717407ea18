// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include <fanin/cuda/backend.hpp>
#include <fanin/cuda/cuda.hpp>
#include <fanin/detail/md_places.hpp>
#include <fanin/exact_sum.hpp>
#include <fanin/md_range.hpp>

#include "simulator/simulated.hpp"
#include "support/boxes.hpp"
#include "support/functors.hpp"

// Boxes by tiles, which calls take for large ones only: small ones here.

namespace fanin_test {
namespace {

template <std::size_t Rank, fanin::iterate Order>
fanin::detail::md_shape<Rank, Order> shape_of(const std::array<std::int64_t, Rank>& extents) {
  fanin::md_index<Rank> lower{};
  fanin::md_index<Rank> sizes{};
  for (std::size_t d = 0; d < Rank; ++d) {
    lower[d] = first_in_box(d);
    sizes[d] = extents[d];
  }
  return {lower, sizes, count_of(extents)};
}

template <fanin::iterate Order, std::size_t Rank>
void expect_each_once(const fanin::cuda& gpu, const std::array<std::int64_t, Rank>& extents) {
  const auto shape = shape_of<Rank, Order>(extents);
  const std::int64_t count = count_of(extents);
  const fanin::detail::md_tiles tiles(shape, count, 1);
  ASSERT_GT(tiles.planes(), 0u);

  std::vector<std::int32_t> visits(static_cast<std::size_t>(count), 0);
  using functor = fanin::detail::md_functor<mark_box<Rank>, Rank, Order>;
  const functor f{shape, {visits.data(), strides_of<Order>(extents)}};
  const auto composite =
      fanin::detail::make_md_composite(shape, fanin::sum<std::int64_t>{}, fanin::min_loc<std::int64_t>{});
  const auto [sum, least] = fanin::detail::reduce_blocking<fanin::cuda_strategy::one_pass>(
      fanin::backend<fanin::cuda>::handle(gpu), nullptr,
      fanin::detail::md_source<mark_box<Rank>, Rank, Order>{{f, 0, count}, tiles}, composite);
  const auto expected = facts_of_box<Order>(extents);
  EXPECT_EQ(sum, expected.sum);
  EXPECT_EQ(least, expected.least);
  EXPECT_EQ(visits, std::vector<std::int32_t>(visits.size(), 1));
}

/// Boxes whose rows and columns end with a tile, within one and one behind it, of one tile and of several of a plane.
TEST(boxes, each_index_once) {
  for (const std::int64_t length : {24, 31, 32, 33, 100}) {
    for (const std::int64_t rows : {8, 9, 15, 23, 64}) {
      const new_device drawn;
      const fanin::cuda gpu;
      expect_each_once<fanin::iterate::right, 2>(gpu, {rows, length});
      expect_each_once<fanin::iterate::left, 3>(gpu, {length, rows, 3});
      expect_each_once<fanin::iterate::right, 4>(gpu, {2, 3, rows, length});
    }
  }
}

/// Where the first tile of a row begins, by the row's first index and length: where 32 divides the index, if that is
/// not a tile more of few.
TEST(boxes, where_tiles_begin) {
  const auto begin = [](std::int64_t first, std::int64_t length) {
    const fanin::detail::md_shape<2, fanin::iterate::right> shape({{7, first}}, {{8, length}}, 8 * length);
    return fanin::detail::md_tiles(shape, 8 * length, 1).along(0, 0);
  };
  EXPECT_EQ(begin(0, 31), 0);
  EXPECT_EQ(begin(1, 31), -1);
  EXPECT_EQ(begin(1, 32), 0);
  EXPECT_EQ(begin(33, 31), -1);
  EXPECT_EQ(begin(-1, 33), -31);
  EXPECT_EQ(begin(-1, 34), 0);
  EXPECT_EQ(begin(28, 100), -28);
  EXPECT_EQ(begin(29, 100), 0);
  EXPECT_EQ(begin(1, 31 * 32), 0);
  EXPECT_EQ(begin(1, 32 * 32), -1);
}
/// The same of boxes that begin at -3 and -10, of one tile across more than their lengths take, and of as many.
TEST(boxes, rows_that_begin_within_a_tile) {
  const new_device drawn;
  const fanin::cuda gpu;
  ASSERT_EQ(first_in_box(1), -3);
  expect_each_once<fanin::iterate::right, 2>(gpu, {601, 35});
  expect_each_once<fanin::iterate::right, 2>(gpu, {9, 32 * 32});
  ASSERT_EQ(first_in_box(0), -10);
  expect_each_once<fanin::iterate::left, 3>(gpu, {106, 19, 3});
}

/// Functors with accumulators.
TEST(boxes, each_added_once) {
  for (const std::int64_t rows : {8, 15, 100}) {
    const new_device drawn;
    const fanin::cuda gpu;
    const std::array<std::int64_t, 3> extents{40, rows, 5};
    const auto shape = shape_of<3, fanin::iterate::left>(extents);
    const std::int64_t size = count_of(extents);
    std::vector<std::int32_t> visits(static_cast<std::size_t>(size), 0);
    using functor = fanin::detail::md_functor<add_box<3>, 3, fanin::iterate::left>;
    const functor f{shape, {{visits.data(), strides_of<fanin::iterate::left>(extents)}}};
    const auto [sum, count] = fanin::detail::reduce_blocking<fanin::cuda_strategy::one_pass>(
        fanin::backend<fanin::cuda>::handle(gpu), nullptr,
        fanin::detail::md_source<add_box<3>, 3, fanin::iterate::left>{{f, 0, size},
                                                                      fanin::detail::md_tiles(shape, size, 1)},
        fanin::detail::make_composite(fanin::sum<std::int64_t>{}, fanin::sum<std::int32_t>{}));
    EXPECT_EQ(sum, facts_of_box<fanin::iterate::left>(extents).sum);
    EXPECT_EQ(count, size);
    EXPECT_EQ(visits, std::vector<std::int32_t>(visits.size(), 1));
  }
}

/// More tiles than warps, so that warps go on to others, of the same rows and of others.
TEST(boxes, warps_go_on_by_any_step) {
  for (int seed = 0; seed < 2; ++seed) {
    const new_device drawn;
    const fanin::cuda gpu;
    expect_each_once<fanin::iterate::right, 2>(gpu, {1'031, 70});
    expect_each_once<fanin::iterate::right, 2>(gpu, {11, 7'001});
    expect_each_once<fanin::iterate::left, 3>(gpu, {33, 9, 301});
    expect_each_once<fanin::iterate::right, 5>(gpu, {3, 5, 7, 13, 40});
  }
}

struct count_box {
  std::int32_t* visits;
  fanin::md_index<3> lower;
  fanin::md_index<3> strides;
  FANIN_FUNCTION void operator()(std::int64_t i, std::int64_t j, std::int64_t k) const {
    ++visits[(i - lower[0]) * strides[0] + (j - lower[1]) * strides[1] + (k - lower[2]) * strides[2]];
  }
};
/// parallel_for over boxes that are large enough for tiles, and not.
TEST(boxes, parallel_for_calls_with_every_index_once) {
  for (const std::int64_t rows : {255, 256, 259}) {
    const new_device drawn;
    const fanin::cuda gpu;
    const std::array<std::int64_t, 3> extents{12, rows, 256};
    const auto lower = lower_of<3>();
    const auto upper = upper_of(extents);
    const auto shape = shape_of<3, fanin::iterate::right>(extents);
    EXPECT_EQ(fanin::detail::md_tiles(shape, count_of(extents)).planes() > 0, rows >= 256);

    std::vector<std::int32_t> visits(static_cast<std::size_t>(count_of(extents)), 0);
    fanin::parallel_for(
        fanin::md_range(gpu, {lower[0], lower[1], lower[2]}, {upper[0], upper[1], upper[2]}),
        count_box{visits.data(), {{lower[0], lower[1], lower[2]}}, strides_of<fanin::iterate::right>(extents)});
    gpu.synchronize();
    EXPECT_EQ(visits, std::vector<std::int32_t>(visits.size(), 1));
  }
}

template <class Reducer, class F>
bool goes_by_tiles(const F& f, std::int64_t first, std::int64_t count) {
  bool goes = false;
  fanin::detail::with_index_source<fanin::cuda_strategy::one_pass, fanin::detail::composite<Reducer>>(
      f, first, count,
      [&](const auto& source) { goes = fanin::detail::has_tiles<std::remove_cvref_t<decltype(source)>>; });
  return goes;
}
template <class Reducer>
bool call_goes_by_tiles(const std::array<std::int64_t, 2>& extents, std::int64_t first = 0) {
  using functor = fanin::detail::md_functor<mark_box<2>, 2, fanin::iterate::right>;
  return goes_by_tiles<Reducer>(functor{shape_of<2, fanin::iterate::right>(extents), {}}, first, count_of(extents));
}
/// A reducer that would not leave a kernel's arguments room for tiles.
struct sum_beside_a_table : fanin::sum<std::int64_t> {
  std::int64_t table[200];
};
TEST(boxes, which_calls_go_by_tiles) {
  EXPECT_TRUE(call_goes_by_tiles<fanin::sum<std::int64_t>>({1'024, 768}));
  EXPECT_FALSE(call_goes_by_tiles<fanin::sum<std::int64_t>>({1'023, 768}));
  EXPECT_FALSE(call_goes_by_tiles<fanin::sum<std::int64_t>>({1'024, 768}, 1));
  EXPECT_FALSE(call_goes_by_tiles<fanin::exact_sum<double>>({1'024, 768}));
  EXPECT_FALSE(call_goes_by_tiles<sum_beside_a_table>({1'024, 768}));
}

/// Elements that are `step` apart, with gaps behind rows of them: unless each has a line of its own, for one that sees
/// no indices, where the smallest stride comes last.
template <class Reducer, class T>
bool array_goes_by_tiles(std::int64_t step) {
  using values = fanin::detail::strided_values<fanin::detail::itself, 2, T>;
  using functor = fanin::detail::md_functor<values, 2, fanin::iterate::right>;
  functor f{shape_of<2, fanin::iterate::right>({1'024, 768}), values{}};
  f.f.strides[0] = {{800 * step, step}};
  return goes_by_tiles<Reducer>(f, 0, 1'024 * 768);
}
TEST(boxes, which_arrays_go_by_tiles) {
  for (const std::int64_t step : {1, -2, 16}) {
    EXPECT_TRUE((array_goes_by_tiles<fanin::sum<float>, float>(step))) << step;
  }
  EXPECT_FALSE((array_goes_by_tiles<fanin::sum<float>, float>(17)));
  EXPECT_TRUE((array_goes_by_tiles<fanin::sum<double>, double>(-8)));
  EXPECT_FALSE((array_goes_by_tiles<fanin::sum<double>, double>(-9)));
  EXPECT_TRUE((array_goes_by_tiles<fanin::min_loc<float>, float>(17)));
  using most = fanin::detail::substitute<fanin::max<float>>::type;
  EXPECT_FALSE((array_goes_by_tiles<most, float>(17)));
  using places = fanin::detail::substitute<fanin::min_max_loc<float>>::type;
  EXPECT_TRUE((array_goes_by_tiles<places, float>(17)));
  EXPECT_TRUE((array_goes_by_tiles<fanin::sum<std::int16_t>, std::int16_t>(100)));
}

TEST(boxes, narrow_boxes_have_none) {
  const auto has_tiles = [](const std::array<std::int64_t, 3>& extents) {
    return fanin::detail::md_tiles(shape_of<3, fanin::iterate::right>(extents), count_of(extents)).planes() > 0;
  };
  EXPECT_TRUE(has_tiles({1'000, 100, 100}));
  EXPECT_FALSE(has_tiles({10, 100, 100}));                 // few
  EXPECT_FALSE(has_tiles({100'000, 100, 10}));             // short rows
  EXPECT_FALSE(has_tiles({10'000, 7, 1'000}));             // low planes
  EXPECT_FALSE(has_tiles({1, 8, std::int64_t{1} << 31}));  // rows and columns beyond 31 bits
  EXPECT_FALSE(has_tiles({1, std::int64_t{1} << 40, 24}));
  EXPECT_FALSE(has_tiles({std::int64_t{1} << 40, 8, 24}));
}

struct two_are_least {
  FANIN_FUNCTION float operator()(std::int64_t i, std::int64_t j) const {
    return (i == 7 && j == 0) || (i == 0 && j == 32) ? 0 : 1;
  }
};
/// One lane comes to row 7 of the first tile, and then to row 0 of the next one.
TEST(boxes, places_by_one_warp) {
  const new_device drawn;
  const fanin::cuda gpu;
  const auto all = fanin::md_range(gpu.with({.block_size = 32, .grid_size = 1}), {1'001, 801});
  const auto least = fanin::parallel_reduce(all, two_are_least{}, fanin::min_loc<float>{});
  EXPECT_EQ(least.index, (fanin::md_index<2>{{0, 32}}));
}

struct falls {
  FANIN_FUNCTION std::int64_t operator()(std::int64_t i, std::int64_t j) const { return -1'000 * i - j; }
};
/// The least is the last of all, in tiles of each height.
TEST(boxes, places_in_low_tiles) {
  for (std::int64_t rows = 8; rows < 16; ++rows) {
    const new_device drawn;
    const fanin::cuda gpu;
    const std::array<std::int64_t, 2> extents{rows, 40};
    const auto shape = shape_of<2, fanin::iterate::right>(extents);
    const auto composite = fanin::detail::make_md_composite(shape, fanin::min_loc<std::int64_t>{});
    const fanin::detail::md_tiles tiles(shape, count_of(extents), 1);
    const fanin::detail::md_source<falls, 2, fanin::iterate::right> source{{{shape, {}}, 0, count_of(extents)}, tiles};
    const auto expect_last = [&](const auto& reducers) {
      const auto least = fanin::detail::reduce_blocking<fanin::cuda_strategy::one_pass>(
          fanin::backend<fanin::cuda>::handle(gpu), nullptr, source, reducers);
      EXPECT_EQ(least.index, (fanin::md_index<2>{{upper_of(extents)[0] - 1, upper_of(extents)[1] - 1}}));
    };
    expect_last(composite);                                       // which gets values
    expect_last(fanin::detail::substitute_composite(composite));  // which takes batches
  }
}

/// Counts batches whose indices are not larger than what its state has seen, which fanin/batch.hpp promises.
struct watches_order {
  struct accumulator_type {
    std::int64_t sum = 0;
    std::int64_t last = -1;
    std::int64_t broken = 0;
    accumulator_type() = default;
    explicit accumulator_type(std::int64_t value) : sum{value} {}
  };
  using value_type = std::int64_t;
  FANIN_FUNCTION accumulator_type identity() const { return {}; }
  FANIN_FUNCTION void join(accumulator_type& into, const accumulator_type& from) const {
    into.sum += from.sum;
    into.broken += from.broken;
    into.last = from.last > into.last ? from.last : into.last;
  }
  template <int Rows, int Columns>
  FANIN_FUNCTION void fold_batch(accumulator_type& acc,
                                 const fanin::tile_batch<Rows, Columns, std::int64_t>& batch) const {
    for (int k = 0; k < Rows * Columns; ++k) {
      if (!batch.counts(k)) continue;
      acc.sum += batch.values[k];
      if (batch.index(k) <= acc.last) ++acc.broken;
      acc.last = batch.index(k);
    }
  }
};
struct gives_one {
  FANIN_FUNCTION std::int64_t operator()(std::int64_t, std::int64_t) const { return 1; }
};
TEST(boxes, batches_of_reducers_of_ones_own_rise) {
  const new_device drawn;
  const fanin::cuda gpu;
  const auto found = fanin::parallel_reduce(fanin::md_range(gpu.with({.block_size = 32, .grid_size = 1}), {1'001, 801}),
                                            gives_one{}, watches_order{});
  EXPECT_EQ(found.sum, 1'001 * 801);
  EXPECT_EQ(found.broken, 0);
}

/// By the call, a box that is large enough; with one warp, several blocks and the default.
TEST(boxes, of_a_call) {
  const std::array<std::int64_t, 2> extents{1'001, 801};
  const auto expected = facts_of_box<fanin::iterate::right>(extents);
  for (const fanin::cuda_tuning& tuning :
       {fanin::cuda_tuning{}, {.grid_size = 1}, {.block_size = 32, .grid_size = 7}}) {
    const new_device drawn;
    const fanin::cuda gpu;
    std::vector<std::int32_t> visits(static_cast<std::size_t>(count_of(extents)), 0);
    const mark_box<2> f{visits.data(), strides_of<fanin::iterate::right>(extents)};
    const auto [sum, least] =
        fanin::parallel_reduce(fanin::md_range(gpu.with(tuning), lower_of<2>(), upper_of(extents)), f,
                               fanin::sum<std::int64_t>{}, fanin::min_loc<std::int64_t>{});
    EXPECT_EQ(sum, expected.sum);
    EXPECT_EQ(least, expected.least);
    EXPECT_EQ(visits, std::vector<std::int32_t>(visits.size(), 1));
  }
}

}  // namespace
}  // namespace fanin_test
