// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include <fanin/device/timer.hpp>

#include "cuda/gpu_test.hpp"

namespace fanin_test {

/// One thread that waits for the host's word, and gives up after two seconds: a test that waits where it must not fails
/// and does not hang.
struct wait_for_word {
  volatile int* word;
  FANIN_FUNCTION void operator()(std::int64_t) const {
    const std::uint64_t begin = fanin::detail::nanoseconds_now();
    while (*word == 0 && fanin::detail::nanoseconds_now() - begin < 2'000'000'000) continue;
  }
};

/// Holds a stream up until it is opened.
class gate {
 public:
  gate() {
    void* memory = nullptr;
    check(cudaHostAlloc(&memory, sizeof(int), cudaHostAllocMapped));
    word_ = static_cast<int*>(memory);
    *word_ = 0;
  }
  ~gate() {
    open();
    cudaDeviceSynchronize();
    cudaFreeHost(word_);
  }
  gate(const gate&) = delete;
  gate& operator=(const gate&) = delete;
  void close(fanin::cuda& gpu) { fanin::parallel_for(fanin::range(gpu, 1), wait_for_word{word_}); }
  void open() { *const_cast<volatile int*>(word_) = 1; }

 private:
  int* word_ = nullptr;
};

}  // namespace fanin_test
