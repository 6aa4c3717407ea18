// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include <fanin/buffer.hpp>
#include <fanin/cuda/cuda.hpp>
#include <fanin/exact_sum.hpp>
#include <fanin/merge.hpp>
#include <fanin/parallel_reduce.hpp>
#include <fanin/range.hpp>
#include <fanin/reduce.hpp>
#include <fanin/reducers.hpp>
#include <fanin/serial/serial.hpp>

#include "contract/contract.hpp"
#include "contract/fixtures/cuda_device.hpp"

/// What the tests of a GPU share: headers of what they test, and not those of Kokkos, which take as long to read as a
/// test to compile. Without a GPU tests are skipped, and say so.
namespace fanin_test {

class gpu_test : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = no_gpu(); !why.empty()) GTEST_SKIP() << why;
  }
};

/// What most of these tests reduce with.
inline constexpr fanin::sum<std::int64_t> int64_sum{};

/// Fails the test where a CUDA call does.
inline void check(cudaError_t code) { ASSERT_EQ(code, cudaSuccess) << cudaGetErrorString(code); }

/// A stream of the test's own.
class test_stream {
 public:
  explicit test_stream(unsigned flags = cudaStreamNonBlocking) { check(cudaStreamCreateWithFlags(&stream_, flags)); }
  ~test_stream() { cudaStreamDestroy(stream_); }
  test_stream(const test_stream&) = delete;
  test_stream& operator=(const test_stream&) = delete;
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

class test_event {
 public:
  test_event() { check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming)); }
  ~test_event() { cudaEventDestroy(event_); }
  test_event(const test_event&) = delete;
  test_event& operator=(const test_event&) = delete;
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace fanin_test
