// SPDX-License-Identifier: Apache-2.0
#pragma once

// Fanin's CUDA backend as a contender: forms of a call, and both destinations.

#include <algorithm>
#include <cstdint>
#include <fanin/fanin.hpp>
#include <memory>
#include <span>

#include "contenders/fanin_calls.hpp"
#include "harness/cuda_check.hpp"
#include "harness/registry.hpp"

namespace fanin_perf {

/// acc = the better of acc and x[i], written as a user would.
template <class T, bool Least>
struct keep_extreme {
  const T* x;
  FANIN_PERF_FUNCTION void operator()(std::int64_t i, T& acc) const {
    const T value = x[i];
    if (Least ? value < acc : acc < value) acc = value;
  }
};

/// See fanin_reduce_span().
struct span_form {
  static constexpr const char* name = "span";

  template <class T, operation Op, class Exec>
  static auto reduce(Exec& exec, const T* x, const T* y, std::int64_t n) {
    return fanin_reduce_span<T, Op>(exec, x, y, n);
  }

  template <class T, operation Op, class Exec, class Out>
  static void reduce_into(Out* out, Exec& exec, const T* x, [[maybe_unused]] const T* y, std::int64_t n) {
    const std::span<const T> xs(x, static_cast<std::size_t>(n));
    if constexpr (Op == operation::several) {
      fanin::transform_reduce_into(out, exec, xs, values_for_four<T>{}, fanin::sum<T>{}, fanin::min<T>{},
                                   fanin::max<T>{}, fanin::sum<T>{});
    } else if constexpr (Op == operation::sum_of_squares) {
      fanin::transform_reduce_into(out, exec, xs, square<T>{}, fanin_reducer<T, Op>());
    } else if constexpr (Op == operation::dot) {
      const std::span<const T> ys(y, static_cast<std::size_t>(n));
      fanin::transform_reduce_into(out, exec, xs, ys, multiply<T>{}, fanin_reducer<T, Op>());
    } else {
      fanin::reduce_into(out, exec, xs, fanin_reducer<T, Op>());
    }
  }
};

/// parallel_reduce() with f(i), a value.
struct value_form {
  static constexpr const char* name = "f(i)";

  template <class T, operation Op>
  static auto functor(const T* x, [[maybe_unused]] const T* y) {
    if constexpr (Op == operation::dot) {
      return element_product<T>{x, y};
    } else {
      return element_value<T>{x};
    }
  }

  template <class T, operation Op, class Exec>
  static auto reduce(Exec& exec, const T* x, const T* y, std::int64_t n) {
    return fanin::parallel_reduce(fanin::range(exec, 0, n), functor<T, Op>(x, y), fanin_reducer<T, Op>());
  }

  template <class T, operation Op, class Exec, class Out>
  static void reduce_into(Out* out, Exec& exec, const T* x, const T* y, std::int64_t n) {
    fanin::parallel_reduce_into(out, fanin::range(exec, 0, n), functor<T, Op>(x, y), fanin_reducer<T, Op>());
  }
};

/// parallel_reduce() with f(i, acc&), which combines by itself.
struct accumulating_form {
  static constexpr const char* name = "f(i, acc)";

  template <class T, operation Op>
  static auto functor(const T* x, [[maybe_unused]] const T* y) {
    if constexpr (Op == operation::dot) {
      return add_product<T>{x, y};
    } else if constexpr (Op == operation::sum_of_squares) {
      return add_square<T>{x};
    } else if constexpr (Op == operation::sum) {
      return add_element<T>{x};
    } else {
      return keep_extreme<T, Op == operation::min>{x};
    }
  }

  template <class T, operation Op, class Exec>
  static auto reduce(Exec& exec, const T* x, const T* y, std::int64_t n) {
    return fanin::parallel_reduce(fanin::range(exec, 0, n), functor<T, Op>(x, y), fanin_reducer<T, Op>());
  }

  template <class T, operation Op, class Exec, class Out>
  static void reduce_into(Out* out, Exec& exec, const T* x, const T* y, std::int64_t n) {
    fanin::parallel_reduce_into(out, fanin::range(exec, 0, n), functor<T, Op>(x, y), fanin_reducer<T, Op>());
  }
};

/// One fanin::cuda on the run's stream, with a strategy.
template <class T, operation Op, class Form, class Strategy, destination To>
class fanin_cuda_call final : public call {
 public:
  explicit fanin_cuda_call(const workload& work, const fanin::cuda_tuning& tuning = {})
      : work_(work),
        stream_(static_cast<cudaStream_t>(work.stream)),
        gpu_(stream_),
        exec_(gpu_.with<Strategy>(tuning)),
        on_device_(1) {}

  void run(std::int64_t first, std::int64_t count) override {
    std::int64_t buffer = first;
    for (std::int64_t i = 0; i < count; ++i) {
      const T* x = work_.x<T>(buffer);
      const T* y = work_.y<T>(buffer);
      if constexpr (To == destination::host) {
        found_ = Form::template reduce<T, Op>(exec_, x, y, work_.n);
      } else {
        Form::template reduce_into<T, Op>(on_device_.data(), exec_, x, y, work_.n);
      }
      if (++buffer == work_.buffers) buffer = 0;
    }
  }

  answer last() override {
    if constexpr (To == destination::device) {
      FANIN_PERF_CHECK(cudaMemcpyAsync(&found_, on_device_.data(), sizeof(found_), cudaMemcpyDeviceToHost, stream_));
      gpu_.synchronize();
    }
    if constexpr (Op == operation::several) {
      return answer::of(four_of(found_));
    } else if constexpr (has_index(Op)) {
      return answer::of(found_.value, found_.index);
    } else {
      return answer::of(found_);
    }
  }

 private:
  using execution = fanin::cuda_view<Strategy>;
  using result = decltype(Form::template reduce<T, Op>(std::declval<execution&>(), nullptr, nullptr, 0));

  workload work_;
  cudaStream_t stream_;
  fanin::cuda gpu_;
  execution exec_;
  device_array<result> on_device_;
  result found_{};
};

/// `Choice::offers<T, Op>()` says which combinations are compiled.
template <class Form, class Strategy, class Choice, destination To>
struct fanin_cuda_family {
  static constexpr bool takes_all_types = fanin_perf::takes_all_types<Choice>;
  static constexpr bool takes_exact_sums = fanin_perf::takes_exact_sums<Choice>;

  template <class T, operation Op>
  static constexpr bool offers() {
    return Choice::template offers<T, Op>();
  }

  fanin::cuda_tuning tuning{};

  template <class T, operation Op>
  std::unique_ptr<call> make(const workload& work) const {
    return std::unique_ptr<call>(new fanin_cuda_call<T, Op, Form, Strategy, To>(work, tuning));
  }
};

/// How a strategy's order bounds the error of a float sum, from its recipe: see error_bound().
inline void set_order(contender& who, const fanin::cuda_recipe& recipe) {
  constexpr double most_multiprocessors = 256;
  const bool leaves_all_threads = recipe.block == fanin::cuda_stage::block::none;
  const double blocks = recipe.grid_size > 0 ? recipe.grid_size : recipe.blocks_per_sm * most_multiprocessors;
  who.lanes = recipe.grid_size > 0 ? std::min(16384.0, blocks * recipe.block_size) : 16384.0;
  // Trees, several passes of them, and a fold of a few elements in each.
  who.joins = 128;
  if (recipe.block == fanin::cuda_stage::block::thread0_serial) who.joins += recipe.block_size;
  // Partial results that the host or the last block adds up one after the other.
  who.joins += leaves_all_threads ? blocks * recipe.block_size : blocks;
}

/// A strategy in a form, but for where its result goes.
template <class Form, class Strategy>
contender describe_fanin_cuda() {
  contender who;
  who.name = "fanin";
  who.backend = "cuda";
  who.strategy = Strategy::name;
  who.form = Form::name;
  who.where = place::gpu;
  who.rounds_once = true;
  set_order(who, Strategy::recipe);
  who.propagates_nan = std::is_same_v<Form, span_form> || std::is_same_v<Form, value_form>;
  return who;
}

/// Adds a strategy in a form, to both destinations; one that finishes on the host has only that one.
template <class Form, class Strategy, class Choice>
void add_fanin_cuda_rows(registry& to) {
  contender who = describe_fanin_cuda<Form, Strategy>();
  if constexpr (is_stream_ordered(Strategy::recipe)) {
    who.to = destination::device;
    who.capturable = true;
    to.add(of_family(who, fanin_cuda_family<Form, Strategy, Choice, destination::device>{}));
  }
  who.to = destination::host;
  to.add(of_family(who, fanin_cuda_family<Form, Strategy, Choice, destination::host>{}));
}

}  // namespace fanin_perf
