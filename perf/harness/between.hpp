// SPDX-License-Identifier: Apache-2.0
#pragma once

// Calls between kernels of a user's, as a solver has them.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "harness/contender.hpp"
#include "harness/device.hpp"

namespace fanin_perf {

/// Calls of which each stands behind a kernel, as timing::between_... has it; or the kernels alone.
///
/// Behind an axpy, y = a*x + b*y, the call reads y, which is in a copy of the pool that holds x. With b = 0, and a = 1
/// in the kernel that writes an array last, the answer is that of the arrays as they were. When an array is written
/// more than once in a run, a is 1 and -1 in turn: a call that does not wait for its kernel finds the wrong sign.
class calls_between final : public call {
 public:
  /// `work` is what `prepared` was made for; where that is null the kernels are alone. `source` is the pool whose copy
  /// an axpy's work.pool is. `sign` is a of the kernels that write an array last.
  calls_between(timing how, const workload& work, const std::byte* source, device& gpu, std::unique_ptr<call> prepared,
                int sign = 1)
      : how_(how), work_(work), source_(source), gpu_(gpu), prepared_(std::move(prepared)), sign_(sign) {}

  void run(std::int64_t first, std::int64_t count) override;
  answer last() override { return prepared_ == nullptr ? answer{} : prepared_->last(); }

 private:
  timing how_;
  workload work_;
  const std::byte* source_;
  device& gpu_;
  std::unique_ptr<call> prepared_;
  int sign_;
};

}  // namespace fanin_perf
