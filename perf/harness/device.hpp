// SPDX-License-Identifier: Apache-2.0
#pragma once

// The GPU as a place to measure, without CUDA's headers, so that units without CUDA can use it.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "harness/contender.hpp"
#include "harness/data_kinds.hpp"
#include "harness/kinds.hpp"

namespace fanin_perf {

struct device_facts {
  std::string gpu;
  std::string driver;        ///< the kernel driver's version, as in 580.95.05
  std::string cuda_driver;   ///< the CUDA version that the driver offers
  std::string cuda_runtime;  ///< the CUDA version of the build
  int multiprocessors = 0;
  std::int64_t memory = 0;
  std::int64_t l2_bytes = 0;
};

/// Device 0, one stream, one pool of data. Members throw std::runtime_error with CUDA's error.
class device {
 public:
  device() = default;
  device(const device&) = delete;
  device& operator=(const device&) = delete;
  virtual ~device() = default;

  virtual const device_facts& facts() const = 0;
  virtual void* stream() = 0;  ///< cudaStream_t

  /// A pool of at least `bytes`; what an earlier, smaller one held is lost.
  virtual std::byte* pool(std::int64_t bytes) = 0;
  virtual void fill(element type, const data_kind& kind, std::uint64_t seed) = 0;
  virtual void fill_copies(const std::byte* source, std::int64_t bytes, std::int64_t stride) = 0;

  /// A second pool, that kernels may write, with what the first one holds now.
  virtual std::byte* copy_pool() = 0;

  /// Puts a kernel of one block on the stream, which touches memory of its own.
  virtual void enqueue_small() = 0;

  /// y[i] = a * x[i] + b * y[i] of n numbers of 32 or 64 bits, on the stream; a thread an element.
  virtual void enqueue_axpy(element type, int a, const std::byte* x, int b, std::byte* y, std::int64_t n) = 0;

  /// Seconds between events before and after what `enqueue` puts on the stream.
  virtual double time(const std::function<void()>& enqueue) = 0;

  /// The same after other data have passed through the caches; these are still being read while `enqueue` runs, so that
  /// no time of the host's is measured.
  virtual double time_cold(const std::function<void()>& enqueue) = 0;

  /// `count` calls of `prepared` from buffer `first` on, captured into one CUDA graph. A call of what is returned is
  /// one launch of the graph; its last() is that of the graph's last call.
  virtual std::unique_ptr<call> capture(std::unique_ptr<call> prepared, std::int64_t first, std::int64_t count) = 0;

  /// GB/s of plain 16-byte loads over the pool: 512 threads, 4 loads in flight, 4 blocks an SM.
  virtual double measure_read() = 0;

  /// Seconds from launch to return of an empty kernel and a wait for the stream.
  virtual double measure_blocking_floor() = 0;
};

/// Null where there is no usable GPU; `why_not` then says why, in words.
std::unique_ptr<device> open_device(std::string& why_not);

}  // namespace fanin_perf
