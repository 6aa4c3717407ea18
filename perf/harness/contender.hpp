// SPDX-License-Identifier: Apache-2.0
#pragma once

// A contender: one way to compute a reduction, behind an interface that the harness can time.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/answer.hpp"
#include "harness/kinds.hpp"

namespace fanin_perf {

/// The data of one case: arrays that follow each other in a pool, all of the same size, so that
/// calls rotate over more memory than the caches hold.
struct workload {
  element type = element::f32;
  operation op = operation::sum;
  std::int64_t n = 0;
  const std::byte* pool = nullptr;  ///< in the memory of the place where the contender runs
  std::int64_t array_bytes = 0;     ///< one array, rounded up to 256 bytes
  std::int64_t stride = 0;          ///< from one buffer (one array, or two for dot) to the next
  std::int64_t buffers = 0;
  void* stream = nullptr;  ///< cudaStream_t; null on the host

  template <class T>
  const T* x(std::int64_t buffer) const {
    return reinterpret_cast<const T*>(pool + buffer * stride);
  }
  template <class T>
  const T* y(std::int64_t buffer) const {
    return reinterpret_cast<const T*>(pool + buffer * stride + array_bytes);
  }
  std::int64_t bytes() const { return n * size_of(type) * arrays_of(op); }
};

/// One contender prepared for one workload.
class call {
 public:
  call() = default;
  call(const call&) = delete;
  call& operator=(const call&) = delete;
  virtual ~call() = default;

  /// Computes `count` answers, from buffer `first` on, going round. With the destination `host`
  /// each value is there before the next call starts; with `device` the calls are only enqueued.
  virtual void run(std::int64_t first, std::int64_t count) = 0;

  /// The answer of the last call of run(); waits for it.
  virtual answer last() = 0;
};

struct contender {
  std::string name;      ///< fanin, std, kokkos, cub, thrust, cublas
  std::string backend;   ///< serial, kokkos-serial, kokkos-openmp, kokkos-cuda, cuda
  std::string strategy;  ///< of Fanin's; empty elsewhere
  std::string form;      ///< span, f(i), f(i, acc)
  std::string tuning;    ///< of Fanin's strategy, as it is written in a program; empty: the strategy's own choice
  place where = place::one_thread;
  destination to = destination::host;
  bool capturable = false;     ///< to the device: its calls can be captured into a CUDA graph
  bool several_waits = false;  ///< capturable, but for operation::several
  bool is_baseline = false;    ///< plain Kokkos at its best, what ratios refer to
  bool is_peer = false;        ///< of the libraries that every other row gets a ratio to
  bool smallest_index = true;  ///< false: any index of the extreme value is right
  bool propagates_nan = true;  ///< false: left out where the data holds a NaN
  std::int64_t largest = 0;    ///< most elements it takes of synthetic data; 0: any
  double lanes = 1;            ///< independent partial sums, at least; see error_bound()
  double joins = 64;           ///< and the longest chain of additions that joins them, at most
  bool halving = false;        ///< sums pairwise, by recursive halving
  bool rounds_once = false;    ///< its exact_sum is one: no error but that of rounding to the type

  std::function<bool(element, operation)> offers;
  std::function<std::unique_ptr<call>(const workload&)> prepare;

  /// As the tables and plots name it, as in "fanin one_pass, f(i)".
  std::string label() const;

  /// How it can be timed.
  std::vector<timing> timings() const {
    if (where != place::gpu) return {timing::host};
    if (to == destination::host) return {timing::blocking};
    if (!capturable) return {timing::calls};
    return {timing::calls,        timing::graph,           timing::between_small, timing::between_small_hot,
            timing::between_axpy, timing::between_axpy_hot};
  }
};

using contender_list = std::vector<contender>;

/// Whether a family says of itself that it `takes_all_types`.
template <class Family>
inline constexpr bool takes_all_types = [] {
  if constexpr (requires { Family::takes_all_types; }) {
    return Family::takes_all_types;
  } else {
    return false;
  }
}();

/// Whether a family says of itself that it `takes_exact_sums`.
template <class Family>
inline constexpr bool takes_exact_sums = [] {
  if constexpr (requires { Family::takes_exact_sums; }) {
    return Family::takes_exact_sums;
  } else {
    return false;
  }
}();

/// What makes a family's calls, by type and operation; null where it has none. All families are asked about the numbers
/// of 32 and 64 bits; about sums of the other types those that take all types, and about exact sums those that take
/// them.
template <class Family>
class family_calls {
 public:
  using maker = std::unique_ptr<call> (*)(const Family&, const workload&);

  constexpr family_calls() { add_types(element_types{}); }

  constexpr maker operator()(element type, operation op) const {
    return makers_[static_cast<std::size_t>(type)][static_cast<std::size_t>(op)];
  }

 private:
  template <class T, operation Op>
  static std::unique_ptr<call> make(const Family& family, const workload& work) {
    return family.template make<T, Op>(work);
  }

  template <class T, operation Op>
  constexpr void add() {
    if constexpr (Family::template offers<T, Op>()) {
      makers_[static_cast<std::size_t>(element_of<T>)][static_cast<std::size_t>(Op)] = &make<T, Op>;
    }
  }

  template <class T>
  constexpr void add_type() {
    if constexpr (has_all_operations<T>) {
      add<T, operation::sum>();
      add<T, operation::min>();
      add<T, operation::max>();
      add<T, operation::min_loc>();
      add<T, operation::max_loc>();
      add<T, operation::sum_of_squares>();
      add<T, operation::dot>();
      add<T, operation::several>();
      if constexpr (is_defined<T, operation::exact_sum> && takes_exact_sums<Family>) add<T, operation::exact_sum>();
    } else if constexpr (takes_all_types<Family>) {
      add<T, operation::sum>();
    }
  }

  template <class... T>
  constexpr void add_types(type_list<T...>) {
    (add_type<T>(), ...);
  }

  std::array<std::array<maker, operation_names.size()>, element_names.size()> makers_{};
};

/// Completes a contender from a family: a class with `offers<T, Op>()` and `make<T, Op>(workload)`.
template <class Family>
contender of_family(contender described, Family family = {}) {
  // A table and no switch: fewer functions to compile for each of many families.
  static constexpr family_calls<Family> calls;
  described.offers = [](element type, operation op) { return calls(type, op) != nullptr; };
  described.prepare = [family](const workload& work) {
    const auto make = calls(work.type, work.op);
    return make == nullptr ? nullptr : make(family, work);
  };
  return described;
}

/// A contender that offers what either of the two does: one whose combinations are compiled in several units.
inline contender joined(contender first, const contender& second) {
  const auto takes = first.offers;
  first.offers = [takes, also = second.offers](element type, operation op) {
    return takes(type, op) || also(type, op);
  };
  first.prepare = [takes, prepare = first.prepare, otherwise = second.prepare](const workload& work) {
    return takes(work.type, work.op) ? prepare(work) : otherwise(work);
  };
  return first;
}

/// A call that has its value on the host when it returns: `compute(x, y, n)` gives the value, or a
/// pair of value and index.
template <class T, class Compute>
class blocking_call final : public call {
 public:
  blocking_call(const workload& work, Compute compute) : work_(work), compute_(std::move(compute)) {}

  void run(std::int64_t first, std::int64_t count) override {
    std::int64_t buffer = first;
    for (std::int64_t i = 0; i < count; ++i) {
      last_ = compute_(work_.x<T>(buffer), work_.y<T>(buffer), work_.n);
      // The answer counts as read, so that no call is optimised away.
      asm volatile("" : : "r"(&last_) : "memory");
      if (++buffer == work_.buffers) buffer = 0;
    }
  }

  answer last() override {
    if constexpr (requires { last_.second; }) {
      return answer::of<T>(last_.first, last_.second);
    } else {
      return answer::of(last_);
    }
  }

 private:
  using result = std::invoke_result_t<Compute&, const T*, const T*, std::int64_t>;

  workload work_;
  Compute compute_;
  result last_{};
};

template <class T, class Compute>
std::unique_ptr<call> make_blocking(const workload& work, Compute compute) {
  return std::unique_ptr<call>(new blocking_call<T, Compute>(work, std::move(compute)));
}

}  // namespace fanin_perf
