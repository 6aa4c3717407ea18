// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#if FANIN_TEST_ON_KOKKOS
#include "mpi/kokkos_device.hpp"
#endif

#include <fanin/buffer.hpp>
#include <fanin/serial/serial.hpp>

#include "mpi/parts.hpp"
#include "support/data.hpp"

#if !FANIN_TEST_ON_PRETENDED_DEVICE
#include <fanin/cuda/cuda.hpp>
#endif
#if FANIN_TEST_ON_SIMULATOR
#include "simulator/machine.hpp"
#include "span_reduction.cuh"
#elif !FANIN_TEST_ON_PRETENDED_DEVICE
#include "contract/fixtures/cuda_device.hpp"
#endif

/// What tests of ranks with devices share: what they reduce, how it is split, and the device, which is a GPU that ranks
/// may share, by CUDA or by Kokkos, or a simulated one for each rank, whose kernels run when the host looks.
#if FANIN_TEST_ON_SIMULATOR
namespace fanin::detail {  // which the library has
template struct cuda_span_reduction<sum<std::int64_t>>;
template struct cuda_span_reduction<sum<double>>;
}  // namespace fanin::detail
#endif

namespace fanin_test {

inline const fanin::serial exec;

#if FANIN_TEST_ON_KOKKOS
using device = fanin::kokkos<kokkos_device_space>;
#else
using device = fanin::cuda;
#endif
#if FANIN_TEST_ON_KOKKOS && !FANIN_TEST_ON_PRETENDED_DEVICE
inline cudaStream_t stream_of(const device& gpu) { return gpu.space().cuda_stream(); }
#elif !FANIN_TEST_ON_KOKKOS
inline cudaStream_t stream_of(const device& gpu) { return gpu.stream(); }
#endif

struct in_plane {
  FANIN_FUNCTION void operator()(std::int64_t i, std::int64_t j, std::int64_t& sum, std::int64_t& most) const {
    sum += i * j;
    most = most > i + j ? most : i + j;
  }
};

/// g of finished(g, ...), which reads and writes memory of the backend.
struct scaled {
  const double* scale;
  std::int64_t* calls;
  FANIN_FUNCTION double operator()(double of_all, std::int64_t most) const {
    ++*calls;
    return *scale * of_all + static_cast<double>(most);
  }
};

/// Other draws, where the environment says so.
inline std::uint64_t first_seed() {
  const char* const given = std::getenv("FANIN_RANKS_SEED");
  return given == nullptr ? 0 : std::strtoull(given, nullptr, 10);
}

class devices : public ::testing::Test {
 protected:
  void SetUp() override {
#if FANIN_TEST_ON_SIMULATOR
    begin(1);
#elif !FANIN_TEST_ON_PRETENDED_DEVICE
    if (const std::string why = no_gpu(); !why.empty()) GTEST_SKIP() << why;
    int gpus = 0;
    cudaGetDeviceCount(&gpus);
    cudaSetDevice(rank_of_world() % gpus);
#endif
  }
  /// Another schedule of the device's threads, on each rank.
  static void begin([[maybe_unused]] std::uint64_t seed) {
#if FANIN_TEST_ON_SIMULATOR
    simulator::begin(simulator::schedule(seed * 64 + static_cast<std::uint64_t>(rank_of_world())));
#endif
  }
};

template <class T, class Exec>
using held = fanin::buffer<T, Exec>;
template <class T, class Exec>
held<T, Exec> copy_of(const Exec& object, std::span<const T> elements) {
  return held<T, Exec>(object, elements);
}
template <class T, class Exec>
T value_of(const held<T, Exec>& one) {
  T value;
  one.copy_to(std::span<T>(&value, 1));
  return value;
}

/// Red on any rank is red.
inline int run_on_ranks(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  testing::InitGoogleTest(&argc, argv);
  int failed = RUN_ALL_TESTS();
  int anywhere = 0;
  MPI_Allreduce(&failed, &anywhere, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return anywhere;
}

}  // namespace fanin_test
