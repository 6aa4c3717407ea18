// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include <fanin/buffer.hpp>
#include <fanin/cuda/cuda.hpp>
#include <fanin/serial/serial.hpp>

#include "support/data.hpp"

#if FANIN_TEST_ON_SIMULATOR
#include "simulator/machine.hpp"
#include "span_reduction.cuh"
#else
#include "contract/fixtures/cuda_device.hpp"
#endif

/// What tests of ranks with devices share: what they reduce, how it is split, and the device, which is a GPU that ranks
/// may share, or a simulated one for each rank, whose kernels run when the host looks.
#if FANIN_TEST_ON_SIMULATOR
namespace fanin::detail {  // which the library has
template struct cuda_span_reduction<sum<std::int64_t>>;
template struct cuda_span_reduction<sum<double>>;
}  // namespace fanin::detail
#endif

namespace fanin_test {

inline const fanin::serial exec;

FANIN_FUNCTION inline double element(std::int64_t i) {
  const std::uint64_t draw = mix(static_cast<std::uint64_t>(i));
  const int exponent = static_cast<int>(draw % 300) - 200;
  const double power = std::bit_cast<double>(static_cast<std::uint64_t>(1023 + exponent) << 52);
  return (static_cast<double>(draw >> 12) - 0x1p51) * power;
}
struct element_at {
  FANIN_FUNCTION double operator()(std::int64_t i) const { return element(i); }
};
/// Of one magnitude, so that every order of additions rounds otherwise.
struct unit_at {
  FANIN_FUNCTION double operator()(std::int64_t i) const {
    return static_cast<double>(mix(static_cast<std::uint64_t>(i)) >> 11) * 0x1p-53;
  }
};
struct small_at {
  FANIN_FUNCTION std::int64_t operator()(std::int64_t i) const {
    return static_cast<std::int64_t>(mix(static_cast<std::uint64_t>(i)) % 100);
  }
};
struct in_plane {
  FANIN_FUNCTION void operator()(std::int64_t i, std::int64_t j, std::int64_t& sum, std::int64_t& most) const {
    sum += i * j;
    most = most > i + j ? most : i + j;
  }
};

/// A reducer of one's own, with a result and a large accumulator.
struct mean {
  struct sums {
    double sum;
    std::int64_t count;
    char padding[72];
  };
  using value_type = std::int64_t;
  using accumulator_type = sums;
  using result_type = double;
  FANIN_FUNCTION sums identity() const { return {}; }
  FANIN_FUNCTION void fold(sums& acc, std::int64_t value, std::int64_t) const {
    acc.sum += static_cast<double>(value);
    ++acc.count;
  }
  FANIN_FUNCTION void join(sums& into, const sums& from) const {
    into.sum += from.sum;
    into.count += from.count;
  }
  FANIN_FUNCTION double result(const sums& acc) const {
    return acc.count == 0 ? 0 : acc.sum / static_cast<double>(acc.count);
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

inline int rank_of_world() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}
/// Other draws, where the environment says so.
inline std::uint64_t first_seed() {
  const char* const given = std::getenv("FANIN_RANKS_SEED");
  return given == nullptr ? 0 : std::strtoull(given, nullptr, 10);
}

/// Where the parts of n indices begin, by a seed: uneven, some of them empty.
struct own_part {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  template <class Comm>
  own_part(std::int64_t n, const Comm& comm, std::uint64_t seed) {
    std::vector<std::int64_t> begins{0, n};
    for (int rank = 1; rank < comm.size(); ++rank) {
      const std::uint64_t draw = mix(seed * 1'000 + static_cast<std::uint64_t>(rank));
      begins.push_back(draw % 4 == 0 ? 0 : static_cast<std::int64_t>(draw / 4 % static_cast<std::uint64_t>(n + 1)));
    }
    std::sort(begins.begin(), begins.end());
    begin = begins[static_cast<std::size_t>(comm.rank())];
    end = begins[static_cast<std::size_t>(comm.rank()) + 1];
  }
};

class devices : public ::testing::Test {
 protected:
  void SetUp() override {
#if FANIN_TEST_ON_SIMULATOR
    begin(1);
#else
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
