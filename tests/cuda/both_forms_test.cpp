// SPDX-License-Identifier: Apache-2.0
#include <cfenv>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>

#include "cuda/gpu_test.hpp"
#include "support/data.hpp"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

/// The blocking and the _into form of a call give the same bits where a join is more than one rounding, where the unit
/// flushes subnormal numbers (CMake compiles this one with --use_fast_math, of which no macro tells), and where the
/// calling thread rounds otherwise than a device does.
namespace fanin_test {
namespace {

using cuda_both_forms = gpu_test;

/// A rotation by an angle of the index's, a little stretched: products stay near 1, and every bit of them counts.
struct rotation {
  FANIN_FUNCTION std::complex<double> operator()(std::int64_t i) const {
    const double x = static_cast<double>(mix(static_cast<std::uint64_t>(i)) >> 11) * 0x1p-53;
    double parts[2] = {1 - x * x / 2, x};
    std::complex<double> z;
    memcpy(static_cast<void*>(&z), parts, sizeof(z));
    return z;
  }
};

/// 1 to 2 times the least normal number, of either sign: partial sums of a few cancel to subnormal ones.
struct barely_normal {
  FANIN_FUNCTION float operator()(std::int64_t i) const {
    const std::uint64_t bits = mix(static_cast<std::uint64_t>(i));
    const float x = std::numeric_limits<float>::min() * (1 + static_cast<float>(bits >> 44) * 0x1p-20f);
    return (bits & 1) != 0 ? x : -x;
  }
};
struct add_barely_normal {
  FANIN_FUNCTION void operator()(std::int64_t i, float& acc) const { acc += barely_normal{}(i); }
};

struct third {
  FANIN_FUNCTION double operator()(std::int64_t i) const { return 1.0 / static_cast<double>(i + 3); }
};

/// A user's reducer: mean and squared deviations of values, whose join has products in its sums.
struct moments {
  struct totals {
    double count;
    double mean;
    double deviations;
  };
  using value_type = double;
  using accumulator_type = totals;
  FANIN_FUNCTION totals identity() const { return {0, 0, 0}; }
  FANIN_FUNCTION void fold(totals& acc, double x, std::int64_t) const { join(acc, {1, x, 0}); }
  FANIN_FUNCTION void join(totals& into, const totals& from) const {
    const double count = into.count + from.count;
    if (count == 0) return;
    const double apart = from.mean - into.mean;
    const double share = from.count / count;
    into.deviations += from.deviations + apart * apart * into.count * share;
    into.mean += apart * share;
    into.count = count;
  }
};

/// Over every grid from which blocks may post, and some more.
template <class Result, class F, class Reducer>
void expect_the_same_bits(fanin::cuda& gpu, const F& f, const Reducer& reducer) {
  destination<Result, fanin::cuda> out(gpu);
  for (int grid = 1; grid <= 140; ++grid) {
    const auto view = gpu.with({.block_size = 32, .grid_size = grid});
    const auto range = fanin::range(view, 4'000);
    fanin::parallel_reduce_into(out.pointer(), range, f, reducer);
    const Result got = fanin::parallel_reduce(range, f, reducer);
    const Result expected = out.get();
    EXPECT_EQ(std::memcmp(&got, &expected, sizeof(got)), 0) << "grid " << grid;
  }
}

TEST_F(cuda_both_forms, of_products_of_complex_numbers) {
  fanin::cuda gpu;
  expect_the_same_bits<std::complex<double>>(gpu, rotation{}, fanin::prod<std::complex<double>>{});
}

TEST_F(cuda_both_forms, of_a_reducer_with_products_in_its_join) {
  fanin::cuda gpu;
  expect_the_same_bits<moments::totals>(gpu, third{}, moments{});
}

TEST_F(cuda_both_forms, of_sums_that_become_subnormal) {
  fanin::cuda gpu;
  expect_the_same_bits<float>(gpu, barely_normal{}, fanin::sum<float>{});
  expect_the_same_bits<float>(gpu, add_barely_normal{}, fanin::sum<float>{});
}

TEST_F(cuda_both_forms, whatever_the_host_rounds_to) {
  fanin::cuda gpu;
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    std::fesetround(mode);
    EXPECT_FALSE(fanin::detail::rounds_as_device());
    expect_the_same_bits<double>(gpu, third{}, fanin::sum<double>{});
    std::fesetround(FE_TONEAREST);
  }
  EXPECT_TRUE(fanin::detail::rounds_as_device());
}

#if defined(__x86_64__)
TEST_F(cuda_both_forms, where_the_host_flushes_to_zero) {
  constexpr unsigned flush_results = 0x8000;
  constexpr unsigned flush_operands = 0x0040;
  fanin::cuda gpu;
  const unsigned usual = _mm_getcsr();
  for (const unsigned mode : {flush_results, flush_operands, flush_results | flush_operands}) {
    _mm_setcsr(usual | mode);
    EXPECT_FALSE(fanin::detail::rounds_as_device());
    expect_the_same_bits<float>(gpu, barely_normal{}, fanin::sum<float>{});
    _mm_setcsr(usual);
  }
}
#endif

}  // namespace
}  // namespace fanin_test
