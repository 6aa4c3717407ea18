// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <fanin/cuda/cuda.hpp>
#include <fanin/md_range.hpp>

#include "contract/contract.hpp"
#include "simulator/machine.hpp"

namespace fanin_test {

/// A device as new for each test, whose schedule is that of another seed.
struct new_device {
  new_device() {
    static std::uint64_t seed = 0;
    simulator::begin(simulator::schedule(++seed));
  }
};

struct simulated : new_device {
  using exec_type = fanin::cuda;
  static constexpr const char* name = "simulated";
  static constexpr coverage breadth = coverage::spot;
  static std::string unavailable() { return {}; }
  exec_type& exec() { return exec_; }

 private:
  exec_type exec_;
};
using fixtures = ::testing::Types<simulated>;

}  // namespace fanin_test

// The contract of many results, on the simulated device.
#include "contract/axes.hpp"
#include "contract/segments.hpp"

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

}  // namespace
}  // namespace fanin_test
