// SPDX-License-Identifier: Apache-2.0
#pragma once

// The host as a place to measure: its caches, its data, its clock, its read limit.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "harness/data_kinds.hpp"
#include "harness/kinds.hpp"

namespace fanin_perf {

struct host_facts {
  std::string cpu;
  int hardware_threads = 1;
  std::int64_t last_level_cache = 0;  ///< bytes; 32 MiB where the system does not say
};
host_facts look_at_host();

/// Bytes on a page boundary, not initialised.
class host_pool {
 public:
  explicit host_pool(std::int64_t bytes);
  std::byte* data() { return bytes_.get(); }
  const std::byte* data() const { return bytes_.get(); }
  std::int64_t size() const { return size_; }

  /// The synthetic values of `type` over the whole pool, written by all threads.
  void fill(element type, const data_kind& kind, std::uint64_t seed);

  /// Copies of `bytes` bytes from `source`, one at each multiple of `stride` that leaves room.
  void fill_copies(const std::byte* source, std::int64_t bytes, std::int64_t stride);

 private:
  struct release {
    void operator()(std::byte* p) const;
  };
  std::unique_ptr<std::byte, release> bytes_;
  std::int64_t size_;
};

/// Seconds of a steady clock.
double host_seconds();

/// GB/s of a read of the pool, best pass of this time: each thread one stream with eight accumulators, and eight pages
/// at once.
double measure_host_read(const host_pool& pool, int threads, double seconds);

}  // namespace fanin_perf
