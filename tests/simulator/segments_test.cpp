// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <fanin/axes.hpp>
#include <fanin/cuda/cuda.hpp>
#include <fanin/cuda/split/launch.cuh>
#include <fanin/finished.hpp>
#include <fanin/view.hpp>

#include "cuda/segment_lanes.hpp"
#include "simulator/seeds.hpp"
#include "simulator/simulated.hpp"
#include "support/functors.hpp"

// The contract of segments, on the simulated device.
#include "contract/segments.hpp"

namespace fanin_test {
namespace {

/// Both launches over segments, with a list of so many pieces, and so many segments a warp; IsBlockEach: by blocks of
/// which each has one. Gaps are those of elements that a warp stages.
template <bool IsBlockEach = false, class Result = double,
          fanin::detail::staged_gaps Gaps = fanin::detail::staged_gaps::behind_64, class All, class Composite>
std::vector<Result> reduce_with_room_for(const fanin::cuda& gpu, const All& all, const Composite& c,
                                         std::uint32_t capacity, unsigned rows = 2) {
  namespace detail = fanin::detail;
  using accumulator = typename Composite::accumulator_type;
  std::vector<Result> out(static_cast<std::size_t>(all.results), Result{});
  std::vector<detail::segment_piece> pieces(capacity);
  std::vector<accumulator> partials(capacity);
  unsigned count = 0;
  unsigned ticket = 7;
  const detail::results_in_order<Result> put{out.data()};
  const detail::segments_list<accumulator> list{
      &count,          &ticket,  pieces.data(),
      partials.data(), capacity, IsBlockEach ? detail::least_piece_of_segment : detail::segment_of_warp};
  cudaLaunchConfig_t config{};
  config.gridDim.x = IsBlockEach ? static_cast<unsigned>(all.results) : 3;
  config.blockDim.x = detail::threads_of_segments;
  config.dynamicSmemBytes = detail::bytes_of_team<accumulator>;
  config.stream = gpu.stream();
  const auto launch = [&](const void* kernel, std::vector<void*> arguments) {
    EXPECT_EQ(cudaLaunchKernelExC(&config, kernel, arguments.data()), cudaSuccess);
  };
  using put_type = detail::results_in_order<Result>;
  if constexpr (IsBlockEach) {
    launch(detail::kernel_pointer(&detail::segments_by_block_each_kernel<All, Composite, put_type>),
           {detail::argument(all), detail::argument(c), detail::argument(put), detail::argument(list)});
    config.gridDim.x = 3;
  } else {
    launch(detail::kernel_pointer(&detail::segments_by_warps_kernel<Gaps, All, Composite, put_type>),
           {detail::argument(all), detail::argument(c), detail::argument(put), detail::argument(list), &rows});
  }
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

/// x[k], and a word more, as functors have that read several arrays.
struct number_of_several {
  const double* x;
  std::int64_t beside;
  FANIN_FUNCTION double operator()(std::int64_t, std::int64_t k) const { return x[k - beside]; }
};

/// A segment's bits are the same in one launch and in two, by a lane, a warp, a block, or several, where there is no
/// room for what blocks share, and where a first launch leaves those of more than 1024 elements to the second.
TEST(segments, bits_do_not_depend_on_launches) {
#if defined(SIMULATOR_SCHEDULES_ARE_ONE_OF)
  constexpr std::int64_t longest = 100'000;  // a sanitizer takes its time
#else
  constexpr std::int64_t longest = 700'000;
#endif
  std::vector<std::int64_t> lengths{4'097, 3,     20'000, 0,     70'000,  16'384, 16'385, 900,    9'000, 1,
                                    17,    33,    100,    129,   511,     512,    513,    1'024,  1'025, 4'095,
                                    4'096, 3'600, 8'193,  8'192, longest, 2'048,  40'000, 32'768, 256,   32};
  const std::vector<std::int64_t> offsets = offsets_of<std::int64_t>(lengths, 5);
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
  const fanin::detail::segments_functor<number_of_several, std::int64_t> of_several{
      offsets.data(), n, offsets.back(), {x.data() - 1, -1}};
  const std::vector<double> in_two = reduce_with_room_for(gpu, all, c, 1'000);
  const std::vector<double> in_two_of_several = reduce_with_room_for(gpu, of_several, c, 1'000);
  for (std::size_t s = 0; s < lengths.size(); ++s) {
    if (lengths[s] > 4'096) continue;  // pieces, which are shorter there
    EXPECT_EQ(in_two_of_several[s], in_two[s]) << lengths[s] << " elements";
  }
  constexpr std::int64_t any = 1'000'000;
  for (const drawn_share& share :
       {drawn_share{0, false, 4'096, 3}, drawn_share{0, true, 4'096, 1}, drawn_share{0, true, 4'096, 70},
        drawn_share{0, false, 4'096, 3, 5}, drawn_share{0, false, 4'096, 3, 10'000, 2}, drawn_share{1, false, 4'096, 3},
        drawn_share{1, true, 4'096, 2}, drawn_share{2, false, 4'096, 3, 5}, drawn_share{2, true, 4'096, 1},
        drawn_share{3, false, 16'384, 3}, drawn_share{3, true, 16'384, 5}, drawn_share{3, false, 65'536, 2},
        drawn_share{3, true, 20'000, 2, 10'000, 1}, drawn_share{3, true, any, 0}, drawn_share{3, false, any, 2}}) {
    EXPECT_EQ(reduce_in_one_launch(gpu, all, c, share), in_two) << share.log_warps << ", up to " << share.most;
    EXPECT_EQ(reduce_in_one_launch(gpu, of_several, c, share), in_two_of_several) << share.log_warps;
    EXPECT_EQ(reduce_in_one_launch(gpu, of_data, c, share), in_two) << "of an array, up to " << share.most;
    if (share.log_warps != 3) continue;
    EXPECT_EQ(reduce_in_one_launch<true>(gpu, of_data, c, share), in_two) << "a block each, up to " << share.most;
  }
  EXPECT_EQ(reduce_with_room_for<true>(gpu, of_data, c, 1'000), in_two) << "a block each in two";
  EXPECT_EQ(reduce_with_room_for<true>(gpu, of_data, c, 3), in_two) << "a block each in two, without room";
  // As many empty ones as bring the average to 256, and one less.
  for (const std::int64_t many : {offsets.back() / 256 + 1, offsets.back() / 256 - 1}) {
    std::vector<std::int64_t> more = offsets;
    more.resize(static_cast<std::size_t>(many) + 1, offsets.back());
    const fanin::detail::segments_functor<number_of_several, std::int64_t> with_empty{
        more.data(), many, offsets.back(), {x.data() - 1, -1}};
    std::vector<double> expected = in_two_of_several;
    expected.resize(static_cast<std::size_t>(many), 0);
    EXPECT_EQ(reduce_with_room_for(gpu, with_empty, c, 1'000, 7), expected);
    EXPECT_EQ(reduce_with_room_for(gpu, with_empty, c, 3, 7), expected) << "without room";
  }
}

/// A thread's elements are as far apart in a segment of an array that is contiguous as where it is told the distance;
/// around whole rounds of a warp's and a block's threads, and where the array ends.
template <class T>
void expect_bits_of_strided() {
  std::vector<std::int64_t> lengths{200'000, 20'000, 8'192 + 100, 6'000, 16'384};
  for (const std::int64_t whole : {512, 1'024, 4'096, 8'192, 12'288, 16'384, 32'768}) {
    for (const std::int64_t more : {-257, -32, -1, 0, 1, 31, 70, 140, 256, 600, 1'100}) lengths.push_back(whole + more);
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
    const auto of_strided = reduce_with_room_for<false, T>(gpu, strided, c, 1'000);
    EXPECT_EQ((reduce_with_room_for<false, T>(gpu, contiguous, c, 1'000)), of_strided);
    EXPECT_EQ((reduce_with_room_for<true, T>(gpu, contiguous, c, 1'000)), of_strided);
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
/// and the bits of f(s, k); in two launches where there are eight times as many.
TEST(segments, a_block_each_in_calls) {
  simulator::schedule how(5);
  how.multiprocessors = 1;
  simulator::begin(how);
  const fanin::cuda gpu;
  for (const auto& [n, launches] : {std::pair(12, 1), std::pair(70, 2)}) {
    std::vector<std::int64_t> lengths(static_cast<std::size_t>(n), 4'000);
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
    EXPECT_STREQ(gpu.last_launch().strategy, "segments by blocks");
    EXPECT_EQ(gpu.last_launch().launches, launches);
    EXPECT_EQ(sums, expected);
    std::vector<float> later(lengths.size());
    fanin::reduce_async(later, gpu, segments, fanin::sum<float>{}).get();
    EXPECT_EQ(later, expected);
  }
}

struct sum_and_place {
  FANIN_FUNCTION double operator()(float sum, std::int64_t s) const { return 8.0 * sum + static_cast<double>(s); }
};

/// A block's result goes to its segment's place, of any layout, and g gets its number; segments that wrong offsets make
/// empty, or cut, have what is there.
TEST(segments, a_block_each_has_its_place) {
  std::vector<std::int64_t> lengths(60, 4'000);
  lengths[7] = 40'000;
  std::vector<std::int64_t> offsets = offsets_of<std::int64_t>(lengths, 0);
  std::vector<float> x(static_cast<std::size_t>(offsets.back()));
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = static_cast<float>(mix(k) % 8);
  offsets[30] = offsets[29] - 1'000;
  offsets.back() += 1'000'000;
  const auto n = static_cast<std::int64_t>(lengths.size());
  std::vector<double> expected;
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
    float sum = 0;  // of small numbers, exactly
    const auto end = std::min<std::int64_t>(offsets[s + 1], static_cast<std::int64_t>(x.size()));
    for (std::int64_t k = offsets[s]; k < end; ++k) sum += x[static_cast<std::size_t>(k)];
    expected.push_back(8.0 * sum + static_cast<double>(s));
  }
  simulator::schedule how(3);
  how.multiprocessors = 1;
  simulator::begin(how);
  const fanin::cuda gpu;
  std::vector<double> got(expected.size());
  const fanin::view<double, 1> backwards(got.data() + n - 1, {n}, {-1});
  fanin::reduce_into(backwards, gpu, fanin::segments(x, offsets),
                     fanin::finished(sum_and_place{}, fanin::sum<float>{}));
  gpu.synchronize();
  EXPECT_STREQ(gpu.last_launch().strategy, "segments by blocks");
  EXPECT_EQ(gpu.last_launch().launches, 2);
  std::reverse(got.begin(), got.end());
  EXPECT_EQ(got, expected);
}

/// What a block each has is read behind the call that writes it, the first elements last, though grids begin early.
TEST(segments, a_block_each_waits_for_the_call_before) {
  constexpr std::int64_t n = 45;
  const std::vector<std::int64_t> offsets =
      offsets_of<std::int64_t>(std::vector<std::int64_t>(static_cast<std::size_t>(n), 3'600), 0);
  for (std::uint64_t seed = 0; seed < simulator_test::count_of_seeds(6); ++seed) {
    simulator::schedule how(seed);
    how.multiprocessors = 1;
    simulator::begin(how);
    const fanin::cuda gpu;
    std::vector<float> written(static_cast<std::size_t>(offsets.back()));
    std::vector<float> sums(static_cast<std::size_t>(n));
    const fanin::view<float, 1> backwards(written.data() + written.size() - 1, {offsets.back()}, {-1});
    for (const float value : {1.F, 2.F}) {  // the first call makes room in the workspace, and waits for that
      fanin::parallel_reduce_into(
          backwards, fanin::rows(gpu, offsets.back(), 1), [value](std::int64_t, std::int64_t) { return value; },
          fanin::sum<float>{});
      fanin::reduce_into(sums, gpu, fanin::segments(written, offsets), fanin::sum<float>{});
      EXPECT_STREQ(gpu.last_launch().strategy, "segments by blocks");
      EXPECT_EQ(gpu.last_launch().launches, 2);
    }
    gpu.synchronize();
    EXPECT_EQ(sums, std::vector<float>(sums.size(), 7'200)) << "seed " << seed;
  }
}

/// By that kernel, of which the warps have so many segments at once that nobody listed, by so many blocks.
template <class List, class All, class Composite>
std::vector<double> reduce_by_list(const fanin::cuda& gpu, const void* kernel, const All& segments, const List& list,
                                   const Composite& c, unsigned rows, unsigned unlisted) {
  namespace detail = fanin::detail;
  using functor = typename All::functor_type;
  using accumulator = typename Composite::accumulator_type;
  const detail::prepared_segments_functor<functor, std::int64_t, List> all{segments, list};
  std::vector<double> out(static_cast<std::size_t>(all.results), -1);
  std::vector<accumulator> partials(static_cast<std::size_t>(list.cut) + 1);
  std::vector<unsigned> arrived(detail::workspace_memory::counters, 0);
  const detail::results_in_order<double> put{out.data()};
  const auto of_warps = static_cast<unsigned>((list.of_warps + 7) / 8);
  const detail::prepared_share<accumulator> share{of_warps, rows, partials.data(), arrived.data()};
  cudaLaunchConfig_t config{};
  config.gridDim.x = static_cast<unsigned>(list.of_blocks) + of_warps + unlisted;
  config.blockDim.x = detail::threads_of_segments;
  config.dynamicSmemBytes = detail::bytes_of_team<accumulator>;
  config.stream = gpu.stream();
  std::vector<void*> arguments{detail::argument(all), detail::argument(c), detail::argument(put),
                               detail::argument(share)};
  EXPECT_EQ(cudaLaunchKernelExC(&config, kernel, arguments.data()), cudaSuccess);
  gpu.synchronize();
  EXPECT_EQ(arrived, std::vector<unsigned>(arrived.size(), 0));
  return out;
}

/// A list and each kernel that goes by one give the bits of two launches, whatever a list is made for: of a few
/// segments, of short ones, of longer ones, and with some that one block has all pieces of.
TEST(segments, prepared_ones_by_each_kernel) {
  namespace detail = fanin::detail;
  using composite = decltype(detail::make_axes_composite<detail::axes_of<2, 1>>(
      detail::md_shape<1, fanin::iterate::right>{}, fanin::sum<double>{}));
  using put = detail::results_in_order<double>;
  using of_many = detail::prepared_segments_functor<number_of_several, std::int64_t, detail::prepared_list_of_many>;
  using of_few = detail::prepared_segments_functor<number_of_several, std::int64_t, detail::prepared_list>;
  using of_one = detail::prepared_segments_functor<number_at, std::int64_t, detail::prepared_list_of_many>;
  std::vector<std::int64_t> lengths{4'097, 3,      20'000, 0,   16'384, 16'385, 900,   9'000, 1,      17,  33,
                                    100,   129,    511,    512, 513,    1'024,  1'025, 4'095, 4'096,  128, 127,
                                    3'600, 40'000, 0,      8,   9,      2'048,  256,   32,    20'000, 64,  65};
  for (std::uint64_t k = 0; k < 60; ++k) lengths.push_back(static_cast<std::int64_t>(mix(k) % 40));
  const std::vector<std::int64_t> offsets = offsets_of<std::int64_t>(lengths, 5);
  std::vector<double> x(static_cast<std::size_t>(offsets.back()));
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = static_cast<double>(mix(k)) * 0x1p-40;
  const auto n = static_cast<std::int64_t>(lengths.size());
  const detail::segments_functor<number_of_several, std::int64_t> several{
      offsets.data(), n, offsets.back(), {x.data() - 1, -1}};
  const detail::segments_functor<number_at, std::int64_t> one{offsets.data(), n, offsets.back(), {x.data()}};
  const composite c = detail::make_axes_composite<detail::axes_of<2, 1>>(detail::md_shape<1, fanin::iterate::right>{},
                                                                         fanin::sum<double>{});
  const new_device drawn;
  const fanin::cuda gpu;
  const std::vector<double> expected = reduce_with_room_for(gpu, several, c, 1'000);
  const std::vector<double> expected_of_one = reduce_with_room_for(gpu, one, c, 1'000);
  for (const detail::prepared_kinds& kinds :
       {detail::prepared_kinds{128, 512, 4'096}, detail::prepared_kinds{512, 512, 4'096},
        detail::prepared_kinds{1'024, 1'024, 4'096}, detail::prepared_kinds{4'096, 4'096, 4'096},
        detail::prepared_kinds{128, 1'024, 16'384}}) {
    const detail::cuda_prepared_segments ready =
        detail::list_segments<fanin::cuda>(fanin::backend<fanin::cuda>::handle(gpu), offsets.data(), n, kinds);
    const detail::prepared_list& list = ready.view();
    EXPECT_EQ(list.most_unlisted, kinds.most_unlisted);
    for (const unsigned rows : {1U, 7U, 32U}) {
      const detail::prepared_list_of_many many{list};
      EXPECT_EQ(
          reduce_by_list(gpu, detail::kernel_pointer(&detail::prepared_segments_kernel<3, of_few, composite, put>),
                         several, list, c, rows, 3),
          expected);
      EXPECT_EQ(
          reduce_by_list(gpu, detail::kernel_pointer(&detail::prepared_segments_kernel<4, of_many, composite, put>),
                         several, many, c, rows, 1),
          expected);
      EXPECT_EQ(
          reduce_by_list(gpu, detail::kernel_pointer(&detail::prepared_segments_kernel<4, of_one, composite, put>), one,
                         list, c, rows, 2),
          expected_of_one);
    }
  }
}

/// Which folds several elements by itself, and rounds otherwise than one after the other.
struct sum_of_sums : fanin::sum<double> {
  template <int Rows, int Columns>
  FANIN_FUNCTION void fold_batch(double& all, const fanin::tile_batch<Rows, Columns, double>& batch) const {
    double more = 0;
    for (int k = 0; k < Rows * Columns; ++k) more += batch.counts(k) ? batch.values[k] : 0;
    all += more;
  }
};

TEST(segments, prepared_ones_of_what_folds_several) {
  std::vector<std::int64_t> lengths{13'000, 235, 866, 328, 5'000, 1'029, 4'096};
  for (std::uint64_t k = 0; k < 3'000; ++k) {
    lengths.push_back(static_cast<std::int64_t>(k % 100 == 0 ? 130 + mix(k) % 900 : mix(k) % 12));
  }
  const std::vector<std::int64_t> offsets = offsets_of<std::int64_t>(lengths, 0);
  std::vector<double> x(static_cast<std::size_t>(offsets.back()));
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = static_cast<double>(mix(k)) * 0x1p-40;
  simulator::schedule how(1);
  how.multiprocessors = 1;
  simulator::begin(how);
  const fanin::cuda gpu;
  const auto rows = fanin::segments(gpu, offsets);
  std::vector<double> plain(lengths.size());
  std::vector<double> prepared(lengths.size());
  fanin::parallel_reduce_into(plain, rows, number_of_several{x.data(), 0}, sum_of_sums{});
  fanin::parallel_reduce_into(prepared, rows.prepared(), number_of_several{x.data(), 0}, sum_of_sums{});
  gpu.synchronize();
  EXPECT_EQ(prepared, plain);
}

/// Products behind the call that writes what they read, as early as they may start, and before one that reads theirs.
TEST(segments, prepared_ones_wait_for_the_call_before) {
  std::vector<std::int64_t> lengths{5'000, 700, 200, 0, 1};
  for (std::int64_t k = 0; k < 200; ++k) lengths.push_back(k % 20);
  const std::vector<std::int64_t> offsets = offsets_of<std::int64_t>(lengths, 0);
  for (std::uint64_t seed = 0; seed < simulator_test::count_of_seeds(30); ++seed) {
    simulator::schedule how(seed);
    how.multiprocessors = 1;
    simulator::begin(how);
    const fanin::cuda gpu;
    std::vector<double> written(static_cast<std::size_t>(offsets.back()));
    std::vector<double> sums(lengths.size());
    double all = 0;
    const auto ready = fanin::segments(gpu, offsets).prepared();
    const fanin::view<double, 1> backwards(written.data() + written.size() - 1, {offsets.back()}, {-1});
    for (const double value : {1., 2.}) {
      fanin::parallel_reduce_into(
          backwards, fanin::rows(gpu, offsets.back(), 1), [value](std::int64_t, std::int64_t) { return value; },
          fanin::sum<double>{});
      fanin::parallel_reduce_into(sums, ready, number_of_several{written.data(), 0}, fanin::sum<double>{});
      EXPECT_STREQ(gpu.last_launch().strategy, "prepared segments");
      EXPECT_EQ(gpu.last_launch().launches, 1);
      fanin::parallel_reduce_into(
          &all, fanin::range(gpu, std::ssize(sums)), [from = sums.data()](std::int64_t s) { return from[s]; },
          fanin::sum<double>{});
    }
    gpu.synchronize();
    EXPECT_EQ(all, 2 * static_cast<double>(offsets.back())) << "seed " << seed;
  }
}

/// Products in a graph that is instantiated twice, whose executions take turns with a call and with one over another
/// list, and have other elements each time. A list cannot be made while calls are captured, which go on being that.
TEST(segments, prepared_ones_of_a_graph_instantiated_twice) {
  const new_device drawn;
  const fanin::cuda gpu;
  std::vector<std::int64_t> lengths{5'000, 700, 9'000, 200, 0};
  for (std::int64_t k = 0; k < 40; ++k) lengths.push_back(k % 20);
  const std::vector<std::int64_t> offsets = offsets_of<std::int64_t>(lengths, 0);
  const std::vector<std::int64_t> others{0, 6'000, 6'001, 15'000};
  std::vector<double> x(15'700);
  std::vector<double> sums(lengths.size());
  std::vector<double> of_others(3);
  const auto rows = fanin::segments(gpu, offsets);
  const auto ready = rows.prepared();
  const auto other = fanin::segments(gpu, others).prepared();
  const number_of_several f{x.data(), 0};
  const auto reduce = [&] { fanin::parallel_reduce_into(sums, ready, f, fanin::sum<double>{}); };
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(gpu.stream(), cudaStreamCaptureModeGlobal), cudaSuccess);
  reduce();
  try {
    (void)rows.prepared();
    FAIL();
  } catch (const fanin::state_error& error) {
    EXPECT_STREQ(error.what(),
                 "fanin::segments: checked() and prepared() wait for what they find, which cannot be captured: call "
                 "them before the capture begins");
  }
  ASSERT_EQ(cudaStreamEndCapture(gpu.stream(), &graph), cudaSuccess);
  cudaGraphExec_t executables[2] = {};
  for (cudaGraphExec_t& one : executables) ASSERT_EQ(cudaGraphInstantiate(&one, graph, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  const auto expected = [&](const std::vector<std::int64_t>& of) {
    std::vector<double> all(of.size() - 1, 0);
    for (std::size_t s = 0; s < all.size(); ++s) {
      for (std::int64_t k = of[s]; k < of[s + 1]; ++k) all[s] += x[static_cast<std::size_t>(k)];
    }
    return all;
  };
  for (std::size_t round = 0; round < 6; ++round) {
    for (std::size_t k = 0; k < x.size(); ++k) x[k] = static_cast<double>(mix(k + round) % 4);
    sums.assign(sums.size(), -1);
    if (round % 3 == 2) {
      reduce();
    } else {
      ASSERT_EQ(cudaGraphLaunch(executables[round % 2], gpu.stream()), cudaSuccess);
    }
    fanin::parallel_reduce_into(of_others, other, f, fanin::sum<double>{});
    gpu.synchronize();
    ASSERT_EQ(sums, expected(offsets)) << "round " << round;
    ASSERT_EQ(of_others, expected(others)) << "round " << round;
  }
  for (const cudaGraphExec_t one : executables) ASSERT_EQ(cudaGraphExecDestroy(one), cudaSuccess);
}

/// One graph, instantiated twice, whose executions take turns with each other and with a call, and have other offsets
/// and elements each time: which segments are listed for the second launch changes.
TEST(segments, a_block_each_of_a_graph_instantiated_twice) {
  simulator::schedule how(11);
  how.multiprocessors = 1;
  simulator::begin(how);
  const fanin::cuda gpu;
  constexpr std::int64_t n = 40;
  constexpr std::int64_t elements = n * 4'000;
  std::vector<std::int64_t> offsets(n + 1, 0);
  std::vector<float> x(elements);
  std::vector<float> sums(n);
  const auto reduce = [&] { fanin::reduce_into(sums, gpu, fanin::segments(x, offsets), fanin::sum<float>{}); };
  reduce();  // makes room in the workspace
  gpu.synchronize();
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(gpu.stream(), cudaStreamCaptureModeGlobal), cudaSuccess);
  reduce();
  EXPECT_EQ(gpu.last_launch().launches, 2);
  ASSERT_EQ(cudaStreamEndCapture(gpu.stream(), &graph), cudaSuccess);
  cudaGraphExec_t executables[2] = {};
  for (cudaGraphExec_t& one : executables) ASSERT_EQ(cudaGraphInstantiate(&one, graph, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  for (std::size_t round = 0; round < 6; ++round) {
    constexpr std::int64_t more_than_a_piece = 25'000;
    for (std::size_t s = 1; s <= n; ++s) {
      offsets[s] = static_cast<std::int64_t>(mix(round * 100 + s) % (elements - more_than_a_piece));
    }
    std::sort(offsets.begin(), offsets.end());
    const std::size_t long_one = round * 7 % n;
    for (std::size_t s = long_one + 1; s <= n; ++s) offsets[s] += more_than_a_piece;
    for (std::size_t k = 0; k < x.size(); ++k) x[k] = static_cast<float>(mix(k + round) % 4);
    std::vector<float> expected(n, 0);
    for (std::size_t s = 0; s < n; ++s) {
      for (std::int64_t k = offsets[s]; k < offsets[s + 1]; ++k) expected[s] += x[static_cast<std::size_t>(k)];
    }
    if (round % 3 == 2) {
      reduce();
    } else {
      ASSERT_EQ(cudaGraphLaunch(executables[round % 2], gpu.stream()), cudaSuccess);
    }
    gpu.synchronize();
    ASSERT_EQ(sums, expected) << "round " << round;
  }
  for (const cudaGraphExec_t one : executables) ASSERT_EQ(cudaGraphExecDestroy(one), cudaSuccess);
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
  for (const std::int64_t length : {1, 2, 15, 16, 17, 20, 30, 31, 32, 33, 63, 64, 65, 127, 128, 129, 300}) {
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
  const fanin::detail::segments_functor<fanin::detail::contiguous_element<T>, std::int64_t> contiguous{
      offsets.data(), n, offsets.back(), {x.data()}};
  const auto c = fanin::detail::make_axes_composite<fanin::detail::axes_of<2, 1>>(
      fanin::detail::md_shape<1, fanin::iterate::right>{}, fanin::sum<T>{});
  for (const unsigned rows : {1u, 2u, 5u, 16u, 25u, 32u}) {
    const new_device drawn;
    const fanin::cuda gpu;
    const std::vector<T> got = reduce_with_room_for<false, T>(gpu, all, c, 1'000, rows);
    using fanin::detail::staged_gaps;
    const auto got_of_data = reduce_with_room_for<false, T, staged_gaps::none>(gpu, of_data, c, 1'000, rows);
    EXPECT_EQ((reduce_with_room_for<false, T, staged_gaps::behind_16>(gpu, contiguous, c, 1'000, rows)), got_of_data);
    for (std::size_t s = 0; s < lengths.size(); ++s) {
      if (lengths[s] > 4'096) continue;  // pieces
      EXPECT_EQ(got[s], expected[s]) << lengths[s] << " elements, segment " << s << ", " << rows << " a warp";
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

/// Of calls: many segments of an array, of one length but for the last one, which lie without gaps in memory of the
/// block or with some, whichever suits the length; of several reducers, one of which tells a place.
TEST(segments, of_one_length_in_calls) {
  using both = fanin::tuple<std::int64_t, fanin::value_index<std::int64_t>>;
  constexpr std::int64_t n = 3'000;  // so many that warps have several
  for (const std::int64_t length : {10, 15, 16, 17, 30, 33, 40, 64, 100}) {
    std::vector<std::int64_t> lengths(n, length);
    lengths.back() -= 1;
    const std::vector<std::int64_t> offsets = offsets_of<std::int64_t>(lengths, 0);
    std::vector<std::int64_t> x(static_cast<std::size_t>(offsets.back()));
    for (std::size_t k = 0; k < x.size(); ++k) x[k] = static_cast<std::int64_t>(mix(k) % 1'000'003);
    std::vector<both> got(n);
    const new_device drawn;
    const fanin::cuda gpu;
    fanin::reduce_into(std::span(got), gpu, fanin::segments(x, offsets), fanin::sum<std::int64_t>{},
                       fanin::min_loc<std::int64_t>{});
    gpu.synchronize();
    ASSERT_EQ(gpu.last_launch().launches, 2) << length;
    for (std::size_t s = 0; s < got.size(); ++s) {
      const auto begin = x.begin() + offsets[s];
      const auto end = x.begin() + offsets[s + 1];
      const auto least = std::min_element(begin, end);
      const both expected{std::accumulate(begin, end, std::int64_t{0}), {*least, least - x.begin()}};
      ASSERT_EQ(got[s], expected) << "segment " << s << " of " << length;
    }
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
  for (const unsigned rows : {1u, 2u, 5u, 16u, 25u, 32u}) {
    const new_device drawn;
    const std::vector<double> got = reduce_with_room_for(fanin::cuda{}, all, c, 1'000, rows);
    for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
      const std::int64_t begin = std::clamp<std::int64_t>(offsets[s], 0, size);
      const std::int64_t end = std::clamp<std::int64_t>(offsets[s + 1], begin, std::max(begin, size));
      EXPECT_EQ(got[s], sum_by_lanes(x.data() + begin, end - begin)) << "segment " << s;
    }
  }
}

}  // namespace
}  // namespace fanin_test
