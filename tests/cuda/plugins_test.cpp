// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <cstdint>

#include "cuda/gpu_test.hpp"

/// Libraries that a program loads, each with a Fanin and kernels of its own by the same names.
namespace fanin_test {
namespace {

using cuda_plugins = gpu_test;

TEST_F(cuda_plugins, know_their_own_kernels_alone) {
  for (const char* const path : {FANIN_TEST_PLUGIN_1, FANIN_TEST_PLUGIN_2}) {
    void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    auto* const sum_of_ones =
        reinterpret_cast<int (*)(std::int64_t, std::int64_t*)>(dlsym(library, "fanin_test_sum_of_ones"));
    ASSERT_NE(sum_of_ones, nullptr) << dlerror();
    std::int64_t sum = 0;
    EXPECT_EQ(sum_of_ones(1'000'000, &sum), 0) << path;
    EXPECT_EQ(sum, 1'000'000) << path;
  }
}

}  // namespace
}  // namespace fanin_test
