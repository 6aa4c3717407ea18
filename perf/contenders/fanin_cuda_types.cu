// SPDX-License-Identifier: Apache-2.0

// Fanin's CUDA backend over arrays of narrow numbers, complex numbers and structs: sums, in the default strategy.

#include <cstdint>
#include <span>

#include "contenders/device_types.hpp"
#include "contenders/fanin_cuda_calls.hpp"
#include "harness/registry.hpp"

namespace fanin_perf {
namespace {

// reduce() over the array, of elements as the device knows them.
struct span_of_types {
  static constexpr const char* name = span_form::name;

  template <class T, operation Op, class Exec>
  static auto reduce(Exec& exec, const T* x, const T*, std::int64_t n) {
    return fanin::reduce(exec, elements<T>(x, n), fanin_reducer<on_device<T>, Op, sum_type<T>>());
  }

  template <class T, operation Op, class Exec, class Out>
  static void reduce_into(Out* out, Exec& exec, const T* x, const T*, std::int64_t n) {
    fanin::reduce_into(out, exec, elements<T>(x, n), fanin_reducer<on_device<T>, Op, sum_type<T>>());
  }

 private:
  template <class T>
  static std::span<const on_device<T>> elements(const T* x, std::int64_t n) {
    return {reinterpret_cast<const on_device<T>*>(x), static_cast<std::size_t>(n)};
  }
};

struct choice_of_types {
  static constexpr bool takes_all_types = true;

  template <class T, operation Op>
  static constexpr bool offers() {
    return !has_all_operations<T>;
  }
};

}  // namespace

void add_fanin_cuda_types(registry& to) {
  add_fanin_cuda_rows<span_of_types, fanin::cuda_strategy::one_pass, choice_of_types>(to);
}

}  // namespace fanin_perf
