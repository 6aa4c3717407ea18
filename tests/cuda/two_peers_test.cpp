// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <barrier>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fanin/nccl/over.hpp>
#include <fanin/pending.hpp>

#include "cuda/gpu_test.hpp"
#include "support/in_threads.hpp"

/// Two ranks of a communicator on one GPU, threads of this process with a stream each, whose memory is two pieces of
/// plain device memory (../mpi/nccl/nccl_by_threads.cpp): their kernels hand over to each other as over NVLink.
///
/// Grids that wait for each other on one GPU must both have room. Of a grid the last block alone waits for the other
/// peer, behind all others of its own, so that a launch holds up one block's room. But the launch behind it in its
/// stream, where that starts early, has blocks that wait for it, too; so large grids have the early start off here,
/// which on a GPU a rank, as NCCL has it, they need not.
///
/// What allocates or frees may wait for the device, and so for a kernel that waits for a peer whose thread it is: each
/// peer first makes all calls over a communicator of one rank, which gives the bits of its own part, too.
namespace fanin_test {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;
using object = decltype(std::declval<const fanin::cuda&>().with<>());

/// Of one magnitude: each order of additions rounds otherwise.
struct value_of_index {
  FANIN_FUNCTION double operator()(std::int64_t i) const {
    return static_cast<double>(mix(static_cast<std::uint64_t>(i)) >> 11) * 0x1p-53 - 0.5;
  }
};

/// A reducer of one's own.
struct mean {
  struct sums {
    double sum;
    std::int64_t count;
  };
  using value_type = double;
  using accumulator_type = sums;
  using result_type = double;
  FANIN_FUNCTION sums identity() const { return {}; }
  FANIN_FUNCTION void fold(sums& acc, double value, std::int64_t) const {
    acc.sum += value < 0 ? -1 : 2;  // whole numbers: any order
    ++acc.count;
  }
  FANIN_FUNCTION void join(sums& into, const sums& from) const {
    into.sum += from.sum;
    into.count += from.count;
  }
  FANIN_FUNCTION double result(const sums& acc) const {
    return acc.count == 0 ? 0 : acc.sum / static_cast<double>(acc.count);
  }
};

struct wait_for_device_word {
  volatile int* word;
  int* came;
  FANIN_FUNCTION void operator()(std::int64_t) const {
    const std::uint64_t begin = fanin::detail::nanoseconds_now();
    while (*word == 0 && fanin::detail::nanoseconds_now() - begin < 2'000'000'000) continue;
    *came = *word;
  }
};
struct set_word {
  volatile int* word;
  FANIN_FUNCTION void operator()(std::int64_t) const { *word = 1; }
};
/// Whether what waits in one stream and what it waits for in another run at the same time: under a tool perhaps not.
bool streams_run_side_by_side() {
  const fanin::cuda first;
  const fanin::cuda second;
  const std::vector<int> none{0, 0};
  fanin::buffer<int, fanin::cuda> words(first, std::span<const int>(none));
  fanin::parallel_for(fanin::range(first, 1), wait_for_device_word{words.data(), words.data() + 1});
  fanin::parallel_for(fanin::range(second, 1), set_word{words.data()});
  second.synchronize();
  std::vector<int> got(2);
  words.copy_to(std::span<int>(got));
  return got[1] == 1;
}

bool is_slow() { return std::getenv("FANIN_TEST_FEW_SIZES") != nullptr; }

struct part {
  std::int64_t begin;
  std::int64_t end;
};
/// Of n: a third for the first.
part part_of(int rank, std::int64_t n) { return rank == 0 ? part{0, n / 3} : part{n / 3, n}; }

class cuda_two_peers : public gpu_test {
 protected:
  /// One of the two: what a rank has.
  class peer {
   public:
    peer(int number, const fanin::nccl_id& id, const fanin::nccl_options& options, std::barrier<>& meeting)
        : rank{number}, both(id, number, 2, options), alone(own_id(), 0, 1, of_one(options)), meeting_{meeting} {}
    void meet() const { meeting_.arrive_and_wait(); }
    object with(fanin::cuda_early_start early) const { return gpu.with<>({.early_start = early}); }

    int rank;
    fanin::cuda gpu;
    fanin::nccl both;
    fanin::nccl alone;

   private:
    static fanin::nccl_id own_id() { return fanin::nccl::make_id(); }
    static fanin::nccl_options of_one(fanin::nccl_options options) {
      options.exchanges_alone = true;
      return options;
    }
    std::barrier<>& meeting_;
  };

  void SetUp() override {
    gpu_test::SetUp();
    if (IsSkipped()) return;
    if (!streams_run_side_by_side()) GTEST_SKIP() << "kernels of two streams do not run at the same time here";
  }

  template <class Body>
  static void on_both(const Body& body, const fanin::nccl_options& options = {.patience = 1min}) {
    const fanin::nccl_id id = fanin::nccl::make_id();
    std::barrier<> meeting(2);
    in_threads(2, [&](int rank) {
      try {
        peer one(rank, id, options, meeting);
        if (!one.both.is_one_launch() || !one.alone.is_one_launch()) throw fanin::error("calls are not one launch");
        one.meet();
        body(one);
        one.gpu.synchronize();
        one.meet();  // nothing is freed before
      } catch (...) {
        meeting.arrive_and_drop();  // nobody waits for it
        throw;
      }
    });
  }
  static void expect_same(double got, double expected) {
    EXPECT_EQ(std::bit_cast<std::uint64_t>(got), std::bit_cast<std::uint64_t>(expected)) << got << ", " << expected;
  }
};

template <class T>
T value_at(const fanin::buffer<T, fanin::cuda>& from, std::size_t k = 0) {
  std::vector<T> all(static_cast<std::size_t>(from.size()));
  from.copy_to(std::span<T>(all));
  return all[k];
}

/// What a call of several reducers gives, the serial backend's, of the whole.
auto several(const auto& range) {
  return fanin::parallel_reduce(range, value_of_index{}, fanin::exact_sum<double>{}, fanin::min_loc<double>{}, mean{});
}

TEST_F(cuda_two_peers, all_forms_have_the_bits_of_both_parts) {
  const std::vector<std::int64_t> sizes = is_slow()
                                              ? std::vector<std::int64_t>{0, 1, 1'000}
                                              : std::vector<std::int64_t>{0, 1, 2, 1'000, 65'539, 1 << 20, 5'000'011};
  std::vector<decltype(several(fanin::range(fanin::serial{}, 0)))> whole;
  for (const std::int64_t n : sizes) whole.push_back(several(fanin::range(fanin::serial{}, n)));
  std::vector<double> own[2];
  on_both([&](const peer& one) {
    const object gpu = one.with(fanin::cuda_early_start::off);
    fanin::buffer<double, fanin::cuda> out(one.gpu, 1);
    const auto calls = [&](const fanin::nccl& comm, std::size_t size, const auto& look) {
      const part mine = part_of(one.rank, sizes[size]);
      const auto range = fanin::over(comm, fanin::range(gpu, mine.begin, mine.end));
      const fanin::sum<double> sum;
      auto later = fanin::parallel_reduce_async(range, value_of_index{}, sum);
      fanin::parallel_reduce_into(out.data(), range, value_of_index{}, sum);
      look(fanin::parallel_reduce(range, value_of_index{}, sum), later.get(), value_at(out), several(range));
    };
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      calls(one.alone, k, [&](double now, double then, double into, const auto&) {
        own[one.rank].push_back(now);
        expect_same(then, now);
        expect_same(into, now);
      });
    }
    one.meet();
    for (int round = 0; round < 3; ++round) {
      for (std::size_t k = 0; k < sizes.size(); ++k) {
        SCOPED_TRACE(std::to_string(sizes[k]) + " elements");
        calls(one.both, k, [&](double now, double then, double into, const auto& all) {
          const double expected = own[0][k] + own[1][k];
          expect_same(now, expected);
          expect_same(then, expected);
          expect_same(into, expected);
          EXPECT_TRUE(all == whole[k]);
        });
      }
    }
  });
}

/// Chains of nodes, replayed over data that change.
TEST_F(cuda_two_peers, replayed_graphs) {
  struct shape {
    std::int64_t n;
    fanin::cuda_early_start early;
  };
  const std::vector<shape> shapes = is_slow() ? std::vector<shape>{{700, fanin::cuda_early_start::automatic}}
                                              : std::vector<shape>{{700, fanin::cuda_early_start::automatic},
                                                                   {65'536, fanin::cuda_early_start::automatic},
                                                                   {1 << 20, fanin::cuda_early_start::off}};
  constexpr int nodes = 20;
  constexpr int rounds = 5;
  for (const shape& of : shapes) {
    SCOPED_TRACE(std::to_string(of.n) + " elements");
    const auto n = static_cast<std::size_t>(of.n);
    std::vector<double> host[2];
    for (int rank = 0; rank < 2; ++rank) {
      for (std::int64_t i = 0; i < of.n; ++i) host[rank].push_back(value_of_index{}(rank * of.n + i));
    }
    double own[2][rounds];
    on_both([&](const peer& one) {
      using place = decltype(fanin::reduce(fanin::serial{}, host[0], fanin::min_loc<double>{}));
      const object gpu = one.with(of.early);
      std::vector<double> elements = host[one.rank];
      fanin::buffer<double, fanin::cuda> data(one.gpu, std::span<const double>(elements));
      const std::span<const double> mine(data.data(), n);
      fanin::buffer<double, fanin::cuda> sums(one.gpu, nodes);
      fanin::buffer<double, fanin::cuda> exact(one.gpu, nodes);
      fanin::buffer<place, fanin::cuda> least(one.gpu, nodes);
      const auto make = [&](const fanin::nccl& comm) {
        const auto all = fanin::over(comm, mine, one.rank * of.n);
        cudaGraph_t graph = nullptr;
        cudaGraphExec_t executable = nullptr;
        check(cudaStreamBeginCapture(one.gpu.stream(), cudaStreamCaptureModeThreadLocal));
        for (int k = 0; k < nodes; ++k) {
          fanin::reduce_into(sums.data() + k, gpu, all, fanin::sum<double>{});
          fanin::reduce_into(exact.data() + k, gpu, all, fanin::exact_sum<double>{});
          fanin::reduce_into(least.data() + k, gpu, all, fanin::min_loc<double>{});
        }
        check(cudaStreamEndCapture(one.gpu.stream(), &graph));
        check(cudaGraphInstantiate(&executable, graph, 0));
        check(cudaGraphUpload(executable, one.gpu.stream()));
        check(cudaGraphDestroy(graph));
        return executable;
      };
      const auto change = [&](int round) {
        elements[n / 2] = -1 - round;
        data.copy_from(std::span<const double>(elements));
      };
      const cudaGraphExec_t alone = make(one.alone);
      const cudaGraphExec_t both = make(one.both);
      for (int round = 0; round < rounds; ++round) {
        change(round);
        check(cudaGraphLaunch(alone, one.gpu.stream()));
        own[one.rank][round] = value_at(sums);
      }
      one.meet();
      for (int round = 0; round < rounds; ++round) {
        change(round);
        check(cudaGraphLaunch(both, one.gpu.stream()));
        std::vector<double> all = host[0];
        all.insert(all.end(), host[1].begin(), host[1].end());
        all[n / 2] = all[n + n / 2] = -1 - round;
        const double exactly = fanin::reduce(fanin::serial{}, all, fanin::exact_sum<double>{});
        const place at = fanin::reduce(fanin::serial{}, all, fanin::min_loc<double>{});
        one.gpu.synchronize();
        for (std::size_t k = 0; k < nodes; ++k) {
          expect_same(value_at(sums, k), own[0][round] + own[1][round]);
          expect_same(value_at(exact, k), exactly);
          EXPECT_TRUE(value_at(least, k) == at);
        }
      }
      one.both.check();
      one.meet();
      check(cudaGraphExecDestroy(alone));
      check(cudaGraphExecDestroy(both));
    });
  }
}

TEST_F(cuda_two_peers, one_that_is_late_is_waited_for) {
  constexpr std::int64_t n = 1'000;
  const auto expected = several(fanin::range(fanin::serial{}, n));
  on_both([&](const peer& one) {
    const object gpu = one.with(fanin::cuda_early_start::automatic);
    const part mine = part_of(one.rank, n);
    const auto call = [&](const fanin::nccl& comm) {
      return fanin::parallel_reduce_async(fanin::over(comm, fanin::range(gpu, mine.begin, mine.end)), value_of_index{},
                                          fanin::exact_sum<double>{}, fanin::min_loc<double>{}, mean{});
    };
    (void)call(one.alone).get();
    for (int late = 0; late < 2; ++late) {
      one.meet();
      const auto begin = clock::now();
      if (one.rank == late) std::this_thread::sleep_for(300ms);
      auto later = call(one.both);
      if (one.rank != late) {
        std::this_thread::sleep_for(100ms);
        if (clock::now() - begin < 250ms) EXPECT_FALSE(later.ready());
      }
      EXPECT_TRUE(later.get() == expected);
      EXPECT_GE(clock::now() - begin, 290ms);
    }
  });
}

/// All forms end, and the GPU works on.
TEST_F(cuda_two_peers, one_that_does_not_come_is_given_up) {
  constexpr std::int64_t n = 1'000;
  const fanin::nccl_options options{.patience = is_slow() ? 2s : 300ms};
  for (const bool into : {false, true}) {
    on_both(
        [&](const peer& one) {
          const std::vector<double> before{7};
          fanin::buffer<double, fanin::cuda> out(one.gpu, std::span<const double>(before));
          const auto range = [&](const fanin::nccl& comm) { return fanin::over(comm, fanin::range(one.gpu, n)); };
          const fanin::sum<double> sum;
          fanin::parallel_reduce_into(out.data(), range(one.alone), value_of_index{}, sum);
          const double own = fanin::parallel_reduce(range(one.alone), value_of_index{}, sum);
          out.copy_from(std::span<const double>(before));
          one.meet();
          expect_same(fanin::parallel_reduce(range(one.both), value_of_index{}, sum), own + own);
          one.meet();
          if (one.rank == 1) {
            one.meet();
            return;
          }
          const auto begin = clock::now();
          if (into) {
            for (int k = 0; k < 20; ++k) {
              fanin::parallel_reduce_into(out.data(), range(one.both), value_of_index{}, sum);
            }
            one.gpu.synchronize();
            EXPECT_EQ(value_at(out), 7);
            EXPECT_THROW(one.both.check(), fanin::nccl_error);
          } else {
            EXPECT_THROW((void)fanin::parallel_reduce(range(one.both), value_of_index{}, sum), fanin::nccl_error);
          }
          const auto waited = clock::now() - begin;
          EXPECT_GE(waited, options.patience);
          EXPECT_LT(waited, options.patience + 2s);  // the first waits, no other one
          EXPECT_THROW((void)fanin::parallel_reduce(range(one.both), value_of_index{}, sum), fanin::state_error);
          expect_same(fanin::parallel_reduce(range(one.alone), value_of_index{}, sum), own);
          one.meet();
        },
        options);
  }
}

TEST_F(cuda_two_peers, a_part_that_fails_is_told_to_the_other) {
  on_both([&](const peer& one) {
    const std::vector<double> elements{1, 2, 3};
    const fanin::buffer<double, fanin::cuda> data(one.gpu, std::span<const double>(elements));
    const auto call = [&](const fanin::nccl& comm, const double* from) {
      return fanin::reduce(one.gpu, fanin::over(comm, std::span<const double>(from, 3)), fanin::exact_sum<double>{});
    };
    EXPECT_EQ(call(one.alone, data.data()), 6);
    EXPECT_THROW((void)call(one.alone, nullptr), fanin::invalid_argument);
    for (int round = 0; round < 6; ++round) {
      one.meet();
      if (round % 3 == 2) {
        EXPECT_EQ(call(one.both, data.data()), 12);
      } else if (round % 3 == one.rank) {
        EXPECT_THROW((void)call(one.both, nullptr), fanin::invalid_argument);
      } else {
        EXPECT_THROW((void)call(one.both, data.data()), fanin::rank_error);
      }
    }
  });
}

/// Each rank calls over one first that the other calls over last: none waits for its turn in a stream. Launches that
/// begin early would take the room of those that are waited for.
TEST_F(cuda_two_peers, two_communicators_in_streams_of_their_own) {
  const std::int64_t n = is_slow() ? 1'000 : 70'000;
  const int rounds = is_slow() ? 6 : 300;
  const fanin::nccl_options options{.patience = 1min};
  const fanin::nccl_id id = fanin::nccl::make_id();
  double own[2];
  on_both(
      [&](const peer& one) {
        const fanin::nccl other(id, one.rank, 2, options);
        const fanin::cuda aside;
        const object gpu[] = {one.with(fanin::cuda_early_start::off),
                              aside.with<>({.early_start = fanin::cuda_early_start::off})};
        fanin::buffer<double, fanin::cuda> sum(one.gpu, 2);
        fanin::buffer<double, fanin::cuda> exact(one.gpu, 2);
        const std::vector<double> none(2);
        const part mine = part_of(one.rank, n);
        const auto call = [&](int k, const fanin::nccl& comm) {
          const auto range = fanin::over(comm, fanin::range(gpu[k], mine.begin, mine.end));
          fanin::parallel_reduce_into(sum.data() + k, range, value_of_index{}, fanin::sum<double>{});
          fanin::parallel_reduce_into(exact.data() + k, range, value_of_index{}, fanin::exact_sum<double>{});
        };
        for (int k = 0; k < 2; ++k) call(k, one.alone);
        aside.synchronize();
        own[one.rank] = value_at(sum);
        const double exactly =
            fanin::parallel_reduce(fanin::range(fanin::serial{}, n), value_of_index{}, fanin::exact_sum<double>{});
        one.meet();
        for (int round = 0; round < rounds; ++round) {
          for (int turn = 0; turn < 2; ++turn) {
            const int k = (turn + round + one.rank) % 2;
            call(k, k == 0 ? one.both : other);
          }
          if (round % 3 != 2) continue;  // some are under way
          one.gpu.synchronize();
          aside.synchronize();
          for (std::size_t k = 0; k < 2; ++k) {
            expect_same(value_at(sum, k), own[0] + own[1]);
            expect_same(value_at(exact, k), exactly);
          }
          sum.copy_from(std::span<const double>(none));  // what is not written the next time is seen
          exact.copy_from(std::span<const double>(none));
        }
        one.gpu.synchronize();
        aside.synchronize();
        one.both.check();
        other.check();
        one.meet();
      },
      options);
}

/// Sizes, parts and forms drawn; neither waits for the other but in its calls. More rounds where the environment says
/// so.
TEST_F(cuda_two_peers, many_rounds) {
  constexpr std::int64_t most = 20'000;
  const char* const asked = std::getenv("FANIN_RANKS_ROUNDS");
  const std::uint64_t rounds = asked != nullptr ? std::strtoull(asked, nullptr, 10) : is_slow() ? 20 : 1'000;
  using result = decltype(several(fanin::range(fanin::serial{}, 0)));
  on_both([&](const peer& one) {
    const object gpu = one.with(fanin::cuda_early_start::automatic);
    fanin::buffer<result, fanin::cuda> out(one.gpu, 1);
    const auto call = [&](const fanin::nccl& comm, const part& mine, std::uint64_t form) {
      const auto range = fanin::over(comm, fanin::range(gpu, mine.begin, mine.end));
      if (form == 0) return several(range);
      if (form == 1) {
        fanin::parallel_reduce_into(out.data(), range, value_of_index{}, fanin::exact_sum<double>{},
                                    fanin::min_loc<double>{}, mean{});
        return value_at(out);
      }
      return fanin::parallel_reduce_async(range, value_of_index{}, fanin::exact_sum<double>{}, fanin::min_loc<double>{},
                                          mean{})
          .get();
    };
    for (const std::int64_t n : {std::int64_t{0}, std::int64_t{300}, most}) {
      for (std::uint64_t form = 0; form < 3; ++form) (void)call(one.alone, {0, n}, form);
    }
    one.meet();
    for (std::uint64_t round = 0; round < rounds; ++round) {
      const std::uint64_t draw = mix(round + 977);
      const auto n = static_cast<std::int64_t>(draw % (draw / 7 % 8 == 0 ? most : 300));
      const auto middle = static_cast<std::int64_t>(draw / 1'000 % static_cast<std::uint64_t>(n + 1));
      const part mine = one.rank == 0 ? part{0, middle} : part{middle, n};
      const result expected = several(fanin::range(fanin::serial{}, n));
      ASSERT_TRUE(call(one.both, mine, draw / 100 % 3) == expected) << round;
    }
    one.both.check();
  });
}

}  // namespace
}  // namespace fanin_test

/// Code is on the device from the start, as it comes there when nothing runs; and as many streams are apart as can be.
int main(int argc, char** argv) {
  setenv("CUDA_MODULE_LOADING", "EAGER", 1);
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 1);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
