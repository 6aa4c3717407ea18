// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>
#include <fanin/kokkos/kokkos.hpp>

#include "exact/many.hpp"

/// Part of kokkos_host_fold_test.
namespace {

TEST(exact_sums_of_many, on_kokkos) {
  fanin_test::check_exact_sums_of_many<double>(fanin::kokkos<Kokkos::DefaultHostExecutionSpace>());
}

}  // namespace
