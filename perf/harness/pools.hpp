// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "harness/contender.hpp"
#include "harness/device.hpp"
#include "harness/host.hpp"
#include "harness/options.hpp"
#include "harness/oracle.hpp"
#include "harness/result.hpp"
#include "npy.hpp"

namespace fanin_perf {

/// What is reduced.
struct case_of_run {
  element type = element::f32;
  operation op = operation::sum;
  std::int64_t n = 0;
  int input = -1;
  data_kind kind{};  ///< of synthetic data
};

/// Its arrays, without a place.
workload describe(const case_of_run& one);

/// The memory that calls read, of the host and of the device: as many arrays side by side as caches are too small for.
/// Filled anew where a case wants other data.
class data_pools {
 public:
  /// `arrays` are the inputs that a case may name; they may still be read in.
  data_pools(const options& chosen, device* gpu, const std::vector<input_array>& arrays);

  workload on_host(const case_of_run& one);
  workload on_device(const case_of_run& one);
  /// What a call on this buffer reads.
  data_source source_of(const case_of_run& one, const workload& work, std::int64_t buffer) const;

  /// How fast the host's memory is read, and the device's; what is found goes where it is better than what is there.
  void measure_host(limits& found);
  void measure_device(limits& found);

 private:
  host_pool& host_pool_of(std::int64_t bytes);
  std::int64_t largest_host_stride(const case_of_run& one) const;

  // What a pool holds: the synthetic values of a type, or copies of an input.
  struct content {
    element type;
    int input;
    data_kind kind;
    friend bool operator==(const content&, const content&) = default;
  };

  const options& chosen_;
  device* gpu_;
  const std::vector<input_array>& arrays_;
  host_facts facts_;
  std::unique_ptr<host_pool> host_pool_;
  std::optional<content> host_holds_;
  std::int64_t device_pool_bytes_ = 0;
  std::int64_t device_pool_size_ = 0;
  std::optional<content> device_holds_;
};

}  // namespace fanin_perf
