// SPDX-License-Identifier: Apache-2.0
#include "core/one_program.hpp"

#include <gtest/gtest.h>

#include <cstdint>

#if defined(HAS_KOKKOS_UNIT)
#include <Kokkos_Core.hpp>
#include <fanin/kokkos/kokkos.hpp>
#endif

/// Libraries with different default backends, and units for different machines, in one program.
namespace fanin_test {
namespace {

[[maybe_unused]] void expect_results(const facts& seen) {
  EXPECT_EQ(seen.sum, 3 * 3'000 + 9'000 + 499'500);
  EXPECT_EQ(seen.exact_sum, 4094 * 1e-30);
}

#if defined(HAS_KOKKOS_UNIT)
int kernels = 0;
void count_kernel(const char*, const std::uint32_t, std::uint64_t*) { ++kernels; }

TEST(one_program, has_default_backends_of_several) {
  const fanin::kokkos<> initialises_kokkos;
  Kokkos::Tools::Experimental::set_begin_parallel_reduce_callback(count_kernel);
  const facts on_serial = serial_unit::look();
  EXPECT_STREQ(on_serial.default_backend, "serial");
  EXPECT_TRUE(on_serial.has_its_own_default_object);
  EXPECT_EQ(kernels, 0) << "ran on Kokkos";
  expect_results(on_serial);

  const facts on_kokkos = kokkos_unit::look();
  Kokkos::Tools::Experimental::set_begin_parallel_reduce_callback(nullptr);
  EXPECT_STREQ(on_kokkos.default_backend, "kokkos");
  EXPECT_TRUE(on_kokkos.has_its_own_default_object);
  EXPECT_EQ(kernels, 5) << "did not run on Kokkos";
  expect_results(on_kokkos);
  EXPECT_EQ(on_kokkos.rounds_to_nearest, on_serial.rounds_to_nearest) << "units alike have one function";
}
#endif

#if defined(HAS_AVX2_UNIT)
TEST(one_program, has_units_with_avx2_and_without) {
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "this processor has no AVX2";
  expect_results(avx2_unit::look());
}
#endif

#if defined(HAS_NVCC_UNIT)
TEST(one_program, has_units_of_nvcc_and_of_another_compiler) {
  EXPECT_NE(nvcc_unit::look().rounds_to_nearest, serial_unit::look().rounds_to_nearest);
  expect_results(nvcc_unit::look());
}
#endif

}  // namespace
}  // namespace fanin_test
