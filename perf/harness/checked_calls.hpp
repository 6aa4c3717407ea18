// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "harness/contender.hpp"
#include "harness/device.hpp"
#include "harness/oracle.hpp"
#include "harness/pools.hpp"
#include "harness/result.hpp"

namespace fanin_perf {

/// What makes the calls of one case in one place ready, as they are to be timed, and looks at their answers before
/// that.
class checked_calls {
 public:
  /// `device_gbs` says how many calls a graph has.
  checked_calls(const case_of_run& one, const workload& work, const data_pools& pools, device* gpu, double device_gbs);

  /// The calls of a row, which were right if it has no fault then.
  std::unique_ptr<call> prepare(row& result);
  /// Those kernels alone that stand between the calls of such a row.
  call* kernels(timing how) const { return kernels_.at(how).get(); }

 private:
  struct checked_buffer {
    std::int64_t calls;  // from buffer 0 on; the last one's answer is looked at
    data_source data;
    reference right;
  };

  std::int64_t graph_nodes(const workload& work) const;
  static std::int64_t first_of_graph(const workload& work, std::int64_t nodes, const checked_buffer& last);
  static std::vector<checked_buffer> launches_of(const checked_buffer& last);
  static void check(
      call& prepared, const std::vector<checked_buffer>& buffers, row& result,
      const std::function<void()>& before = [] {});

  workload work_;
  device* gpu_;
  double device_gbs_;
  std::vector<checked_buffer> right_;
  std::map<timing, std::unique_ptr<call>> kernels_;
};

}  // namespace fanin_perf
