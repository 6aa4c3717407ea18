// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/catalogue_support.hpp"

/// Every row of a list with every grid stage that has a meaning, in turns on one object and its scratch: blocking, in
/// the stream's order, and as a graph, whose scratch goes on to the next graph. In the data every word of 32 bits is
/// the same small number, and so it is in what the stages leave in scratch: each may pass for a launch's number, a
/// ticket or a count, and a launch that takes another's words for its own gives a wrong sum. The kernels are those that
/// catalogue_rows.hpp instantiates.
namespace fanin_test {

/// What a round's turns have in common.
struct round_of_turns {
  fanin::cuda& gpu;
  destination<std::int64_t, fanin::cuda>& out;
  std::span<const std::int64_t> x;
  std::uint64_t k;
  std::int64_t expected;
};

template <class List>
class catalogue_turns : public gpu_test {
 protected:
  void SetUp() override {
    gpu_test::SetUp();
    if (IsSkipped()) return;
    check(cudaDeviceGetAttribute(&major_, cudaDevAttrComputeCapabilityMajor, 0));
  }

  static constexpr std::size_t sizes[] = {most_elements, 4'099, 300'001, 70'001, 1'025, 600'000, 33};
  static constexpr std::size_t rounds = 4 * std::size(sizes);

  /// Element i has this number, k or 0, 1, 2, 3, 0, ... for k = 0, in both halves.
  static std::uint64_t element(std::uint64_t k, std::size_t i) { return (k != 0 ? k : i % 4) * 0x1'0000'0001u; }
  static std::uint64_t sum_of(std::uint64_t k, std::size_t n) {
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < n; ++i) total += element(k, i);
    return total;
  }
  static std::vector<std::int64_t> elements(std::uint64_t k) {
    std::vector<std::int64_t> x(most_elements);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::int64_t>(element(k, i));
    return x;
  }

  bool device_runs(const fanin::cuda_recipe& recipe) const {
    return fanin::least_compute_capability(recipe) < 90 || major_ >= 9;
  }

  /// One launch of each kind.
  template <class Strategy>
  void take_turn(const round_of_turns& now) const {
    SCOPED_TRACE(std::string(Strategy::name) + " finished by " + to_string(Strategy::recipe.grid));
    const fanin::sum<std::int64_t> sum;
    const auto view = now.gpu.with<Strategy>();
    ASSERT_EQ(fanin::reduce(view, now.x, sum), now.expected) << "blocking";
    expect_ran<Strategy>(now.gpu, now.x.size(), 0);
    if constexpr (fanin::is_stream_ordered(Strategy::recipe)) {
      const auto into = [&] { fanin::reduce_into(now.out.pointer(), view, now.x, sum); };
      into();
      ASSERT_EQ(now.out.get(), now.expected) << "into device memory";
      const captured graph(now.gpu.stream(), into);
      for (int replay = 0; replay < 2; ++replay) {
        graph.launch(now.gpu.stream());
        ASSERT_EQ(now.out.get(), now.expected) << "replay " << replay;
      }
    }
  }

  /// The row's own grid stage with accumulators of 64 bytes.
  template <class Row>
  void take_turn_of_octets(const round_of_turns& now) const {
    const std::size_t n = now.x.size() / 8;
    const std::span<const octet> x(reinterpret_cast<const octet*>(now.x.data()), n);
    octet expected = lanewise{}.identity();
    for (std::size_t j = 0; j < 8 && n > 0; ++j) {
      expected.lane[j] = static_cast<std::int64_t>(element(now.k, j) * (j < 4 ? n : 1));
    }
    const auto view = now.gpu.with<Row>();
    ASSERT_EQ(fanin::reduce(view, x, lanewise{}), expected) << Row::name << ", 64 bytes";
  }

  /// The row with each grid stage that has a meaning.
  template <class Row>
  void take_turns_of(const round_of_turns& now) const {
    using fanin::cuda_stage::grid;
    if (!device_runs(Row::recipe)) return;
    const auto finished_by = [&]<grid Stage>(std::integral_constant<grid, Stage>) {
      using other = fanin::cuda_strategy::finished_by<Row, Stage>;
      if constexpr (fanin::cuda_strategy_tag<other>) {
        take_turn<std::conditional_t<Stage == Row::recipe.grid, Row, other>>(now);
      }
    };
    finished_by(std::integral_constant<grid, grid::watching_block>{});
    finished_by(std::integral_constant<grid, grid::last_block>{});
    take_turn_of_octets<Row>(now);
    finished_by(std::integral_constant<grid, grid::second_pass>{});
    finished_by(std::integral_constant<grid, grid::host_finish>{});
    finished_by(std::integral_constant<grid, grid::launch_per_halving>{});
  }

  template <class... Row>
  void take_turns(fanin::cuda_strategy_list<Row...>, const round_of_turns& now) const {
    (take_turns_of<Row>(now), ...);
  }

 private:
  int major_ = 0;  ///< of the device's compute capability
};
TYPED_TEST_SUITE_P(catalogue_turns);

TYPED_TEST_P(catalogue_turns, of_all_grid_stages) {
  for (const std::uint64_t k : {1, 2, 3, 5, 7, 0}) {
    fanin::cuda gpu;  // its launches are numbered from 1
    destination<std::int64_t, fanin::cuda> out(gpu);
    const mirrored<std::int64_t> x(gpu, this->elements(k));
    for (std::size_t turn = 0; turn < this->rounds; ++turn) {
      const std::size_t n = this->sizes[turn % std::size(this->sizes)];
      SCOPED_TRACE("words of " + std::to_string(k) + ", round " + std::to_string(turn) + ", n = " + std::to_string(n));
      this->take_turns(TypeParam{}, {gpu, out, x.there(0, n), k, static_cast<std::int64_t>(this->sum_of(k, n))});
      if (this->HasFatalFailure()) return;
    }
  }
}

REGISTER_TYPED_TEST_SUITE_P(catalogue_turns, of_all_grid_stages);

}  // namespace fanin_test
