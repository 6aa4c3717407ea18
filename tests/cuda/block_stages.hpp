// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <fanin/cuda/block/interleaved.cuh>
#include <fanin/cuda/block/neighbored.cuh>
#include <fanin/cuda/block/slots.cuh>
#include <fanin/cuda/block/thread0_serial.cuh>
#include <fanin/cuda/block/unrolled_shuffle_tail.cuh>
#include <fanin/cuda/block/warp_shuffle.cuh>

#include "cuda/gpu_test.hpp"

/// The block stages alone: a kernel of one block for each. The stages in memory run in shared and in global memory, so
/// that racecheck, which sees shared memory only, has seen those of the rows in global memory too.
namespace fanin_test {

/// What one block combines: the first `count` of as many values as it has threads. The others must not be touched, and
/// are values like the first, so that taking one in shows.
template <class T>
struct block_job {
  const T* from;
  unsigned count;
  T* memory;  ///< global, one value a thread
  T* out;
  int* spoilt;
};

template <class T>
__device__ bool same_bytes(const T& a, const T& b) {
  const auto* const x = reinterpret_cast<const unsigned char*>(&a);
  const auto* const y = reinterpret_cast<const unsigned char*>(&b);
  for (std::size_t k = 0; k < sizeof(T); ++k) {
    if (x[k] != y[k]) return false;
  }
  return true;
}

template <class Stage, bool Shared, class Op, class T>
__global__ void __launch_bounds__(1024) in_memory_kernel(const Op op, const block_job<T> job) {
  extern __shared__ __align__(16) unsigned char dynamic[];
  T* const memory = Shared ? reinterpret_cast<T*>(dynamic) : job.memory;
  memory[threadIdx.x] = job.from[threadIdx.x];
  __syncthreads();
  Stage::combine(op, memory, job.count);
  if (threadIdx.x == 0) *job.out = memory[0];
  if (threadIdx.x >= job.count && !same_bytes(memory[threadIdx.x], job.from[threadIdx.x])) *job.spoilt = 1;
}

template <class Op, class T>
__global__ void __launch_bounds__(1024) by_shuffle_kernel(const Op op, const block_job<T> job) {
  T value = op.identity();
  if (threadIdx.x < job.count) value = job.from[threadIdx.x];
  __shared__ alignas(16) unsigned char storage[32 * sizeof(T)];
  fanin::detail::combine_by_warp_shuffle(op, value, reinterpret_cast<T*>(storage));
  if (threadIdx.x == 0) *job.out = value;
}

template <class Op, class T>
__global__ void __launch_bounds__(1024) through_slots_kernel(const Op op, const block_job<T> job) {
  extern __shared__ __align__(16) unsigned char dynamic[];
  T value = job.from[threadIdx.x];
  fanin::detail::combine_through_slots<sizeof(T)>(op, value, dynamic, job.count);
  if (threadIdx.x == 0) *job.out = value;
}

struct thread0_serial {
  static constexpr const char* name = "thread0_serial";
  template <class Op, class T>
  static __device__ void combine(const Op& op, T* memory, unsigned count) {
    fanin::detail::combine_thread0_serial(op, memory, count);
  }
};
struct neighbored_divergent {
  static constexpr const char* name = "neighbored_divergent";
  template <class Op, class T>
  static __device__ void combine(const Op& op, T* memory, unsigned count) {
    fanin::detail::combine_neighbored_divergent(op, memory, count, 1);
  }
};
struct neighbored_strided {
  static constexpr const char* name = "neighbored_strided";
  template <class Op, class T>
  static __device__ void combine(const Op& op, T* memory, unsigned count) {
    fanin::detail::combine_neighbored_strided(op, memory, count);
  }
};
struct interleaved {
  static constexpr const char* name = "interleaved";
  template <class Op, class T>
  static __device__ void combine(const Op& op, T* memory, unsigned count) {
    fanin::detail::combine_interleaved(op, memory, count);
  }
};
struct interleaved_unrolled_warp {
  static constexpr const char* name = "interleaved_unrolled_warp";
  template <class Op, class T>
  static __device__ void combine(const Op& op, T* memory, unsigned count) {
    fanin::detail::combine_interleaved_unrolled_warp(op, memory, count);
  }
};
struct unrolled {
  static constexpr const char* name = "unrolled";
  template <class Op, class T>
  static __device__ void combine(const Op& op, T* memory, unsigned count) {
    fanin::detail::combine_unrolled(op, memory, count);
  }
};
struct unrolled_shuffle_tail {
  static constexpr const char* name = "unrolled_shuffle_tail";
  template <class Op, class T>
  static __device__ void combine(const Op& op, T* memory, unsigned count) {
    fanin::detail::combine_unrolled_shuffle_tail(op, memory, count);
  }
};

template <class Stage, bool Shared>
struct in_memory {
  static std::string name() { return std::string(Stage::name) + (Shared ? " in shared memory" : " in global memory"); }
  template <class Op, class T>
  static void launch(cudaStream_t stream, unsigned threads, const Op& op, const block_job<T>& job) {
    in_memory_kernel<Stage, Shared><<<1, threads, Shared ? threads * sizeof(T) : 0, stream>>>(op, job);
  }
};
struct by_shuffle {
  static std::string name() { return "warp_shuffle"; }
  template <class Op, class T>
  static void launch(cudaStream_t stream, unsigned threads, const Op& op, const block_job<T>& job) {
    by_shuffle_kernel<<<1, threads, 0, stream>>>(op, job);
  }
};
struct through_slots {
  static std::string name() { return "slots"; }
  template <class Op, class T>
  static void launch(cudaStream_t stream, unsigned threads, const Op& op, const block_job<T>& job) {
    through_slots_kernel<<<1, threads, fanin::slot_bytes(sizeof(T)), stream>>>(op, job);
  }
};

/// Where the values are numbers, all different: which element explains the difference.
template <class T>
std::string explain_difference(const std::vector<T>& values, const T& got, const T& expected) {
  if constexpr (std::is_integral_v<T>) {
    return explain(std::span<const T>(values), got, expected);
  } else {
    return {};
  }
}

/// One block for every count, of as many warps as the count needs, and of as many threads as there are values.
template <class How, class Op, class T>
void expect_block_stage(fanin::cuda& gpu, const Op& op, const std::vector<T>& values,
                        const std::vector<unsigned>& counts) {
  const auto most = static_cast<unsigned>(values.size());
  fanin::buffer<T, fanin::cuda> from(gpu, values);
  fanin::buffer<T, fanin::cuda> memory(gpu, values.size());
  fanin::buffer<T, fanin::cuda> out(gpu, 2 * counts.size());
  fanin::buffer<int, fanin::cuda> spoilt(gpu, std::vector<int>{0});
  for (std::size_t k = 0; k < counts.size(); ++k) {
    const unsigned whole_warps = (counts[k] + 31) / 32 * 32;
    std::size_t at = 2 * k;
    for (const unsigned threads : {whole_warps, most}) {
      How::launch(gpu.stream(), threads, op,
                  block_job<T>{from.data(), counts[k], memory.data(), out.data() + at++, spoilt.data()});
    }
  }
  check(cudaGetLastError());
  std::vector<T> got(2 * counts.size());
  std::vector<int> is_spoilt(1);
  out.copy_to(got);
  spoilt.copy_to(is_spoilt);
  EXPECT_EQ(is_spoilt[0], 0) << How::name() << " wrote beyond its values";
  for (std::size_t k = 0; k < counts.size(); ++k) {
    T expected = op.identity();
    for (unsigned i = 0; i < counts[k]; ++i) op.join(expected, values[i]);
    for (const std::size_t at : {2 * k, 2 * k + 1}) {
      ASSERT_EQ(std::memcmp(&got[at], &expected, sizeof(T)), 0)
          << How::name() << ", " << counts[k] << " values, " << (at % 2 == 0 ? "as many warps" : "a larger block")
          << explain_difference(values, got[at], expected);
    }
  }
}

template <class Stage, class Op, class T>
void expect_block_stage_in_memory(fanin::cuda& gpu, const Op& op, const std::vector<T>& values,
                                  const std::vector<unsigned>& counts) {
  expect_block_stage<in_memory<Stage, true>>(gpu, op, values, counts);
  expect_block_stage<in_memory<Stage, false>>(gpu, op, values, counts);
}

/// Every stage for one type of values.
template <class Op, class T>
void expect_all_block_stages(fanin::cuda& gpu, const Op& op, const std::vector<T>& values,
                             const std::vector<unsigned>& counts) {
  expect_block_stage_in_memory<thread0_serial>(gpu, op, values, counts);
  expect_block_stage_in_memory<neighbored_divergent>(gpu, op, values, counts);
  expect_block_stage_in_memory<neighbored_strided>(gpu, op, values, counts);
  expect_block_stage_in_memory<interleaved>(gpu, op, values, counts);
  expect_block_stage_in_memory<interleaved_unrolled_warp>(gpu, op, values, counts);
  expect_block_stage_in_memory<unrolled>(gpu, op, values, counts);
  expect_block_stage_in_memory<unrolled_shuffle_tail>(gpu, op, values, counts);
  expect_block_stage<by_shuffle>(gpu, op, values, counts);
  expect_block_stage<through_slots>(gpu, op, values, counts);
}

/// Counts around everything that a stage decides by.
inline std::vector<unsigned> telling_counts(unsigned most) {
  std::vector<unsigned> counts{1,  2,   3,   5,   7,   15,  16,  17,  31,  32,  33,  47,  63,  64,    65,    95,
                               97, 127, 128, 129, 191, 255, 256, 257, 383, 511, 512, 513, 767, 1'000, 1'023, 1'024};
  std::erase_if(counts, [&](unsigned count) { return count > most; });
  return counts;
}

}  // namespace fanin_test
