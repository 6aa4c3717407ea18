// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <fanin/cuda/cuda.hpp>
#include <fanin/cuda/split/launch.cuh>
#include <fanin/md_range.hpp>
#include <many_reduction.cuh>

#include "cuda/segment_lanes.hpp"
#include "simulator/simulated.hpp"
#include "support/functors.hpp"

// The contract of many results, on the simulated device.
#include "contract/arrays_of_many.hpp"
#include "contract/axes.hpp"
#include "contract/segments.hpp"

namespace fanin::detail {
template struct cuda_many_reduction<sum<double>, rows_of_matrix<double, 0>>;
template struct cuda_many_reduction<sum<double>, rows_of_matrix<double, 1>>;
template struct cuda_many_reduction<exact_sum<double>, rows_of_matrix<double, 0>>;
template struct cuda_many_reduction<exact_sum<double>, rows_of_matrix<double, 1>>;
}  // namespace fanin::detail

namespace fanin_test {
namespace {

struct planar_by_hand {};
struct of_ints {
  FANIN_FUNCTION std::int64_t operator()(int i) const { return i; }
  FANIN_FUNCTION void operator()(planar_by_hand, int i, int j, std::int64_t& sum) const { sum += 1'000 * i + j; }
};
struct mark_int {
  std::int32_t* visits;
  FANIN_FUNCTION void operator()(int i) const { ++visits[i]; }
};

/// Functors of ints, from any first index to the last that there is, and with a tag.
TEST(indices, of_32_bits) {
  const fanin::sum<std::int64_t> sum;
  for (int seed = 0; seed < 20; ++seed) {
    const new_device drawn;
    const fanin::cuda gpu;
    for (const std::int32_t n : {1, 77, 1'500}) {
      for (const std::int32_t first : {0, -700, INT32_MIN, INT32_MAX - n}) {
        const std::int64_t expected = std::int64_t{first} * n + std::int64_t{n} * (n - 1) / 2;
        const auto range = fanin::range<std::int32_t>(gpu, first, first + n);
        EXPECT_EQ(fanin::parallel_reduce(range, of_ints{}, sum), expected) << "[" << first << ", +" << n << ")";
        const auto most = fanin::parallel_reduce(range, of_ints{}, fanin::max_loc<std::int64_t>{});
        EXPECT_EQ(most.index, std::int64_t{first} + n - 1);
      }
      const auto box = fanin::md_range<std::int32_t, planar_by_hand>(gpu, {-n, -3}, {0, 4});
      EXPECT_EQ(fanin::parallel_reduce(box, of_ints{}, sum), -7'000 * (std::int64_t{n} * (n + 1) / 2));
      std::vector<std::int32_t> visits(static_cast<std::size_t>(n), 0);
      fanin::parallel_for(fanin::range<std::int32_t>(gpu, n), mark_int{visits.data()});
      gpu.synchronize();
      EXPECT_EQ(visits, std::vector<std::int32_t>(static_cast<std::size_t>(n), 1));
    }
  }
}

template <std::size_t Rank>
struct value_at_indices {
  FANIN_FUNCTION std::int64_t operator()(std::int64_t i, std::int64_t j) const { return 1'000 * i + j; }
};
template <>
struct value_at_indices<3> {
  FANIN_FUNCTION std::int64_t operator()(std::int64_t i, std::int64_t j, std::int64_t k) const {
    return 1'000 * (1'000 * i + j) + k;
  }
};

/// Values at the indices of a box, of which a thread takes several, of one row or of two.
template <fanin::iterate Order, std::size_t Rank>
void expect_sum_of_box(const fanin::cuda& gpu, const std::array<std::int64_t, Rank>& extents) {
  std::array<std::int64_t, Rank> lower{};
  std::array<std::int64_t, Rank> upper{};
  std::int64_t count = 1;
  for (std::size_t d = 0; d < Rank; ++d) {
    lower[d] = 1 + static_cast<std::int64_t>(d);
    upper[d] = lower[d] + extents[d];
    count *= extents[d];
  }
  std::int64_t expected = 0;
  for (std::size_t d = 0; d < Rank; ++d) expected = expected * 1'000 + (lower[d] + upper[d] - 1) * count / 2;
  const auto box = fanin::md_range<Order>(gpu, lower, upper);
  EXPECT_EQ(fanin::parallel_reduce(box, value_at_indices<Rank>{}, fanin::sum<std::int64_t>{}), expected);
  const auto most = fanin::parallel_reduce(box, value_at_indices<Rank>{}, fanin::max_loc<std::int64_t>{});
  for (std::size_t d = 0; d < Rank; ++d) EXPECT_EQ(most.index[d], upper[d] - 1);
}

TEST(indices, values_of_md_range) {
  for (const std::int64_t n : {1, 2, 31, 64, 257, 2'048, 9'999}) {
    const new_device drawn;
    const fanin::cuda gpu;
    expect_sum_of_box<fanin::iterate::right, 2>(gpu, {20'000 / n, n});
    expect_sum_of_box<fanin::iterate::left, 2>(gpu, {n, 20'000 / n});
    expect_sum_of_box<fanin::iterate::right, 3>(gpu, {3, 7'000 / n + 1, n});
    expect_sum_of_box<fanin::iterate::left, 3>(gpu, {n, 7'000 / n + 1, 3});
  }
}

/// Counts how often a result was finished.
struct counts_results {
  std::int32_t* calls;
  FANIN_FUNCTION std::int64_t operator()(std::int64_t sum, std::int64_t row) const {
    ++calls[row];
    return sum;
  }
};

/// Rows and columns in one tile or several, of one piece or many, which blocks of the same launch join or of another;
/// and counters that are 0 again, for a call that counts with them, too. The least, beside the sum, tells zeros that
/// are no piece.
TEST(tiles, join_their_pieces) {
  constexpr fanin::sum<std::int64_t> sum;
  using both = fanin::tuple<std::int64_t, std::int64_t>;
  using by_tickets =
      fanin::cuda_strategy::finished_by<fanin::cuda_strategy::shuffle, fanin::cuda_stage::grid::last_block>;
  std::set<std::string> seen;
  struct shape {
    std::int64_t n;
    std::int64_t m;
    int multiprocessors;
  };
  // Of 100 columns 30 pieces, 15 a thread, and 48; of 300, in three tiles, some of each; of rows 4, and 70, which are
  // more than a warp waits for.
  for (const auto& [n, m, multiprocessors] :
       {shape{3'001, 2, 24}, {1'600, 100, 15}, {1'600, 100, 24}, {1'600, 300, 24}, {2, 17'000, 24}, {2, 290'000, 40}}) {
    simulator::schedule how(static_cast<std::uint64_t>(n));
    how.multiprocessors = multiprocessors;
    simulator::begin(how);
    const fanin::cuda gpu;
    const auto reduce = [&](std::vector<both>& out, const auto& range) {
      fanin::parallel_reduce_into(out.data(), range, value_at_indices<2>{}, sum, fanin::min<std::int64_t>{});
      seen.insert(std::string(gpu.last_launch().strategy) + ", " + std::to_string(gpu.last_launch().launches));
    };
    for (int call = 0; call < 2; ++call) {
      std::vector<both> of_rows(static_cast<std::size_t>(n), both{-1, -1});
      std::vector<both> of_columns(static_cast<std::size_t>(m), both{-1, -1});
      reduce(of_rows, fanin::rows(gpu, n, m));
      reduce(of_columns, fanin::columns(gpu, n, m));
      EXPECT_EQ(fanin::parallel_reduce(fanin::range(gpu.with<by_tickets>(), n), index_itself{}, sum), n * (n - 1) / 2);
      std::vector<std::int64_t> sums(static_cast<std::size_t>(m));
      std::vector<std::int32_t> calls(static_cast<std::size_t>(m), 0);
      fanin::parallel_reduce_into(sums.data(), fanin::columns(gpu, n, m), value_at_indices<2>{},
                                  fanin::finished(counts_results{calls.data()}, sum));
      gpu.synchronize();
      EXPECT_EQ(calls, std::vector<std::int32_t>(static_cast<std::size_t>(m), 1));
      for (std::int64_t i = 0; i < n; ++i) {
        EXPECT_EQ(of_rows[static_cast<std::size_t>(i)], (both{1'000 * i * m + m * (m - 1) / 2, 1'000 * i}))
            << "row " << i;
      }
      for (std::int64_t j = 0; j < m; ++j) {
        EXPECT_EQ(of_columns[static_cast<std::size_t>(j)], (both{500 * n * (n - 1) + j * n, j})) << "column " << j;
      }
    }
  }
  for (const char* const launched : {"rows by blocks, 1", "columns by tiles, 1", "columns by tiles, 2"}) {
    EXPECT_TRUE(seen.contains(launched)) << launched;
  }
}

/// Both launches over segments, with a list of so many pieces, and so many segments a warp.
template <class Result = double, class All, class Composite>
std::vector<Result> reduce_with_room_for(const fanin::cuda& gpu, const All& all, const Composite& c,
                                         std::uint32_t capacity, unsigned log_rows = 1) {
  namespace detail = fanin::detail;
  using accumulator = typename Composite::accumulator_type;
  std::vector<Result> out(static_cast<std::size_t>(all.results), Result{});
  std::vector<detail::segment_piece> pieces(capacity);
  std::vector<accumulator> partials(capacity);
  unsigned count = 0;
  unsigned ticket = 7;
  const detail::results_in_order<Result> put{out.data()};
  const detail::segments_list<accumulator> list{&count, &ticket, pieces.data(), partials.data(), capacity};
  cudaLaunchConfig_t config{};
  config.gridDim.x = 3;
  config.blockDim.x = detail::threads_of_segments;
  config.dynamicSmemBytes = detail::warp_size * sizeof(accumulator);
  config.stream = gpu.stream();
  const auto launch = [&](const void* kernel, std::vector<void*> arguments) {
    EXPECT_EQ(cudaLaunchKernelExC(&config, kernel, arguments.data()), cudaSuccess);
  };
  using put_type = detail::results_in_order<Result>;
  launch(detail::kernel_pointer(&detail::segments_by_warps_kernel<All, Composite, put_type>),
         {detail::argument(all), detail::argument(c), detail::argument(put), &log_rows, detail::argument(list)});
  launch(detail::kernel_pointer(&detail::long_segments_kernel<All, Composite, put_type>),
         {detail::argument(all), detail::argument(c), detail::argument(put), detail::argument(list)});
  gpu.synchronize();
  EXPECT_EQ(count, 0U);
  return out;
}

/// Who takes what in one launch, by which blocks, and what there is room for.
struct drawn_share {
  unsigned log_warps;
  bool share_first;
  std::int64_t most;
  unsigned sharing;
  unsigned capacity = 10'000;
  unsigned counters = 100;
};
/// The one launch over segments; IsBlockEach: by blocks of which each has one.
template <bool IsBlockEach = false, class Result = double, class All, class Composite>
std::vector<Result> reduce_in_one_launch(const fanin::cuda& gpu, const All& all, const Composite& c,
                                         const drawn_share& drawn) {
  namespace detail = fanin::detail;
  using accumulator = typename Composite::accumulator_type;
  using put_type = detail::results_in_order<Result>;
  std::vector<Result> out(static_cast<std::size_t>(all.results), Result{});
  std::vector<accumulator> partials(drawn.capacity);
  std::vector<unsigned> arrived(drawn.counters, 0);
  const put_type put{out.data()};
  const auto alone = static_cast<unsigned>((all.results - 1) / (8 >> drawn.log_warps) + 1);
  const detail::segments_share<accumulator> share{drawn.log_warps, drawn.most,     alone,           drawn.share_first,
                                                  drawn.capacity,  drawn.counters, partials.data(), arrived.data()};
  cudaLaunchConfig_t config{};
  config.gridDim.x = alone + drawn.sharing;
  config.blockDim.x = detail::threads_of_segments;
  config.dynamicSmemBytes = detail::bytes_of_teams<accumulator>;
  config.stream = gpu.stream();
  const void* const kernel =
      detail::kernel_pointer(&detail::segments_by_blocks_kernel<IsBlockEach, All, Composite, put_type>);
  std::vector<void*> arguments{detail::argument(all), detail::argument(c), detail::argument(put),
                               detail::argument(share)};
  EXPECT_EQ(cudaLaunchKernelExC(&config, kernel, arguments.data()), cudaSuccess);
  gpu.synchronize();
  EXPECT_EQ(arrived, std::vector<unsigned>(drawn.counters, 0));
  return out;
}

/// A segment's bits are the same in one launch and in two, by a lane, a warp, a block, or several, and where there is
/// no room for what blocks share.
TEST(segments, bits_do_not_depend_on_launches) {
  const std::vector<std::int64_t> offsets = offsets_of<std::int64_t>(
      {4'097, 3,   20'000, 0,     70'000, 16'384, 16'385, 900,   9'000,   1,     17,     33,     100, 129,
       511,   512, 513,    1'024, 1'025,  4'095,  4'096,  3'600, 700'000, 2'048, 40'000, 32'768, 256, 32},
      5);
  std::vector<double> x(static_cast<std::size_t>(offsets.back()));
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = static_cast<double>(mix(k)) * 0x1p-40;
  const auto n = static_cast<std::int64_t>(offsets.size() - 1);
  const fanin::detail::segments_functor<number_at, std::int64_t> all{offsets.data(), n, offsets.back(), {x.data()}};
  const fanin::detail::segments_functor<fanin::detail::contiguous_element<double>, std::int64_t> of_data{
      offsets.data(), n, offsets.back(), {x.data()}};
  const auto c = fanin::detail::make_axes_composite<fanin::detail::axes_of<2, 1>>(
      fanin::detail::md_shape<1, fanin::iterate::right>{}, fanin::sum<double>{});
  const new_device drawn;
  const fanin::cuda gpu;
  const std::vector<double> in_two = reduce_with_room_for(gpu, all, c, 1'000);
  constexpr std::int64_t any = 1'000'000;
  for (const drawn_share& share :
       {drawn_share{0, false, 4'096, 3}, drawn_share{0, true, 4'096, 1}, drawn_share{0, true, 4'096, 70},
        drawn_share{0, false, 4'096, 3, 5}, drawn_share{0, false, 4'096, 3, 10'000, 2}, drawn_share{1, false, 4'096, 3},
        drawn_share{1, true, 4'096, 2}, drawn_share{2, false, 4'096, 3, 5}, drawn_share{2, true, 4'096, 1},
        drawn_share{3, false, 16'384, 3}, drawn_share{3, true, 16'384, 5}, drawn_share{3, false, 65'536, 2},
        drawn_share{3, true, 20'000, 2, 10'000, 1}, drawn_share{3, true, any, 0}, drawn_share{3, false, any, 2}}) {
    EXPECT_EQ(reduce_in_one_launch(gpu, all, c, share), in_two) << share.log_warps << ", up to " << share.most;
    EXPECT_EQ(reduce_in_one_launch(gpu, of_data, c, share), in_two) << "of an array, up to " << share.most;
    if (share.log_warps != 3) continue;
    EXPECT_EQ(reduce_in_one_launch<true>(gpu, of_data, c, share), in_two) << "a block each, up to " << share.most;
  }
}

/// A thread's elements are as far apart in a segment of an array that is contiguous as where it is told the distance;
/// around whole rounds of a warp's and a block's threads, and where the array ends.
template <class T>
void expect_bits_of_strided() {
  std::vector<std::int64_t> lengths{200'000, 20'000, 8'192 + 100, 6'000, 16'384};
  for (const std::int64_t whole : {512, 1'024, 4'096, 8'192, 12'288, 16'384, 32'768}) {
    for (const std::int64_t more : {-257, -32, -1, 0, 1, 31, 256}) lengths.push_back(whole + more);
  }
  const std::vector<std::int64_t> offsets = offsets_of<std::int64_t>(lengths, 1);
  std::vector<T> x(static_cast<std::size_t>(offsets.back()));
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = static_cast<T>(mix(k) >> 40) * T(0x1p-8);
  const auto n = static_cast<std::int64_t>(lengths.size());
  const fanin::detail::segments_functor<fanin::detail::strided_element<T>, std::int64_t> strided{
      offsets.data(), n, offsets.back(), {x.data(), 1}};
  const fanin::detail::segments_functor<fanin::detail::contiguous_element<T>, std::int64_t> contiguous{
      offsets.data(), n, offsets.back(), {x.data()}};
  const new_device drawn;
  const fanin::cuda gpu;
  const auto expect_same = [&]<class Reducer>(const Reducer& reducer) {
    const auto c = fanin::detail::make_axes_composite<fanin::detail::axes_of<2, 1>>(
        fanin::detail::md_shape<1, fanin::iterate::right>{}, reducer);
    const auto of_strided = reduce_with_room_for<T>(gpu, strided, c, 1'000);
    EXPECT_EQ(reduce_with_room_for<T>(gpu, contiguous, c, 1'000), of_strided);
    for (const drawn_share& share : {drawn_share{3, false, 16'384, 3}, drawn_share{3, true, 1'000'000, 2}}) {
      EXPECT_EQ((reduce_in_one_launch<false, T>(gpu, contiguous, c, share)), of_strided) << "up to " << share.most;
      EXPECT_EQ((reduce_in_one_launch<true, T>(gpu, contiguous, c, share)), of_strided) << "up to " << share.most;
    }
  };
  expect_same(fanin::sum<T>{});
  expect_same(fanin::max<T>{});
}
TEST(segments, bits_of_contiguous_are_those_of_strided) {
  expect_bits_of_strided<float>();
  expect_bits_of_strided<double>();
}

/// Of calls: more segments of an array than blocks work at once, as long as a warp's on the average, have a block each,
/// and the bits of f(s, k).
TEST(segments, a_block_each_in_calls) {
  simulator::schedule how(5);
  how.multiprocessors = 1;
  simulator::begin(how);
  const fanin::cuda gpu;
  std::vector<std::int64_t> lengths(12, 2'900);
  lengths[0] = 0;
  lengths[5] = 100;
  lengths[7] = 22'000;  // more than a piece
  const std::vector<std::int64_t> offsets = offsets_of<std::int64_t>(lengths, 3);
  std::vector<float> x(static_cast<std::size_t>(offsets.back()));
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = static_cast<float>(mix(k) >> 40) * 0x1p-8F;
  std::vector<float> expected(lengths.size());
  fanin::parallel_reduce_into(
      expected.data(), fanin::segments(gpu, offsets), [&](std::int64_t, std::int64_t k) { return x[k]; },
      fanin::sum<float>{});
  gpu.synchronize();
  const auto segments = fanin::segments(x, offsets);
  std::vector<float> sums(lengths.size());
  fanin::reduce_into(sums, gpu, segments, fanin::sum<float>{});
  gpu.synchronize();
  EXPECT_STREQ(gpu.last_launch().strategy, "segments by blocks");  // of 4016 on the average; else they go by warps
  EXPECT_EQ(sums, expected);
  std::vector<float> later(lengths.size());
  fanin::reduce_async(later, gpu, segments, fanin::sum<float>{}).get();
  EXPECT_EQ(later, expected);
}

/// Long segments that found no room in the list have the bits of those that did.
TEST(segments, long_ones_beyond_the_list) {
  const std::vector<std::int64_t> offsets =
      offsets_of<std::int64_t>({4'097, 3, 20'000, 0, 70'000, 16'384, 16'385, 5'000'000, 900, 9'000}, 0);
  std::vector<double> x(static_cast<std::size_t>(offsets.back()));
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = static_cast<double>(mix(k)) * 0x1p-40;
  const auto n = static_cast<std::int64_t>(offsets.size() - 1);
  const fanin::detail::segments_functor<number_at, std::int64_t> all{offsets.data(), n, offsets.back(), {x.data()}};
  const auto c = fanin::detail::make_axes_composite<fanin::detail::axes_of<2, 1>>(
      fanin::detail::md_shape<1, fanin::iterate::right>{}, fanin::sum<double>{});
  const new_device drawn;
  const fanin::cuda gpu;
  const std::vector<double> with_room = reduce_with_room_for(gpu, all, c, 1'000);
  EXPECT_EQ(reduce_with_room_for(gpu, all, c, 3), with_room);
  std::vector<double> of_call(static_cast<std::size_t>(n));
  fanin::parallel_reduce_into(of_call.data(), fanin::segments(gpu, offsets), number_at{x.data()}, fanin::sum<double>{});
  gpu.synchronize();
  EXPECT_EQ(of_call, with_room);
}

/// A number that does not add up exactly, and is another one where the segment is not the element's.
template <class T>
struct number_of_segment {
  const std::int32_t* segment_of;
  const T* x;
  FANIN_FUNCTION T operator()(std::int64_t s, std::int64_t k) const { return s == segment_of[k] ? x[k] : T{1e30F}; }
};

/// Lengths around all limits, of one kind beside each other and of all kinds.
std::vector<std::vector<std::int64_t>> lengths_of_neighbours() {
  std::vector<std::vector<std::int64_t>> all;
  for (const std::int64_t length : {1, 2, 15, 16, 17, 20, 31, 32, 33, 63, 64, 65, 127, 128, 129, 300}) {
    all.emplace_back(100, length);
  }
  std::vector<std::int64_t> mixed;
  for (std::uint64_t k = 0; k < 600; ++k) {
    const std::uint64_t most[] = {3, 12, 33, 70, 131, 5'000};
    const std::uint64_t draw = mix(k);
    mixed.push_back(draw % 7 == 0 ? 0 : static_cast<std::int64_t>(draw / 8 % most[k / 100]));
  }
  all.push_back(mixed);
  return all;
}

template <class T>
void expect_bits_of_lanes(const std::vector<std::int64_t>& lengths) {
  const std::vector<std::int64_t> offsets = offsets_of<std::int64_t>(lengths, 3);
  std::vector<T> x(static_cast<std::size_t>(offsets.back()));
  std::vector<std::int32_t> segment_of(x.size(), -1);
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = static_cast<T>(static_cast<double>(mix(k)) * 0x1p-40);
  std::vector<T> expected;
  for (std::size_t s = 0; s < lengths.size(); ++s) {
    std::fill_n(segment_of.begin() + offsets[s], lengths[s], static_cast<std::int32_t>(s));
    expected.push_back(sum_by_lanes(x.data() + offsets[s], lengths[s]));
  }
  const auto n = static_cast<std::int64_t>(lengths.size());
  const number_of_segment<T> f{segment_of.data(), x.data()};
  const fanin::detail::segments_functor<number_of_segment<T>, std::int64_t> all{offsets.data(), n, offsets.back(), f};
  const fanin::detail::segments_functor<fanin::detail::strided_element<T>, std::int64_t> of_data{
      offsets.data(), n, offsets.back(), {x.data(), 1}};
  const auto c = fanin::detail::make_axes_composite<fanin::detail::axes_of<2, 1>>(
      fanin::detail::md_shape<1, fanin::iterate::right>{}, fanin::sum<T>{});
  for (unsigned log_rows = 0; log_rows <= 5; ++log_rows) {
    const new_device drawn;
    const fanin::cuda gpu;
    const std::vector<T> got = reduce_with_room_for<T>(gpu, all, c, 1'000, log_rows);
    const std::vector<T> got_of_data = reduce_with_room_for<T>(gpu, of_data, c, 1'000, log_rows);
    for (std::size_t s = 0; s < lengths.size(); ++s) {
      if (lengths[s] > 4'096) continue;  // pieces
      EXPECT_EQ(got[s], expected[s]) << lengths[s] << " elements, segment " << s << ", 2^" << log_rows << " a warp";
      EXPECT_EQ(got_of_data[s], expected[s]) << lengths[s] << " elements of an array, segment " << s;
    }
  }
}

/// The bits of a segment follow from its length, whoever its neighbours in a warp are.
TEST(segments, bits_do_not_depend_on_neighbours) {
  for (const std::vector<std::int64_t>& lengths : lengths_of_neighbours()) {
    expect_bits_of_lanes<float>(lengths);
    expect_bits_of_lanes<double>(lengths);
  }
}

struct cannot_be_assigned {
  double number;
  cannot_be_assigned() = default;
  cannot_be_assigned(const cannot_be_assigned&) = default;
  cannot_be_assigned& operator=(const cannot_be_assigned&) = delete;
  FANIN_FUNCTION explicit cannot_be_assigned(double of) : number{of} {}
  FANIN_FUNCTION operator double() const { return number; }
};
struct larger_than_a_word {
  double number;
  std::int64_t others[2];
  larger_than_a_word() = default;
  FANIN_FUNCTION explicit larger_than_a_word(double of) : number{of}, others{} {}
  FANIN_FUNCTION operator double() const { return number; }
};
template <class Value>
struct value_of_element {
  FANIN_FUNCTION Value operator()(std::int64_t s, std::int64_t k) const {
    return Value{static_cast<double>(s * 1'000 + k)};
  }
};

/// Values that cannot be staged are reduced all the same.
TEST(segments, of_values_that_are_not_staged) {
  static_assert(!fanin::detail::can_be_staged<cannot_be_assigned> && !fanin::detail::can_be_staged<larger_than_a_word>);
  const std::vector<std::int64_t> offsets = offsets_of<std::int64_t>({40, 0, 3, 17, 65, 90, 1, 200, 33}, 2);
  const std::size_t n = offsets.size() - 1;
  std::vector<double> got(n);
  std::vector<double> got_of_larger(n);
  const new_device drawn;
  const fanin::cuda gpu;
  const auto range = fanin::segments(gpu, offsets);
  const fanin::sum<double> sum;
  fanin::parallel_reduce_into(got.data(), range, value_of_element<cannot_be_assigned>{}, sum);
  fanin::parallel_reduce_into(got_of_larger.data(), range, value_of_element<larger_than_a_word>{}, sum);
  gpu.synchronize();
  for (std::size_t s = 0; s < n; ++s) {
    const std::int64_t count = offsets[s + 1] - offsets[s];
    const std::int64_t expected = count * (static_cast<std::int64_t>(s) * 2'000 + offsets[s] + offsets[s + 1] - 1) / 2;
    EXPECT_EQ(got[s], static_cast<double>(expected)) << "segment " << s;
    EXPECT_EQ(got_of_larger[s], static_cast<double>(expected)) << "segment " << s;
  }
}

template <std::size_t Size>
struct bytes_of_segment {
  struct value {
    std::array<std::uint8_t, Size> of;
    FANIN_FUNCTION operator std::int64_t() const { return of[Size - 1]; }
  };
  FANIN_FUNCTION value operator()(std::int64_t s, std::int64_t) const {
    value all{};
    all.of[Size - 1] = static_cast<std::uint8_t>(s % 251);
    return all;
  }
};
template <std::size_t Size>
void reduce_bytes_of_segments(std::int64_t length) {
  const new_device drawn;
  const fanin::cuda gpu;
  constexpr std::size_t n = 4'000;  // so many that a warp has several
  const std::vector<std::int64_t> offsets = offsets_of<std::int64_t>(std::vector<std::int64_t>(n, length), 0);
  std::vector<std::int64_t> sums(n);
  fanin::parallel_reduce_into(sums.data(), fanin::segments(gpu, offsets), bytes_of_segment<Size>{},
                              fanin::sum<std::int64_t>{});
  gpu.synchronize();
  for (std::size_t s = 0; s < n; ++s) {
    ASSERT_EQ(sums[s], static_cast<std::int64_t>(s % 251) * length) << "segment " << s << ", " << Size << " bytes";
  }
}

/// Values of f of sizes that are no powers of two, which a warp stages for several segments.
TEST(segments, of_values_of_few_bytes) {
  reduce_bytes_of_segments<3>(50);
  reduce_bytes_of_segments<5>(100);
  reduce_bytes_of_segments<6>(31);
  reduce_bytes_of_segments<7>(58);
}

struct quotient {
  FANIN_FUNCTION float operator()(std::int64_t i, std::int64_t j) const { return 1.0F / static_cast<float>(1 + i + j); }
};

/// A tuning counts for no row, a lone one as little as several.
TEST(rows, take_no_tuning) {
  const new_device drawn;
  const fanin::cuda gpu;
  for (const std::int64_t n : {1, 2}) {
    std::vector<float> plain(2);
    std::vector<float> tuned(2);
    fanin::parallel_reduce_into(plain.data(), fanin::rows(gpu, n, 1'003), quotient{}, fanin::sum<float>{});
    const auto other = gpu.with({.block_size = 96, .blocks_per_sm = 1, .chunks = 2});
    fanin::parallel_reduce_into(tuned.data(), fanin::rows(other, n, 1'003), quotient{}, fanin::sum<float>{});
    gpu.synchronize();
    EXPECT_EQ(plain, tuned) << n;
  }
}

/// Offsets that fall, repeat elements or lie beyond the array: what each segment then has.
TEST(segments, offsets_that_do_not_rise) {
  std::vector<std::int64_t> offsets;
  for (std::uint64_t k = 0; k < 400; ++k) {
    const std::uint64_t draw = mix(k);
    offsets.push_back(draw % 5 == 0 ? static_cast<std::int64_t>(draw / 8 % 3'000) - 300
                                    : static_cast<std::int64_t>(k * 6 + draw / 8 % 40));
  }
  const std::int64_t size = 2'500;
  std::vector<double> x;
  for (std::uint64_t k = 0; k < 2'500; ++k) x.push_back(static_cast<double>(mix(k)) * 0x1p-40);
  const auto n = static_cast<std::int64_t>(offsets.size() - 1);
  const fanin::detail::segments_functor<number_at, std::int64_t> all{offsets.data(), n, size, {x.data()}};
  const auto c = fanin::detail::make_axes_composite<fanin::detail::axes_of<2, 1>>(
      fanin::detail::md_shape<1, fanin::iterate::right>{}, fanin::sum<double>{});
  for (unsigned log_rows = 0; log_rows <= 5; ++log_rows) {
    const new_device drawn;
    const std::vector<double> got = reduce_with_room_for(fanin::cuda{}, all, c, 1'000, log_rows);
    for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
      const std::int64_t begin = std::clamp<std::int64_t>(offsets[s], 0, size);
      const std::int64_t end = std::clamp<std::int64_t>(offsets[s + 1], begin, std::max(begin, size));
      EXPECT_EQ(got[s], sum_by_lanes(x.data() + begin, end - begin)) << "segment " << s;
    }
  }
}

}  // namespace
}  // namespace fanin_test
