// SPDX-License-Identifier: Apache-2.0
#include "harness/between.hpp"

namespace fanin_perf {

void calls_between::run(std::int64_t first, std::int64_t count) {
  std::int64_t buffer = first;
  for (std::int64_t i = 0; i < count; ++i) {
    if (is_behind_axpy(how_)) {
      const std::int64_t writes_to_come = (count - 1 - i) / work_.buffers;
      const std::int64_t at = buffer * work_.stride;
      // The copy of the pool is the harness's own.
      auto* const y = const_cast<std::byte*>(work_.pool) + at;
      gpu_.enqueue_axpy(work_.type, writes_to_come % 2 == 0 ? sign_ : -sign_, source_ + at, 0, y, work_.n);
    } else {
      gpu_.enqueue_small();
    }
    if (prepared_ != nullptr) prepared_->run(buffer, 1);
    if (++buffer == work_.buffers) buffer = 0;
  }
}

}  // namespace fanin_perf
