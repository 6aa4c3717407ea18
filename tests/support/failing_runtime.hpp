// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <limits>
#include <string>

/// A layer between Fanin and the CUDA runtime, a GPU's or the simulated one: the linker hands it every call
/// (fanin_with_failing_runtime in CMake). It makes calls fail that a test names, counts what is held, and else passes
/// on.
namespace fanin_test {

/// While one lives, calls of the runtime and allocations by operator new are counted, in all threads, and one of them
/// fails, and with it the calls of the runtime after it, so many in all; as after a fault, all of them. What a call
/// that fails would have given up or waited for, is: CUDA says of those that they tell of earlier errors.
class failing_runtime {
 public:
  static constexpr std::int64_t all = std::numeric_limits<std::int64_t>::max();
  /// The k-th from now on, 1 the next; 0 none.
  explicit failing_runtime(std::int64_t kth, std::int64_t so_many = 1);
  ~failing_runtime();
  failing_runtime(const failing_runtime&) = delete;
  failing_runtime& operator=(const failing_runtime&) = delete;

  bool has_failed() const;
  bool fails_once() const;
  /// What failed: a function of the runtime, "operator new" or nothing.
  std::string failed() const;
};

/// While one lives, the calls of the runtime and of the driver, and allocations by operator new, are noted in order.
class noted_calls {
 public:
  noted_calls();
  ~noted_calls();
  noted_calls(const noted_calls&) = delete;
  noted_calls& operator=(const noted_calls&) = delete;

  /// Their names so far, with a space between them.
  std::string text() const;
};

/// While one lives, nothing that this thread does counts: what the application itself asks of the runtime.
class not_counted {
 public:
  not_counted();
  ~not_counted();
  not_counted(const not_counted&) = delete;
  not_counted& operator=(const not_counted&) = delete;

 private:
  bool before_;
};

/// While one lives, this function of the runtime gives this code.
class failing_call {
 public:
  failing_call(const char* name, cudaError_t code);
  ~failing_call();
  failing_call(const failing_call&) = delete;
  failing_call& operator=(const failing_call&) = delete;
};

/// While one lives, the device is of compute capability major.0.
class pretended_capability {
 public:
  explicit pretended_capability(int major);
  ~pretended_capability();
  pretended_capability(const pretended_capability&) = delete;
  pretended_capability& operator=(const pretended_capability&) = delete;
};

/// While one lives, the driver has no function of this name.
class old_driver {
 public:
  explicit old_driver(const char* lacks);
  ~old_driver();
  old_driver(const old_driver&) = delete;
  old_driver& operator=(const old_driver&) = delete;
};

/// Allocations, streams and user objects of graphs that the runtime has given and not taken back.
std::int64_t held_of_runtime();
/// The device is another one, and nothing is left of what it gave.
void forget_held_of_runtime();

}  // namespace fanin_test
