// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "cuda/catalogue_support.hpp"

/// Every row of a list with every grid stage that has a meaning, in turns on one object and its workspace: blocking, in
/// the stream's order, and as a graph, whose workspace goes on to the next graph. In the data every word of 32 bits is
/// the same small number, and so it is in what the stages leave in workspace: each may pass for how many launches there
/// were, a ticket or a count (not for a tagged unit, whose words give 2^31 more than that by exclusive or: the
/// simulator's sessions.workspace_of_a_graph_that_is_gone_is_as_new has such values), and a launch that takes another's
/// words for its own gives a wrong sum. The kernels are those that catalogue_rows.hpp instantiates.
namespace fanin_test {

/// One object, a destination, and elements of which every launch takes another number than the one before.
class turns {
 public:
  /// What the elements' words are, the same one in both halves of each.
  enum class words {
    equal,   ///< all k
    mod_4,   ///< 0, 1, 2, 3, 0, ...
    ladder,  ///< of blocks of 512, 1, 1, 2, 2, ... up to 64 and again, then zeros: sums of pairs are those words too
  };

  explicit turns(words kind, std::uint64_t k = 0)
      : text_{std::to_string(static_cast<int>(kind))}, x_(gpu, [&] {
          std::vector<std::int64_t> x(most);
          for (std::size_t i = 0; i < x.size(); ++i) {
            const std::uint64_t rung = i % 512 < 256 ? 1 + i / 2 % 64 : 0;
            const std::uint64_t word = kind == words::equal ? k : kind == words::mod_4 ? i % 4 : rung;
            x[i] = static_cast<std::int64_t>(word * 0x1'0000'0001u);
          }
          return x;
        }()) {
    text_ += " of " + std::to_string(k);
    for (const std::size_t n : sizes) {
      std::uint64_t sum = 0;
      octet of_octets = lanewise{}.identity();
      for (std::size_t i = 0; i < n; ++i) {
        const std::int64_t value = x_.host(i, 1)[0];
        sum += static_cast<std::uint64_t>(value);
        octet one = lanewise{}.identity();
        one.lane[i % 8] = value;
        if (i / 8 < n / 8) lanewise{}.join(of_octets, one);
      }
      expected_.push_back({static_cast<std::int64_t>(sum), of_octets});
    }
  }

  fanin::cuda gpu;  ///< its launches are numbered from 1
  destination<std::int64_t, fanin::cuda> out{gpu};

  /// Moves on to another number of elements.
  void next() { at_ = (at_ + 1) % std::size(sizes); }
  std::span<const std::int64_t> x() const { return x_.there(0, sizes[at_]); }
  std::span<const octet> octets() const { return {reinterpret_cast<const octet*>(x().data()), x().size() / 8}; }
  std::int64_t sum() const { return expected_[at_].sum; }
  octet of_octets() const { return expected_[at_].of_octets; }
  std::string text() const { return "words " + text_ + ", n = " + std::to_string(sizes[at_]); }

 private:
  /// Many blocks after few, whose values then lie where the many leave their partial results; 1,056 blocks of 512 are
  /// two waves on an H200, so that the one that watches starts beside half of the others.
  static constexpr std::size_t sizes[] = {540'672, 4'099, 8'195, 540'672, 4'099, 300'001, 8'195};
  static constexpr std::size_t most = 540'672;

  struct results {
    std::int64_t sum;
    octet of_octets;
  };

  std::string text_;
  mirrored<std::int64_t> x_;
  std::vector<results> expected_;
  std::size_t at_ = 0;
};

/// All elements are `word`; those before `late` take their blocks some time, so that the block that watches, the last,
/// looks for partial results long before they are there.
struct late_words {
  std::uint32_t word;
  std::int64_t late;
  FANIN_FUNCTION std::uint32_t operator()([[maybe_unused]] std::int64_t i) const {
#if defined(__CUDA_ARCH__)
    if (i < late && i % 256 == 0) __nanosleep(20'000);
#endif
    return word;
  }
};

template <class List>
class catalogue_turns : public gpu_test {
 protected:
  void SetUp() override {
    gpu_test::SetUp();
    if (IsSkipped()) return;
    check(cudaDeviceGetAttribute(&major_, cudaDevAttrComputeCapabilityMajor, 0));
  }

  bool device_runs(const fanin::cuda_recipe& recipe) const {
    return fanin::least_compute_capability(recipe) < 90 || major_ >= 9;
  }

  /// A blocking launch and one in the stream's order; and a graph.
  template <class Strategy>
  void take_turn(turns& now, bool in_graph) const {
    const std::string name = std::string(Strategy::name) + " finished by " + to_string(Strategy::recipe.grid);
    const fanin::sum<std::int64_t> sum;
    const auto view = now.gpu.with<Strategy>();
    now.next();
    ASSERT_EQ(fanin::reduce(view, now.x(), sum), now.sum()) << name << ", blocking, " << now.text();
    expect_ran<Strategy>(now.gpu, now.x().size(), 0);
    if constexpr (fanin::is_stream_ordered(Strategy::recipe)) {
      now.next();
      const auto into = [&] { fanin::reduce_into(now.out.pointer(), view, now.x(), sum); };
      into();
      ASSERT_EQ(now.out.get(), now.sum()) << name << ", into device memory, " << now.text();
      if (!in_graph) return;
      const captured graph(now.gpu.stream(), into);
      for (int replay = 0; replay < 2; ++replay) {
        graph.launch(now.gpu.stream());
        ASSERT_EQ(now.out.get(), now.sum()) << name << ", in a graph, " << now.text();
      }
    }
  }

  /// The row's own grid stage with accumulators of 64 bytes.
  template <class Row>
  void take_turn_of_octets(turns& now) const {
    now.next();
    const auto view = now.gpu.with<Row>();
    ASSERT_EQ(fanin::reduce(view, now.octets(), lanewise{}), now.of_octets())
        << Row::name << ", octets, " << now.text();
  }

  /// The row with each grid stage that has a meaning.
  template <class Row>
  void take_turns_of(turns& now, bool in_graphs) const {
    using fanin::cuda_stage::grid;
    if (!device_runs(Row::recipe)) return;
    const auto finished_by = [&]<grid Stage>(std::integral_constant<grid, Stage>) {
      using other = fanin::cuda_strategy::finished_by<Row, Stage>;
      if constexpr (fanin::cuda_strategy_tag<other>) {
        take_turn<std::conditional_t<Stage == Row::recipe.grid, Row, other>>(now, in_graphs);
      }
    };
    finished_by(std::integral_constant<grid, grid::watching_block>{});
    finished_by(std::integral_constant<grid, grid::last_block>{});
    take_turn_of_octets<Row>(now);
    finished_by(std::integral_constant<grid, grid::second_pass>{});
    finished_by(std::integral_constant<grid, grid::host_finish>{});
    finished_by(std::integral_constant<grid, grid::launch_per_halving>{});
  }

  /// A launch of many blocks, after one of few blocks whose words, or the sums of two or four of them, are the number
  /// of the launch of many.
  template <class Row>
  void watch_late_blocks() const {
    using strategy = fanin::cuda_strategy::finished_by<Row, fanin::cuda_stage::grid::watching_block>;
    if constexpr (fanin::cuda_strategy_tag<strategy>) {
      if (!device_runs(Row::recipe)) return;
      fanin::cuda gpu;
      const auto view = gpu.with<strategy>();
      destination<std::uint32_t, fanin::cuda> out(gpu);
      std::uint32_t launches = 0;  // with more than one partial result, which are those that have numbers
      const auto expect_words = [&](std::int64_t n, std::uint32_t word, std::int64_t late) {
        const fanin::sum<std::uint32_t> sum;
        fanin::parallel_reduce_into(out.pointer(), fanin::range(view, n), late_words{word, late}, sum);
        ASSERT_EQ(out.get(), static_cast<std::uint32_t>(n) * word)
            << Row::name << ", n = " << n << ", words of " << word << ", launch " << launches + 1;
        if (gpu.last_launch().grid_size > Row::recipe.cluster_size) ++launches;
      };
      const std::int64_t many = 540'672;
      expect_words(many, 1, 0);
      for (int round = 0; round < 12; ++round) {
        for (const std::uint32_t terms : {1u, 2u, 4u}) {
          expect_words(20'480, std::max(1u, (launches + 2) / terms), 0);
          expect_words(many, 1, many - 8'192);
          if (HasFatalFailure()) return;
        }
        expect_words(20'480, 1, 0);  // odd and even numbers take turns
      }
    }
  }

  template <class... Row>
  void watch_all_late_blocks(fanin::cuda_strategy_list<Row...>) const {
    (watch_late_blocks<Row>(), ...);
  }

  template <class... Row>
  void take_turns(fanin::cuda_strategy_list<Row...>, turns& now, bool in_graphs) const {
    (take_turns_of<Row>(now, in_graphs), ...);
  }

 private:
  int major_ = 0;  ///< of the device's compute capability
};
TYPED_TEST_SUITE_P(catalogue_turns);

TYPED_TEST_P(catalogue_turns, of_all_grid_stages) {
  const auto take_rounds = [&](turns now) {
    for (int round = 0; round < 14; ++round) {
      SCOPED_TRACE("round " + std::to_string(round));
      this->take_turns(TypeParam{}, now, round % 7 == 0);
      if (this->HasFatalFailure()) return;
    }
  };
  for (const std::uint64_t k : {1, 2, 3, 4, 5, 6, 7}) take_rounds(turns(turns::words::equal, k));
  take_rounds(turns(turns::words::mod_4));
  take_rounds(turns(turns::words::ladder));
}

TYPED_TEST_P(catalogue_turns, of_blocks_that_watch_for_late_ones) { this->watch_all_late_blocks(TypeParam{}); }

REGISTER_TYPED_TEST_SUITE_P(catalogue_turns, of_all_grid_stages, of_blocks_that_watch_for_late_ones);

}  // namespace fanin_test
