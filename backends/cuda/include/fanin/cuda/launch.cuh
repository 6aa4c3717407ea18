// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <fanin/cuda/enqueue.cuh>
#include <fanin/cuda/functor.hpp>
#include <fanin/cuda/kernel.cuh>
#include <fanin/cuda/partial/kinds.hpp>
#include <fanin/cuda/reducer/exact_columns.cuh>
#include <fanin/cuda/session.hpp>
#include <fanin/cuda/thread/tiles.cuh>
#include <fanin/detail/finished_composite.hpp>
#include <fanin/detail/md_functor.hpp>
#include <fanin/detail/md_shape.hpp>
#include <fanin/pending.hpp>
#include <fanin/tuple.hpp>

/// What the calls of the front ends do on CUDA.
namespace fanin::detail {

/// Refuses, in words, what this strategy does not reduce.
template <class Strategy, class Composite>
constexpr void check_reducers() {
  check_accumulators_fit<accumulators_in_block<Strategy, Composite>>();
  static_assert(!computes_long_doubles<Composite>,
                "fanin: long double is no type for the CUDA backend: a device computes it as double; sum doubles, or "
                "reduce on a host");
  if constexpr (Composite::is_finished) {
    check_device_functor<typename Composite::finish_type>();
    static_assert(
        fanin::is_stream_ordered(Strategy::recipe),
        "fanin: this strategy finishes on the host, and finished(g, reducers...), as places in an md_range, is for the "
        "device: use a "
        "strategy with another grid stage (cuda_strategy::finished_by)");
  }
}

/// Reduces and waits for the value.
template <class Strategy, class Source, class Composite>
typename Composite::result_type reduce_blocking(const cuda_handle& handle, const char* label, const Source& source,
                                                const Composite& c) {
  check_reducers<Strategy, Composite>();
  cuda_session session(handle, label, cuda_session::mode::blocking, "fanin::parallel_reduce");
  if constexpr (!Composite::is_finished) {
    if (source.count == 0) {
      cuda_launch nothing;
      nothing.strategy = Strategy::name;
      nothing.launches = 0;
      session.record(nothing);
      return c.result(c.identity());
    }
  }
  return grid_stage_of<Strategy, Composite>::reduce(session, handle.tuning, source, c);
}

/// Reduces into device memory in the stream's order.
template <class Strategy, class Source, class Composite>
void reduce_ordered(const cuda_handle& handle, const char* label, typename Composite::result_type* out,
                    const Source& source, const Composite& c) {
  static_assert(
      fanin::is_stream_ordered(Strategy::recipe),
      "fanin: this strategy finishes on the host, so that its result cannot be written in the stream's order: "
      "use a strategy with another grid stage for the _into forms (cuda_strategy::finished_by)");
  check_reducers<Strategy, Composite>();
  cuda_session session(handle, label, cuda_session::mode::ordered, "fanin::parallel_reduce_into");
  if constexpr (fanin::is_stream_ordered(Strategy::recipe)) {
    grid_stage_of<Strategy, Composite>::enqueue(session, handle.tuning, source, c, {out, {}});
  }
}

/// Reduces into a mailbox in the stream's order, for fanin::pending.
template <class Strategy, class Source, class Composite>
pending<typename Composite::result_type> reduce_pending(const cuda_handle& handle, const char* label,
                                                        const Source& source, const Composite& c) {
  using result_type = typename Composite::result_type;
  static_assert(fanin::is_stream_ordered(Strategy::recipe),
                "fanin: this strategy finishes on the host, so that its result cannot be got later: use a strategy "
                "with another grid stage for the _async forms (cuda_strategy::finished_by)");
  check_reducers<Strategy, Composite>();
  cuda_session session(handle, label, cuda_session::mode::blocking, "fanin::parallel_reduce_async");
  cuda_pending made = session.pending_mailbox(mailbox_words(sizeof(result_type)));
  if constexpr (fanin::is_stream_ordered(Strategy::recipe)) {
    grid_stage_of<Strategy, Composite>::enqueue(session, handle.tuning, source, c, {nullptr, made.mailbox});
  }
  return pending<result_type>(std::move(made.slot));
}

/// g of results that the host has, in one thread.
template <class G, class Result, class... Results>
__global__ void __launch_bounds__(32)
    finish_kernel(const G g, const tuple<Results...> results, const cuda_destination<Result> destination) {
  if (threadIdx.x != 0) return;
  destination.deliver(detail::finish_with<Result>(g, results));
}

/// Finishes a call over ranks on the device, when the accumulators of all of them are on the host: see
/// backend. g sees what calls before this one on its object left, since their work had ended when the ranks'
/// parts were there.
template <class Composite>
class cuda_finish_aside {
 public:
  using result_type = typename Composite::result_type;

  explicit cuda_finish_aside(const cuda_handle& handle)
      : memory_{cuda_calls::memory(handle)},
        place_{cuda_calls::place_for(handle, mailbox_words(sizeof(result_type)), call)} {
    check_device_functor<typename Composite::finish_type>();
  }

  result_type operator()(const Composite& c, const typename Composite::accumulator_type& acc) const {
    return finish(c.g, c.results_on_host(acc));
  }

 private:
  static constexpr const char* call = "fanin::finished";

  template <class G, class... Results>
  result_type finish(const G& g, const tuple<Results...>& results) const {
    static_assert(sizeof(results) + sizeof(g) + sizeof(cuda_destination<result_type>) <= most_argument_bytes,
                  "fanin: over ranks finished(g, reducers...) on CUDA takes results, and what g captures, of together "
                  "up to 4,000 bytes: take the reducers' results, and finish then");
    const cuda_destination<result_type> destination{nullptr, place_.mailbox};
    void* arguments[] = {detail::argument(g), detail::argument(results), detail::argument(destination)};
    const auto kernel = &finish_kernel<G, result_type, Results...>;
    cuda_calls::run_aside(memory_, detail::kernel_pointer(kernel), 1, 32, arguments, call);
    bytes_of<result_type> result;
    place_.slot->take(&result, sizeof(result_type));
    return result.value;
  }

  static constexpr std::size_t most_argument_bytes = 4'000;  // of 4,096, and what lies between them

  cuda_memory memory_;
  cuda_pending place_;
};

inline constexpr int for_block_size = 256;
inline constexpr int for_blocks_per_sm = 32;
inline int for_grid(std::int64_t count, int most_blocks) {
  return static_cast<int>(std::min<std::int64_t>((count - 1) / for_block_size + 1, most_blocks));
}

/// f(i) for each of so many indices, beside the object's work: see backend.
class cuda_for_aside {
 public:
  explicit cuda_for_aside(const cuda_handle& handle)
      : memory_{cuda_calls::memory(handle)},
        most_blocks_{cuda_session(handle, nullptr, cuda_session::mode::ordered, call).multiprocessors() *
                     for_blocks_per_sm} {}

  void check() const { cuda_calls::check_context(memory_, call); }
  template <class F>
  void operator()(std::int64_t count, const F& f) const {
    static_assert(sizeof(F) <= most_argument_bytes,
                  "fanin: over ranks finished(g, reducers...) on CUDA takes reducers, and what g captures, of together "
                  "up to 4,000 bytes");
    const std::int64_t first = 0;
    void* arguments[] = {detail::argument(f), argument(first), argument(count)};
    cuda_calls::run_aside(memory_, detail::kernel_pointer(&for_kernel<F>), for_grid(count, most_blocks_),
                          for_block_size, arguments, call);
  }

 private:
  static constexpr const char* call = "fanin::parallel_reduce_into";
  static constexpr std::size_t most_argument_bytes = 4'000;  // of 4,096, and what lies between them

  cuda_memory memory_;
  int most_blocks_;
};

/// A kernel of parallel_for, for as many threads as these.
inline void launch_for(const cuda_handle& handle, const char* label, const void* kernel, void** arguments,
                       std::int64_t threads) {
  cuda_session session(handle, label, cuda_session::mode::ordered, "fanin::parallel_for");
  cuda_launch launch;
  launch.strategy = "parallel_for";
  launch.grid_size = for_grid(threads, session.multiprocessors() * for_blocks_per_sm);
  launch.block_size = for_block_size;
  session.launch(kernel, launch, arguments, {});
  session.record(launch);
}
template <class F>
void call_for_each(const cuda_handle& handle, const char* label, std::int64_t first, std::int64_t count, const F& f) {
  void* arguments[] = {detail::argument(f), argument(first), argument(count)};
  detail::launch_for(handle, label, detail::kernel_pointer(&for_kernel<F>), arguments, count);
}
/// Large boxes by tiles, where a kernel's arguments have room for them.
template <class F, std::size_t Rank, iterate Order>
void call_for_each(const cuda_handle& handle, const char* label, std::int64_t first, std::int64_t count,
                   const md_functor<F, Rank, Order>& f) {
  using functor = md_functor<F, Rank, Order>;
  constexpr std::size_t most_of_functors = 2048;  // bytes
  if constexpr (Rank > 1 && sizeof(functor) <= most_of_functors) {
    if (const md_tiles tiles(f.shape, count); tiles.planes() > 0) {
      void* arguments[] = {detail::argument(f), detail::argument(tiles)};
      const void* const kernel = detail::kernel_pointer(&for_tiles_kernel<F, Rank, Order>);
      return detail::launch_for(handle, label, kernel, arguments, tiles.count() * md_tiles::width);
    }
  }
  detail::call_for_each<functor>(handle, label, first, count, f);
}

}  // namespace fanin::detail
