// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <fanin/axes.hpp>
#include <fanin/cuda/cuda.hpp>
#include <fanin/parallel_reduce.hpp>
#include <fanin/range.hpp>
#include <fanin/reducers.hpp>

#include "simulator/seeds.hpp"
#include "support/functors.hpp"

/// What objects keep from call to call, on the simulated device: launch numbers near their end, workspace of graphs,
/// two streams.
namespace simulator_test {
namespace {

constexpr std::int64_t most = 3'000;

const std::vector<std::int64_t>& elements() {
  static const auto all = fanin_test::make_data<std::int64_t>(fanin_test::data::random_signed, most);
  return all;
}
std::int64_t sum_of(std::int64_t first, std::int64_t last) {
  std::uint64_t sum = 0;
  for (std::int64_t k = first; k < last; ++k)
    sum += static_cast<std::uint64_t>(elements()[static_cast<std::size_t>(k)]);
  return static_cast<std::int64_t>(sum);
}

/// One call to a part of the elements, and what it must give.
struct part {
  std::int64_t first;
  std::int64_t last;
  explicit part(choices& draw) {
    last = 1 + static_cast<std::int64_t>(draw.below(most));
    first = static_cast<std::int64_t>(draw.below(static_cast<std::size_t>(last)));
  }
  std::int64_t expected() const { return sum_of(first, last); }
  template <class View>
  void into(std::int64_t* out, const View& view) const {
    fanin::parallel_reduce_into(out, fanin::range(view, first, last), fanin_test::at<std::int64_t>{elements().data()},
                                fanin::sum<std::int64_t>{});
  }
  template <class View>
  std::int64_t blocking(const View& view) const {
    return fanin::parallel_reduce(fanin::range(view, first, last), fanin_test::at<std::int64_t>{elements().data()},
                                  fanin::sum<std::int64_t>{});
  }
};

auto with_grid(const fanin::cuda& gpu, int grid) {
  return gpu.with<fanin::cuda_strategy::one_pass>({.block_size = 32, .grid_size = grid});
}

std::string compare(const char* what, std::int64_t got, std::int64_t expected) {
  if (got == expected) return "";
  return std::string(what) + ": got " + std::to_string(got) + ", expected " + std::to_string(expected);
}

/// A large grid leaves units with the first numbers; then small ones up to the last number, and larger ones over it,
/// which take old units and such as nobody has written.
TEST(objects, launch_numbers_wrap) {
  for_each_seed(count_of_seeds(600), [&](std::uint64_t seed) {
    return run_seed(seed, [&](choices& draw, std::string&) -> std::string {
      const fanin::cuda gpu;
      std::vector<std::int64_t> out(12);
      std::vector<std::int64_t> expected;
      const auto call = [&](int grid) {
        const part one(draw);
        one.into(&out[expected.size()], with_grid(gpu, grid));
        expected.push_back(one.expected());
      };
      call(8);
      call(7);
      gpu.synchronize();
      const std::uint32_t near_the_end = 0x7fffffffU - static_cast<std::uint32_t>(draw.below(3)) - 1;
      std::memcpy(simulator::allocations().at(0).memory, &near_the_end, sizeof(near_the_end));
      for (int k = 0; k < 3; ++k) call(2);
      while (expected.size() < out.size()) call(12);
      gpu.synchronize();
      for (std::size_t k = 0; k < out.size(); ++k) {
        if (std::string wrong = compare("a call", out[k], expected[k]); !wrong.empty()) {
          return wrong + " at call " + std::to_string(k + 1);
        }
      }
      return "";
    });
  });
}

/// Numbers of several rows that follow from both indices.
struct in_rows {
  const std::int64_t* x;
  FANIN_FUNCTION std::int64_t operator()(std::int64_t i, std::int64_t j) const {
    return x[static_cast<std::size_t>((31 * i + j) % most)];
  }
};

/// Rows in pieces, of which several blocks of a launch wait for others, among flat calls that leave their units in the
/// same memory, and with launch numbers that wrap.
TEST(objects, rows_in_pieces) {
  for_each_seed(count_of_seeds(40), [&](std::uint64_t seed) {
    return run_seed(seed, [&](choices& draw, std::string&) -> std::string {
      simulator::schedule how(seed);
      how.multiprocessors = 24;  // so that there are pieces
      simulator::begin(how);
      const fanin::cuda gpu;
      using both = fanin::tuple<std::int64_t, std::int64_t>;
      constexpr std::size_t calls = 8;
      constexpr std::int64_t most_rows = 5;
      constexpr std::int64_t most_elements = 25'000;
      std::vector<both> of_rows(calls * most_rows, both{});
      std::vector<both> expected(of_rows);
      std::vector<std::int64_t> flat(calls);
      std::vector<std::int64_t> expected_flat(calls);
      for (std::size_t call = 0; call < calls; ++call) {
        if (call > 0 && draw.below(3) == 0) {
          const part one(draw);
          one.into(&flat[call], with_grid(gpu, 1 + static_cast<int>(draw.below(12))));
          expected_flat[call] = one.expected();
          continue;
        }
        // The first call is the largest, so that workspace stays where it is; a lone row is a flat one.
        const std::int64_t n = call == 0 ? most_rows : static_cast<std::int64_t>(2 + draw.below(most_rows - 1));
        const std::int64_t m = call == 0 ? most_elements : static_cast<std::int64_t>(16'385 + draw.below(8'000));
        fanin::parallel_reduce_into(&of_rows[call * most_rows], fanin::rows(gpu, n, m), in_rows{elements().data()},
                                    fanin::sum<std::int64_t>{}, fanin::max<std::int64_t>{});
        if (gpu.last_launch().grid_size <= n) return "not in pieces";
        for (std::int64_t i = 0; i < n; ++i) {
          both& row = expected[call * most_rows + static_cast<std::size_t>(i)];
          std::uint64_t sum = 0;
          std::int64_t most_of_row = elements()[0];
          for (std::int64_t j = 0; j < m; ++j) {
            const std::int64_t value = in_rows{elements().data()}(i, j);
            sum += static_cast<std::uint64_t>(value);
            most_of_row = std::max(most_of_row, value);
          }
          row = both{static_cast<std::int64_t>(sum), most_of_row};
        }
        if (call == 0) {
          gpu.synchronize();
          const std::uint32_t near_the_end = 0x7fffffffU - static_cast<std::uint32_t>(draw.below(2)) - 1;
          std::memcpy(simulator::allocations().at(0).memory, &near_the_end, sizeof(near_the_end));
        }
      }
      gpu.synchronize();
      for (std::size_t k = 0; k < calls; ++k) {
        if (std::string wrong = compare("a flat call", flat[k], expected_flat[k]); !wrong.empty()) return wrong;
      }
      for (std::size_t k = 0; k < of_rows.size(); ++k) {
        if (of_rows[k] != expected[k]) return "a row of call " + std::to_string(k / most_rows);
      }
      return "";
    });
  });
}

/// A graph of two nodes, replayed among other calls of the object.
TEST(objects, graphs) {
  for_each_seed(count_of_seeds(800), [&](std::uint64_t seed) {
    return run_seed(seed, [&](choices& draw, std::string&) -> std::string {
      const fanin::cuda gpu;
      const part first(draw);
      const part second(draw);
      std::int64_t out[2] = {};
      cudaGraph_t graph = nullptr;
      cudaGraphExec_t executable = nullptr;
      cudaStreamBeginCapture(gpu.stream(), cudaStreamCaptureModeGlobal);
      first.into(&out[0], with_grid(gpu, 3));
      second.into(&out[1], with_grid(gpu, 5));
      cudaStreamEndCapture(gpu.stream(), &graph);
      cudaGraphInstantiate(&executable, graph, 0);
      std::string wrong;
      for (int k = 0; k < 4; ++k) {
        const part other(draw);
        const int grid = draw.below(6) == 0 ? 165 + 30 * k : 4;  // workspace, which has room for 160, grows
        if (draw.below(2) == 0) {
          wrong += compare("beside a graph", other.blocking(with_grid(gpu, grid)), other.expected());
        }
        out[0] = out[1] = -1;
        cudaGraphLaunch(executable, gpu.stream());
        if (draw.below(2) == 0) wrong += compare("behind a graph", other.blocking(with_grid(gpu, 2)), other.expected());
        gpu.synchronize();
        wrong += compare("the first node", out[0], first.expected());
        wrong += compare("the second node", out[1], second.expected());
      }
      cudaGraphExecDestroy(executable);
      cudaGraphDestroy(graph);
      return wrong;
    });
  });
}

/// Calls of two objects, whose kernels run at once.
TEST(objects, two_streams) {
  for_each_seed(count_of_seeds(1'200), [&](std::uint64_t seed) {
    return run_seed(seed, [&](choices& draw, std::string&) -> std::string {
      const fanin::cuda objects[2];
      std::vector<std::int64_t> out(8);
      std::vector<std::int64_t> expected;
      for (std::size_t k = 0; k < out.size(); ++k) {
        const part one(draw);
        one.into(&out[k], with_grid(objects[draw.below(2)], 1 + static_cast<int>(draw.below(5))));
        expected.push_back(one.expected());
      }
      const part last(draw);
      std::string wrong = compare("blocking", last.blocking(with_grid(objects[draw.below(2)], 3)), last.expected());
      for (const fanin::cuda& gpu : objects) gpu.synchronize();
      for (std::size_t k = 0; k < out.size(); ++k) wrong += compare("into", out[k], expected[k]);
      return wrong;
    });
  });
}

}  // namespace
}  // namespace simulator_test
