// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include <fanin/cuda/cuda.hpp>
#include <fanin/exact_sum.hpp>
#include <fanin/nccl/over.hpp>
#include <fanin/parallel_reduce.hpp>
#include <fanin/range.hpp>
#include <fanin/reducers.hpp>
#include <fanin/serial/serial.hpp>

#include "simulator/machine.hpp"
#include "simulator/seeds.hpp"

/// How two ranks hand over to each other within their launches, which are grids of one device in a stream each.
namespace simulator_test {
namespace {

namespace detail = fanin::detail;
constexpr int ranks = 2;

/// What two ranks have, on a new device.
class two_peers {
 public:
  /// `first` is the number of the call before the first.
  explicit two_peers(std::uint32_t first) {
    simulator::peers_share_the_device = true;
    constexpr std::size_t bytes = detail::nccl_peers::bytes(ranks);
    auto* const memory = static_cast<unsigned char*>(cleared(ranks * bytes));
    for (int rank = 0; rank < ranks; ++rank) {
      auto* const control = static_cast<std::uint32_t*>(cleared(16));
      control[0] = first;
      of_[rank] = {memory, std::ptrdiff_t{bytes}, control, std::uint64_t{3'600'000'000'000}, rank, ranks};
    }
  }
  two_peers(const two_peers&) = delete;
  two_peers& operator=(const two_peers&) = delete;
  ~two_peers() { simulator::peers_share_the_device = false; }
  const detail::nccl_peers& of(int rank) const { return of_[rank]; }

 private:
  static void* cleared(std::size_t bytes) {
    void* const memory = simulator::allocate(bytes);
    std::memset(memory, 0, bytes);
    return memory;
  }
  detail::nccl_peers of_[ranks];
};

// --- Every order

template <int Units>
struct message {
  static constexpr int most_units = Units;
  static constexpr int units_at_once = Units;
  static constexpr bool is_short = Units <= 2;
  static constexpr int units_of(std::uint32_t) { return Units; }
  std::uint32_t word[3 * Units];

  static message of(int rank, int call) {
    message made{};
    for (int k = 0; k < 3 * Units; ++k) made.word[k] = static_cast<std::uint32_t>(100 * (call + 1) + 10 * rank + k);
    return made;
  }
  friend bool operator==(const message&, const message&) = default;
};

/// Rank 0 only sends, or both exchange.
enum class way { to_the_other, to_each_other };

template <int Units>
std::string explore(way goes, int calls) {
  using text = message<Units>;
  const auto receives = [&](int rank) { return goes == way::to_each_other || rank == 1; };
  simulator::exploration all;
  while (all.next()) {
    const two_peers peers(1'000);  // where nothing is cleared
    std::vector<text> taken[ranks];
    for (int rank = 0; rank < ranks; ++rank) {
      simulator::stream* const stream = simulator::make_stream();
      for (int call = 0; call < calls; ++call) {
        simulator::launch kernel;
        kernel.threads = 1;
        kernel.thread = [&, rank, call] {
          detail::peer_exchange exchange(peers.of(rank), detail::peers_control::of(peers.of(rank)));
          if (receives(1 - rank)) exchange.send<text>(text::of(rank, call).word);
          text came{};
          if (receives(rank) && exchange.receive<text>(came.word, 1 - rank)) taken[rank].push_back(came);
          exchange.end();
        };
        simulator::enqueue(stream, kernel);
      }
    }
    simulator::finish_all();
    if (all.was_cut_short()) continue;
    const std::string order = "order " + std::to_string(all.schedules()) + ": ";
    if (const std::string& fault = simulator::last_fault(); !fault.empty()) return order + fault;
    for (int rank = 0; rank < ranks; ++rank) {
      if (!receives(rank)) continue;
      if (taken[rank].size() != static_cast<std::size_t>(calls)) return order + "something did not come";
      for (int call = 0; call < calls; ++call) {
        if (taken[rank][static_cast<std::size_t>(call)] != text::of(1 - rank, call)) {
          return order + "call " + std::to_string(call) + " took something else";
        }
      }
    }
  }
  std::cout << Units << " units, " << calls << " calls: " << all.schedules() << " orders, " << all.states()
            << " states\n";
  return "";
}

TEST(peers, every_order) {
  EXPECT_EQ(explore<3>(way::to_the_other, 1), "");
  EXPECT_EQ(explore<1>(way::to_each_other, 1), "");
  EXPECT_EQ(explore<1>(way::to_each_other, 2), "");
  if (std::getenv("FANIN_SIMULATOR_SECONDS") != nullptr) {
    EXPECT_EQ(explore<1>(way::to_each_other, 3), "");  // a minute
  }
}

// --- Calls

struct of_index {
  FANIN_FUNCTION double operator()(std::int64_t i) const {
    return static_cast<double>(fanin_test::mix(static_cast<std::uint64_t>(i)) % 1'000) - 400;
  }
};

/// A call of a rank, as call_over_nccl makes it.
template <class... Reducer>
void enqueue(const fanin::cuda& gpu, const detail::nccl_peers& peers, std::int64_t first, std::int64_t count,
             const fanin::cuda_tuning& tuning, detail::composite<Reducer...> c, auto* out) {
  using composite = detail::composite<Reducer...>;
  using view = decltype(gpu.with<>());
  using exchange = detail::exchange_of_peers<composite>;
  const exchange of_call{c, peers, {out, nullptr, {}}};
  auto* const answer = static_cast<detail::peer_answer<typename composite::result_type>*>(
      simulator::allocate(sizeof(detail::peer_answer<typename composite::result_type>)));
  const typename fanin::backend<view>::handle_type handle = gpu.with<>(tuning);
  fanin::backend<view>::reduce_into(handle, nullptr, answer, first, count, of_index{},
                                    detail::finished_part(of_call, exchange::message::reducers_of_part(c)));
}

/// Each over one of two communicators.
template <class... Reducer>
std::string calls(choices& draw, std::string& text, const fanin::cuda_tuning& tuning, const Reducer&... reducers) {
  const auto c = detail::make_composite(reducers...);
  using result = typename detail::composite<Reducer...>::result_type;
  constexpr int most_calls = 5;
  const fanin::cuda gpu[ranks];
  // Also where numbers begin anew.
  const auto first_number = [&] { return static_cast<std::uint32_t>(draw.below(6)) - 3; };
  const two_peers peers[] = {two_peers(first_number()), two_peers(first_number())};
  const int count = 1 + static_cast<int>(draw.below(most_calls));
  std::int64_t n[most_calls] = {};
  std::int64_t middle[most_calls] = {};
  std::size_t communicator[most_calls] = {};
  auto* const out = static_cast<result*>(simulator::allocate(sizeof(result) * most_calls * ranks));
  for (int k = 0; k < count; ++k) {
    n[k] = draw.one_of({std::int64_t{0}, std::int64_t{1}, std::int64_t{50}, std::int64_t{700}, std::int64_t{5'000}});
    middle[k] = static_cast<std::int64_t>(draw.below(static_cast<std::size_t>(n[k] + 1)));
    communicator[k] = draw.below(std::size(peers));
    text += " " + std::to_string(middle[k]) + " of " + std::to_string(n[k]) + " over " +
            std::to_string(communicator[k]) + ";";
  }
  int made[ranks] = {};
  while (made[0] < count || made[1] < count) {
    const int rank = made[0] == count ? 1 : made[1] == count ? 0 : static_cast<int>(draw.below(ranks));
    const int k = made[rank]++;
    const std::int64_t first = rank == 0 ? 0 : middle[k];
    const std::int64_t last = rank == 0 ? middle[k] : n[k];
    enqueue(gpu[rank], peers[communicator[k]].of(rank), first, last - first, tuning, c, out + rank * most_calls + k);
  }
  for (const fanin::cuda& one : gpu) one.synchronize();
  for (int k = 0; k < count; ++k) {
    const result expected = fanin::parallel_reduce(fanin::range(fanin::serial{}, n[k]), of_index{}, reducers...);
    for (int rank = 0; rank < ranks; ++rank) {
      if (out[rank * most_calls + k] == expected) continue;
      return "rank " + std::to_string(rank) + " has something else of call " + std::to_string(k);
    }
  }
  return "";
}

std::string run_calls(std::uint64_t seed, fanin::cuda_early_start early, unsigned least_resident_blocks,
                      unsigned most_resident_blocks) {
  return run_seed(seed, [&](choices& draw, std::string& text) {
    simulator::schedule how(seed);
    how.waits_at_launches = false;  // for a peer whose call is still to be made
    how.resident_blocks = std::clamp(how.resident_blocks, least_resident_blocks, most_resident_blocks);
    simulator::begin(how);
    fanin::cuda_tuning tuning{.early_start = early};
    if (early == fanin::cuda_early_start::off && seed % 16 == 3) {  // more blocks than one warp waits for
      tuning.block_size = 32;
      tuning.grid_size = 200;
    }
    switch (seed % 3) {
      case 0: return calls(draw, text, tuning, fanin::exact_sum<double>{});
      case 1: return calls(draw, text, tuning, fanin::min_loc<double>{});
      default: return calls(draw, text, tuning, fanin::sum<double>{}, fanin::max_loc<double>{});
    }
  });
}

/// Whose memory may be gone: by one block, and by one that waits for others.
TEST(peers, a_rank_that_has_given_up_sends_nothing) {
  for (const std::int64_t n : {1, 5'000}) {
    simulator::begin(simulator::schedule(7));
    const two_peers peers(0);
    const detail::nccl_peers& own = peers.of(0);
    own.control[1] = 1;
    const fanin::cuda gpu;
    auto* const out = static_cast<double*>(simulator::allocate(sizeof(double)));
    *out = 7;
    enqueue(gpu, own, 0, n, {.early_start = fanin::cuda_early_start::off}, detail::make_composite(fanin::sum<double>{}),
            out);
    gpu.synchronize();
    EXPECT_EQ(*out, 7) << n;
    const auto bytes = static_cast<std::ptrdiff_t>(ranks * detail::nccl_peers::bytes(ranks));
    EXPECT_EQ(std::count(own.memory, own.memory + bytes, 0), bytes) << n;
  }
}

/// Of a launch one block waits for the other rank, and lets all others have room: on a device of two blocks, too.
TEST(peers, calls) {
  for_each_seed(count_of_seeds(300),
                [](std::uint64_t seed) { return run_calls(seed, fanin::cuda_early_start::off, 2, 64); });
}

/// Blocks of a launch that has begun early wait, too, and have the room of the other rank's where there is not enough.
TEST(peers, calls_that_start_early) {
  for_each_seed(count_of_seeds(150),
                [](std::uint64_t seed) { return run_calls(seed, fanin::cuda_early_start::automatic, 64, 64); });
  bool is_stuck = false;
  for (std::uint64_t seed = 0; seed < 100 && !is_stuck; ++seed) {
    const std::string wrong = run_calls(seed, fanin::cuda_early_start::automatic, 2, 2);
    is_stuck =
        wrong.find("nobody can go on") != std::string::npos && wrong.find("the grid before") != std::string::npos;
  }
  EXPECT_TRUE(is_stuck);
}

}  // namespace
}  // namespace simulator_test
