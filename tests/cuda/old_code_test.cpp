// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cuda/gpu_test.hpp"
#include "support/expect_invalid.hpp"

/// Code for less than the device: this program holds PTX for compute capability 7.5 and nothing else, which a driver
/// translates for the device that there is. What asks the device alone takes such code for the device's own.
namespace fanin_test {
namespace {

using cuda_old_code = gpu_test;

/// x[i] as another type than fanin::reduce's own kernels in the library have.
struct element_of {
  const std::int64_t* x;
  FANIN_FUNCTION std::int64_t operator()(std::int64_t i) const { return x[i]; }
};

const std::vector<std::size_t>& old_code_sizes() {
  static const std::vector<std::size_t> all{1, 33, 1'025, 20'003, 100'003, 3'000'001};
  return all;
}

/// Runs of calls, so that grids that may start early would meet those before them.
TEST_F(cuda_old_code, one_pass) {
  fanin::cuda gpu;
  const fanin::sum<std::int64_t> sum;
  for (const std::size_t n : old_code_sizes()) {
    const auto host = make_data<std::int64_t>(data::random_signed, n);
    const placed<std::int64_t, fanin::cuda> x(gpu, host, 1);
    destination<std::int64_t, fanin::cuda> out(gpu);
    for (int round = 0; round < 20; ++round) {
      const auto range = fanin::range(gpu, n);
      EXPECT_TRUE(
          is_sum_of(std::span<const std::int64_t>(host), fanin::parallel_reduce(range, element_of{x.data()}, sum), 0));
      EXPECT_STREQ(gpu.last_launch().strategy, "one_pass");
      fanin::parallel_reduce_into(out.pointer(), range, element_of{x.data()}, sum);
    }
    EXPECT_TRUE(is_sum_of(std::span<const std::int64_t>(host), out.get(), 0));
  }
}

/// Reducers whose instructions depend on the architecture: minimum is one from 8.0 on, packed sums are dp4a.
TEST_F(cuda_old_code, extremes_and_packed_sums) {
  fanin::cuda gpu;
  auto host = make_data<float>(data::random_signed, 100'003);
  host[70'000] = -2.0F;
  const placed<float, fanin::cuda> x(gpu, host, 1);
  const auto got = fanin::reduce(gpu, x.span(), fanin::min<float>{}, fanin::max_loc<float>{});
  EXPECT_TRUE(is_same(got, fanin::reduce(fanin::serial{}, host, fanin::min<float>{}, fanin::max_loc<float>{})));
  const auto bytes = make_data<std::int8_t>(data::random_signed, 100'003);
  const placed<std::int8_t, fanin::cuda> y(gpu, bytes, 1);
  const fanin::sum<std::int8_t, std::int32_t> sum;
  EXPECT_EQ(fanin::reduce(gpu, y.span(), sum), fanin::reduce(fanin::serial{}, bytes, sum));
}

/// Needs 9.0 of the device and of the code: refused in words, before a launch, and the object works on.
template <class Strategy>
void expect_refused() {
  fanin::cuda gpu;
  const auto host = make_data<std::int32_t>(data::random_signed, 100'003);
  const placed<std::int32_t, fanin::cuda> x(gpu, host);
  const auto view = gpu.with<Strategy>();
  const fanin::sum<std::int32_t> sum;
  expect_invalid([&] { fanin::reduce(view, x.span(), sum); }, "one of them is 7.5");
  expect_invalid([&] { fanin::parallel_reduce(fanin::range(view, x.size()), at<std::int32_t>{x.data()}, sum); },
                 std::string("strategy ") + Strategy::name + " cannot launch");
  EXPECT_EQ(fanin::parallel_reduce(fanin::range(gpu, x.size()), at<std::int32_t>{x.data()}, sum),
            fanin::reduce(fanin::serial{}, host, sum));
}

TEST_F(cuda_old_code, one_pass_bulk_is_refused) { expect_refused<fanin::cuda_strategy::one_pass_bulk>(); }
TEST_F(cuda_old_code, cluster_is_refused) { expect_refused<fanin::cuda_strategy::cluster>(); }

}  // namespace
}  // namespace fanin_test
