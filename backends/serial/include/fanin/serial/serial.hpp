// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <type_traits>
#include <vector>

#include <fanin/detail/axes_functor.hpp>
#include <fanin/detail/composite.hpp>
#include <fanin/detail/many.hpp>
#include <fanin/detail/md_functor.hpp>
#include <fanin/execution.hpp>
#include <fanin/host/fold.hpp>
#include <fanin/host/many.hpp>
#include <fanin/pending.hpp>

namespace fanin {

/// In which order the serial backend combines.
enum class serial_order {
  /// Sums and products of numbers (arithmetic types of up to 8 bytes) in float or double, in lanes, 256 bytes of them
  /// (64 of floats, 32 of doubles): element i goes to lane i modulo their number, counted from the range's first index,
  /// and lanes start from the identity. In the end lane j takes lane j + half in, for half of their number, then halves
  /// of what is left. Sums of integers and extremes do not depend on an order; everything else, and all of f(i,
  /// acc&...), goes from left to right. The same bits on every processor, from every compiler and with any flags, but
  /// that denormals and rounding are as the thread's mode has them (a program linked with -ffast-math flushes them).
  lanes,
  /// ((f(0) + f(1)) + f(2)) + ...: the oracle of every other backend.
  left_to_right,
  /// Element i with element i + ceil(n/2), then the halves' halves, until one is left. Rounds like a tree (an error
  /// that grows with log n) and needs a spill of ceil(n/2) accumulators per call.
  recursive_halving,
};

/// The serial backend: the calling thread. A value without state: copies are independent, and any
/// number of host threads may use them at once. What a functor throws passes through.
class serial {
 public:
  constexpr serial() = default;
  constexpr explicit serial(serial_order order) : order_{order} {}
  constexpr serial_order order() const noexcept { return order_; }
  /// Nothing is ever in flight.
  constexpr void synchronize() const noexcept {}

 private:
  serial_order order_ = serial_order::lanes;
};

template <>
inline constexpr bool detail::is_host_backend<serial> = true;

template <>
struct backend<serial> {
  using handle_type = serial;
  using memory_type = serial;
  static constexpr const char* name = "serial";

  static constexpr serial handle(const serial& exec) noexcept { return exec; }
  static serial& default_object() noexcept {
    static thread_local serial object;
    return object;
  }

  template <class F, class Composite>
  static typename Composite::result_type reduce(serial exec, const char*, std::int64_t first, std::int64_t count,
                                                const F& f, const Composite& c) {
    return c.result_on_host(in_order(exec, first, count, f, in_steps(c)));
  }

  template <class F, class Composite>
  static void reduce_into(serial exec, const char* label, typename Composite::result_type* out, std::int64_t first,
                          std::int64_t count, const F& f, const Composite& c) {
    *out = reduce(exec, label, first, count, f, c);
  }

  template <class F, class Composite>
  static pending<typename Composite::result_type> reduce_async(serial exec, const char* label, std::int64_t first,
                                                               std::int64_t count, const F& f, const Composite& c) {
    return pending_of([&] { return reduce(exec, label, first, count, f, c); });
  }

  template <class T, class Composite>
  static typename Composite::result_type reduce_span(serial exec, const char* label, const T* data, std::int64_t count,
                                                     const Composite& c) {
    if (exec.order() == serial_order::lanes)
      return c.result_on_host(detail::host::fold_span(data, in_steps(c), 0, count));
    if constexpr (Composite::template takes_any_spans<T>) {
      if (exec.order() == serial_order::left_to_right)
        return c.result_on_host(left_to_right_span(data, count, in_steps(c)));
    }
    return reduce(exec, label, 0, count, element<T>{data}, c);
  }

  template <class T, class Composite>
  static void reduce_span_into(serial exec, const char* label, typename Composite::result_type* out, const T* data,
                               std::int64_t count, const Composite& c) {
    *out = reduce_span(exec, label, data, count, c);
  }

  template <class T, class Composite>
  static pending<typename Composite::result_type> reduce_span_async(serial exec, const char* label, const T* data,
                                                                    std::int64_t count, const Composite& c) {
    return pending_of([&] { return reduce_span(exec, label, data, count, c); });
  }

  template <class Put, class All, class Composite>
  static void reduce_many_into(serial exec, const char*, const Put& put, const All& all, const Composite& c) {
    const auto put_one = [&](std::int64_t row, const auto& place, const auto& acc) {
      put.put(row, c.at(place).result_on_host(acc));
    };
    if constexpr (!All::reduces_fastest) {
      if (exec.order() != serial_order::recursive_halving) {
        detail::host::fold_columns(all, in_steps(c), 0, all.results, 0, all.count,
                                   exec.order() == serial_order::left_to_right, put_one);
        return;
      }
    }
    detail::host::fold_rows(
        all, in_steps(c), 0, all.results, short_row(exec),
        [&](const auto& f) { return in_order(exec, f.first(), f.count(), f, in_steps(c)); }, put_one);
  }

  template <class Put, class All, class Composite>
  static pending<void> reduce_many_async(serial exec, const char* label, const Put& put, const All& all,
                                         const Composite& c) {
    return pending_of([&] { reduce_many_into(exec, label, put, all, c); });
  }

  template <class Offset>
  static detail::nothing_ready prepare_segments(serial, const Offset*, std::int64_t) {
    return {};
  }

  template <class Put, class Runs, class Composite>
  static std::int64_t reduce_runs(serial exec, const char*, const Put& put, const Runs& runs, const Composite& c) {
    std::int64_t run = 0;
    for (std::int64_t begin = 0; begin < runs.elements; ++run) {
      const std::int64_t end = runs.end_of(begin);
      if (run < put.capacity) {
        put.keys.put(run, runs.keys[begin]);
        const auto acc = detail::host::fold_one_row(
            runs.row(run, begin, end), in_steps(c), short_row(exec),
            [&](const auto& f) { return in_order(exec, f.first(), f.count(), f, in_steps(c)); });
        put.results.put(run, c.at(runs.place(run)).result_on_host(acc));
      }
      begin = end;
    }
    return run;
  }
  template <class Put, class Runs, class Composite>
  static void reduce_runs_into(serial exec, const char* label, std::int64_t* count, const Put& put, const Runs& runs,
                               const Composite& c) {
    *count = reduce_runs(exec, label, put, runs, c);
  }
  template <class Put, class Runs, class Composite>
  static pending<std::int64_t> reduce_runs_async(serial exec, const char* label, const Put& put, const Runs& runs,
                                                 const Composite& c) {
    return pending_of([&] { return reduce_runs(exec, label, put, runs, c); });
  }

  template <class F>
  static void parallel_for(serial, const char*, std::int64_t first, std::int64_t count, const F& f) {
    detail::for_stretches(f, first, first + count, [](const auto& g, auto from, auto until) {
      for (auto i = from; i < until; ++i) g(i);
    });
  }

  static void synchronize(serial) noexcept {}
  static void check_memory(serial, const void*, const char*) noexcept {}
  static serial memory(serial exec) noexcept { return exec; }
  static void* allocate(serial, std::size_t bytes) { return ::operator new(bytes, alignment); }
  static void deallocate(serial, void* pointer, std::size_t) noexcept { ::operator delete(pointer, alignment); }
  static void copy_to_host(serial, void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); }
  static void copy_from_host(serial, void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); }

 private:
  /// The call's result, or what it throws.
  template <class Call>
  static auto pending_of(const Call& call) {
    using result = pending<decltype(call())>;
    try {
      if constexpr (std::is_void_v<decltype(call())>) {
        call();
        return detail::pending_of_nothing();
      } else {
        return result(call());
      }
    } catch (...) {
      return result(std::current_exception());
    }
  }

  static constexpr std::align_val_t alignment{64};

  /// The reducers, of which those that round do it step by step, whatever the unit's flags.
  template <class Composite>
  static constexpr auto in_steps(const Composite& c) {
    return detail::host::as_written_of(c.plain());
  }

  /// Rows of up to so many elements go from left to right.
  static constexpr std::int64_t short_row(serial exec) {
    return exec.order() == serial_order::recursive_halving ? 0 : detail::host::short_row;
  }

  template <class T>
  struct element {
    const T* data;
    const T& operator()(std::int64_t i) const { return data[i]; }
  };

  template <class F, class Composite>
  static typename Composite::accumulator_type in_order(serial exec, std::int64_t first, std::int64_t count, const F& f,
                                                       const Composite& c) {
    switch (exec.order()) {
      case serial_order::left_to_right: return left_to_right(first, count, f, c);
      case serial_order::recursive_halving:
        return count > 1 ? halving(first, count, f, c) : left_to_right(first, count, f, c);
      default: return detail::host::fold(f, c, first, first + count);
    }
  }

  template <class F, class Composite>
  static typename Composite::accumulator_type left_to_right(std::int64_t first, std::int64_t count, const F& f,
                                                            const Composite& c) {
    auto spill = c.identity();
    auto state = c.begin(spill);
    detail::host::gather_indices(f, c, state, first, first + count);
    c.finish(state, spill);
    return spill;
  }

  template <class T, class Composite>
  static typename Composite::accumulator_type left_to_right_span(const T* data, std::int64_t count,
                                                                 const Composite& c) {
    auto spill = c.identity();
    auto state = c.begin(spill);
    detail::host::gather_array(c, state, span_batch<T>{data, count, 0});
    c.finish(state, spill);
    return spill;
  }

  template <class F, class Composite>
  static typename Composite::accumulator_type halving(std::int64_t first, std::int64_t count, const F& f,
                                                      const Composite& c) {
    std::int64_t half = count - count / 2;
    std::vector<typename Composite::accumulator_type> partial(static_cast<std::size_t>(half), c.identity());
    const auto at = [&](std::int64_t i) -> auto& { return partial[static_cast<std::size_t>(i)]; };
    const auto accumulate = [&](auto& state, std::int64_t i) {
      detail::for_stretches(
          f, i, i + 1, [&](const auto& g, std::int64_t from, std::int64_t) { c.accumulate_on_host(g, state, from); });
    };
    for (std::int64_t i = 0; i < half; ++i) {
      auto state = c.begin(at(i));
      accumulate(state, first + i);
      if (i + half < count) accumulate(state, first + i + half);
      c.finish(state, at(i));
    }
    for (count = half; count > 1; count = half) {
      half = count - count / 2;
      for (std::int64_t i = 0; i + half < count; ++i) c.join(at(i), at(i + half));
    }
    return partial.front();
  }
};

}  // namespace fanin
