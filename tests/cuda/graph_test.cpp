// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <fanin/axes.hpp>

#include "cuda/gpu_test.hpp"
#include "cuda/replay.hpp"
#include "support/user_reducers.hpp"

/// Reductions as nodes of CUDA graphs.
namespace fanin_test {
namespace {

using cuda_graphs = gpu_test;

/// x[i] = a different number for every index and round.
struct renew {
  std::int64_t* x;
  const std::int64_t* round;
  FANIN_FUNCTION void operator()(std::int64_t i) const {
    x[i] = static_cast<std::int64_t>(mix(static_cast<std::uint64_t>(i + *round)));
  }
};

/// Two reductions of the same launch that run side by side: forked from one stream to two, and joined.
cudaGraph_t capture_two(cudaStream_t stream, fanin::cuda& a, fanin::cuda& b, const std::span<const std::int64_t>& x,
                        std::int64_t* total, fanin::value_index<std::int64_t>* least) {
  const test_event forked;
  const test_event first_done;
  const test_event second_done;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  check(cudaEventRecord(forked.get(), stream));
  check(cudaStreamWaitEvent(a.stream(), forked.get(), 0));
  check(cudaStreamWaitEvent(b.stream(), forked.get(), 0));
  fanin::reduce_into(total, a, x, int64_sum);
  fanin::reduce_into(least, b, x, fanin::min_loc<std::int64_t>{});
  check(cudaEventRecord(first_done.get(), a.stream()));
  check(cudaEventRecord(second_done.get(), b.stream()));
  check(cudaStreamWaitEvent(stream, first_done.get(), 0));
  check(cudaStreamWaitEvent(stream, second_done.get(), 0));
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(stream, &graph));
  return graph;
}

/// What a replay with this round's numbers must give.
struct expected_of_round {
  std::int64_t total;
  fanin::value_index<std::int64_t> least;
};

expected_of_round expect_round(std::int64_t round, std::size_t n) {
  std::vector<std::int64_t> x(n);
  renew write{x.data(), &round};
  for (std::size_t i = 0; i < n; ++i) write(static_cast<std::int64_t>(i));
  return {fanin::reduce(fanin::serial{}, x, int64_sum),
          fanin::reduce(fanin::serial{}, x, fanin::min_loc<std::int64_t>{})};
}

/// Another number for every row, index and round, whose sums are known.
struct in_row_of_round {
  const std::int64_t* round;
  FANIN_FUNCTION std::int64_t operator()(std::int64_t i, std::int64_t j) const { return *round * (i + 1) + j; }
};
struct number_of_round {
  const std::int64_t* round;
  FANIN_FUNCTION std::int64_t operator()(std::int64_t j) const { return *round + j; }
};

/// Long rows whose blocks wait for each other, up to 128 of them and more, beside flat sums that leave their units in
/// the same memory: replayed, and called in between.
TEST_F(cuda_graphs, rows_in_pieces_among_flat_sums) {
  constexpr std::int64_t shapes[][2] = {{2, 1'100'000}, {16, 65'537}, {5, 20'001}};
  constexpr std::int64_t most_rows = 16;
  constexpr std::int64_t of_flat = 70'000;
  fanin::cuda gpu;
  fanin::buffer<std::int64_t, fanin::cuda> round(gpu, 1);
  fanin::buffer<std::int64_t, fanin::cuda> of_rows(gpu, 3 * most_rows);
  fanin::buffer<std::int64_t, fanin::cuda> flat(gpu, 3);
  const in_row_of_round f{round.data()};
  const auto enqueue = [&] {
    for (std::int64_t k = 0; k < 3; ++k) {
      const auto [n, m] = shapes[k];
      fanin::parallel_reduce_into(of_rows.data() + k * most_rows, fanin::rows(gpu, n, m), f, int64_sum);
      EXPECT_GT(gpu.last_launch().grid_size, n);
      fanin::parallel_reduce_into(flat.data() + k, fanin::range(gpu, of_flat + k), number_of_round{round.data()},
                                  int64_sum);
    }
  };
  check(cudaStreamBeginCapture(gpu.stream(), cudaStreamCaptureModeGlobal));
  enqueue();
  enqueue();
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(gpu.stream(), &graph));
  replay replayed(graph);
  std::vector<std::int64_t> got(3 * most_rows);
  std::vector<std::int64_t> got_flat(3);
  for (std::int64_t at = 0; at < 60; ++at) {
    round.copy_from(std::vector{at * at + 1});
    if (at % 3 == 0) {
      enqueue();
    } else {
      replayed.launch(gpu.stream());
    }
    of_rows.copy_to(got);
    flat.copy_to(got_flat);
    for (std::int64_t k = 0; k < 3; ++k) {
      const auto [n, m] = shapes[k];
      for (std::int64_t i = 0; i < n; ++i) {
        ASSERT_EQ(got[static_cast<std::size_t>(k * most_rows + i)], (at * at + 1) * (i + 1) * m + m * (m - 1) / 2);
      }
      const std::int64_t count = of_flat + k;
      ASSERT_EQ(got_flat[static_cast<std::size_t>(k)], (at * at + 1) * count + count * (count - 1) / 2);
    }
  }
}

/// A thousand replays with other numbers each, every result checked; the objects that captured are gone by then.
TEST_F(cuda_graphs, two_parallel_nodes_replayed_a_thousand_times) {
  const std::size_t n = 60'001;
  fanin::cuda gpu;
  fanin::buffer<std::int64_t, fanin::cuda> x(gpu, n);
  destination<std::int64_t, fanin::cuda> total(gpu);
  destination<fanin::value_index<std::int64_t>, fanin::cuda> least(gpu);
  fanin::buffer<std::int64_t, fanin::cuda> round_there(gpu, 1);
  std::unique_ptr<replay> graph;
  {
    fanin::cuda a;
    fanin::cuda b;
    graph = std::make_unique<replay>(
        capture_two(gpu.stream(), a, b, std::as_const(x).span(), total.pointer(), least.pointer()));
    EXPECT_STREQ(a.last_launch().strategy, "one_pass");
    EXPECT_GT(a.last_launch().grid_size, 1) << "one block alone would use no workspace";
    EXPECT_GT(b.last_launch().grid_size, 1);
  }
  for (std::int64_t round = 0; round < 1'000; ++round) {
    round_there.copy_from(std::vector<std::int64_t>{round * 77'777});
    fanin::parallel_for(fanin::range(gpu, n), renew{x.data(), round_there.data()});
    graph->launch(gpu.stream());
    // A blocking call of the same object between replays has workspace of its own.
    if (round % 100 == 0) fanin::reduce(gpu, x, int64_sum);
    const auto expected = expect_round(round * 77'777, n);
    ASSERT_EQ(total.get(), expected.total) << "round " << round;
    ASSERT_TRUE(is_same(least.get(), expected.least)) << "round " << round;
  }
}

/// Replays queued without a wait between, of two graphs on two streams at once.
TEST_F(cuda_graphs, two_graphs_at_once) {
  const std::size_t n = 500'001;
  fanin::cuda first;
  fanin::cuda second;
  placed<std::int64_t, fanin::cuda> x(first, make_data<std::int64_t>(data::random_signed, n));
  placed<std::int64_t, fanin::cuda> y(second, make_data<std::int64_t>(data::pairs, n));
  destination<std::int64_t, fanin::cuda> total_x(first);
  destination<std::int64_t, fanin::cuda> total_y(second);
  destination<fanin::value_index<std::int64_t>, fanin::cuda> least_x(first);
  destination<fanin::value_index<std::int64_t>, fanin::cuda> least_y(second);
  fanin::cuda a;
  fanin::cuda b;
  replay graph_x(capture_two(first.stream(), a, b, x.span(), total_x.pointer(), least_x.pointer()));
  replay graph_y(capture_two(second.stream(), a, b, y.span(), total_y.pointer(), least_y.pointer()));
  for (int round = 0; round < 200; ++round) {
    graph_x.launch(first.stream());
    graph_y.launch(second.stream());
  }
  EXPECT_EQ(total_x.get(), fanin::reduce(fanin::serial{}, x.host(), int64_sum));
  EXPECT_EQ(total_y.get(), fanin::reduce(fanin::serial{}, y.host(), int64_sum));
  EXPECT_TRUE(is_same(least_x.get(), fanin::reduce(fanin::serial{}, x.host(), fanin::min_loc<std::int64_t>{})));
  EXPECT_TRUE(is_same(least_y.get(), fanin::reduce(fanin::serial{}, y.host(), fanin::min_loc<std::int64_t>{})));
}

/// One executable, and for each round a graph that is captured anew: of another array, length and destination.
TEST_F(cuda_graphs, an_executable_takes_what_is_captured_anew) {
  constexpr std::size_t rounds = 100;
  const std::size_t n = 500'001;
  fanin::cuda gpu;
  placed<std::int64_t, fanin::cuda> x(gpu, make_data<std::int64_t>(data::random_signed, n));
  fanin::buffer<std::int64_t, fanin::cuda> sums(gpu, rounds);
  const auto part = [&](std::size_t round) { return std::pair{round % 7, n >> round % 12}; };
  const auto capture = [&](std::size_t round) {
    const auto [first, last] = part(round);
    check(cudaStreamBeginCapture(gpu.stream(), cudaStreamCaptureModeGlobal));
    fanin::reduce_into(sums.data() + round, gpu, x.span().subspan(first, last - first), int64_sum);
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(gpu.stream(), &graph));
    return graph;
  };
  replay one(capture(0));
  one.launch(gpu.stream());
  for (std::size_t round = 1; round < rounds; ++round) {
    one.update(capture(round));
    one.launch(gpu.stream());
  }
  std::vector<std::int64_t> got(rounds);
  sums.copy_to(got);
  const std::vector<std::int64_t> host = x.host();
  for (std::size_t round = 0; round < rounds; ++round) {
    const auto [first, last] = part(round);
    const std::span<const std::int64_t> elements(host);
    ASSERT_EQ(got[round], fanin::reduce(fanin::serial{}, elements.subspan(first, last - first), int64_sum))
        << "round " << round;
  }
}

/// Functors, user reducers of every size, several reducers, parallel_for and nothing at all, one after the other.
TEST_F(cuda_graphs, every_kind_of_call) {
  const std::size_t n = 30'001;
  fanin::cuda gpu;
  const auto host = make_data<std::uint32_t>(data::random_signed, n);
  placed<std::uint32_t, fanin::cuda> x(gpu, host);
  destination<std::int64_t, fanin::cuda> indices(gpu);
  destination<std::uint64_t, fanin::cuda> wide(gpu);
  destination<histogram::summary, fanin::cuda> counts(gpu);
  destination<fanin::tuple<std::uint32_t, std::uint32_t>, fanin::cuda> both(gpu);
  destination<std::uint32_t, fanin::cuda> none(gpu);
  const auto stream = gpu.stream();
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  fanin::parallel_reduce_into(indices.pointer(), fanin::range(gpu, n), index_itself{}, int64_sum);
  fanin::reduce_into(wide.pointer(), gpu, x.span(), wide_counts{});
  fanin::reduce_into(counts.pointer(), gpu, x.span(), histogram{});
  fanin::reduce_into(both.pointer(), gpu, x.span(), fanin::min<std::uint32_t>{}, fanin::max<std::uint32_t>{});
  fanin::reduce_into(none.pointer(), gpu, x.span().first(0), fanin::sum<std::uint32_t>{});
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(stream, &graph));
  replay all(graph);
  for (int round = 0; round < 20; ++round) all.launch(stream);
  EXPECT_EQ(indices.get(), static_cast<std::int64_t>(n * (n - 1) / 2));
  EXPECT_EQ(wide.get(), fanin::reduce(fanin::serial{}, host, wide_counts{}));
  EXPECT_EQ(counts.get(), fanin::reduce(fanin::serial{}, host, histogram{}));
  EXPECT_TRUE(is_same(both.get(),
                      fanin::reduce(fanin::serial{}, host, fanin::min<std::uint32_t>{}, fanin::max<std::uint32_t>{})));
  EXPECT_EQ(none.get(), 0U);
}

}  // namespace
}  // namespace fanin_test
