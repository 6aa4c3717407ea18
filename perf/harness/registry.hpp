// SPDX-License-Identifier: Apache-2.0
#pragma once

// Every contender of this build. Each file of contenders/ has one function here.

#include <map>
#include <memory>
#include <string>

#include "harness/contender.hpp"

namespace fanin_perf {

struct registry {
  contender_list contenders;
  std::map<std::string, std::string> versions;  ///< of the libraries that take part

  /// What is there already takes on what `made` offers besides: combinations may be compiled in several units.
  void add(contender made);
};

// contenders/
void add_fanin_serial(registry& to);
void add_std_reduce(registry& to);
void add_kokkos_serial(registry& to);
void add_kokkos_openmp(registry& to);
void add_fanin_kokkos_serial(registry& to);
void add_fanin_kokkos_openmp(registry& to);
void add_fanin_cuda(registry& to);
void add_fanin_cuda_tunings(registry& to);
void add_fanin_cuda_types(registry& to);
void add_fanin_cuda_values(registry& to);
void add_fanin_cuda_accumulators(registry& to);
void add_fanin_cuda_exact(registry& to);
void add_kokkos_cuda(registry& to);
void add_cub(registry& to);
void add_cub_types(registry& to);
void add_cub_wheel(registry& to);
void add_cub_wheel_types(registry& to);
void add_cub_wheel_exact(registry& to);
void add_thrust(registry& to);
void add_cublas(registry& to);

/// All of them, in the order of the tables. They are made before Kokkos is initialised, and touch no
/// device until they are prepared for a workload.
registry all_contenders();

/// --tune: the default CUDA strategy and its bulk form with their own and with other blocks and grids. Empty in a build
/// without CUDA.
registry all_tunings();

/// Holds Kokkos initialised while it lives; null in a build without Kokkos.
std::shared_ptr<void> start_kokkos();

}  // namespace fanin_perf
