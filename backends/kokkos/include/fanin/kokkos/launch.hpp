// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include <Kokkos_Core.hpp>
#include <fanin/kokkos/functors.hpp>
#include <fanin/kokkos/host_fold.hpp>
#include <fanin/kokkos/results.hpp>
#include <fanin/kokkos/space.hpp>
#include <fanin/kokkos/state.hpp>
#include <fanin/pending.hpp>

/// The launches behind backend<kokkos<Space>>.
namespace fanin::detail {

enum class kokkos_call { parallel_reduce, reduce, parallel_for };

/// A kernel's name for Kokkos's tools: the caller's, or one of Fanin's. Those are made once, since Kokkos takes strings
/// and a call should not allocate.
class kokkos_label {
 public:
  kokkos_label(const char* given, kokkos_call call)
      : given_(given != nullptr ? given : ""), label_{given != nullptr ? given_ : default_label(call)} {}
  kokkos_label(const kokkos_label&) = delete;
  kokkos_label& operator=(const kokkos_label&) = delete;

  const std::string& get() const noexcept { return label_; }

 private:
  static const std::string& default_label(kokkos_call call) {
    static const auto* const labels =
        new std::array<std::string, 3>{"fanin::parallel_reduce", "fanin::reduce", "fanin::parallel_for"};
    return (*labels)[static_cast<std::size_t>(call)];
  }

  std::string given_;
  const std::string& label_;
};

/// Static: which thread takes which index is the same in every run, and so are the bits.
template <class Space>
using kokkos_range = Kokkos::RangePolicy<Space, Kokkos::Schedule<Kokkos::Static>, Kokkos::IndexType<std::int64_t>>;

/// Kokkos's CUDA reductions keep one accumulator per thread in a block's shared memory and do not work when 32 do not
/// fit; larger ones are merged through workspace.
template <class Composite>
inline constexpr bool fits_kokkos_block = sizeof(kokkos_slot<typename Composite::accumulator_type>) <= 1024;

/// So are spills, which are updated atomically: what Kokkos passes may be a thread's local memory.
template <class Space, class Composite>
inline constexpr bool through_workspace =
    !is_host_space<Space> && (Composite::has_any_spill || !fits_kokkos_block<Composite>);

/// How many work items share `count` indices: as many as run at once, none with only a few indices.
inline std::int64_t work_items(std::int64_t threads, std::int64_t count) {
  constexpr std::int64_t least = 32;
  return std::clamp<std::int64_t>(count / least + (count % least != 0 ? 1 : 0), 1, threads);
}

/// Reduces into *slot, memory of MemorySpace. Returns before the end only if Blocks is false.
template <class MemorySpace, bool Blocks, class Space, class F, class Composite>
void reduce_to_slot(const kokkos_state<Space>& state, const Space& space, const std::string& label, std::int64_t first,
                    std::int64_t count, const F& f, const Composite& c,
                    kokkos_slot<typename Composite::accumulator_type>* slot) {
  const kokkos_reducer<Composite, MemorySpace, Blocks> reducer(c, slot);
  if constexpr (is_host_space<Space>) {
    // One work item a thread: Kokkos's own loop knows one accumulator only, and waits for it at every element.
    const std::int64_t items =
        Composite::has_any_spill ? detail::work_items(state.threads(), count) : std::min(count, state.threads());
    Kokkos::parallel_reduce(label, kokkos_range<Space>(space, 0, items),
                            kokkos_host_functor<F, Composite>{{first, count, items}, c, f}, reducer);
  } else {
    Kokkos::parallel_reduce(label, kokkos_range<Space>(space, 0, count),
                            kokkos_element_functor<F, Composite>{f, c, first}, reducer);
  }
}

/// Rows of an md_range on a host are loops of their own: a thread takes a stretch of them.
template <class Space, class F>
void kokkos_launch_for(const kokkos_state<Space>& state, const Space& space, const std::string& label,
                       std::int64_t first, std::int64_t count, const F& f) {
  if constexpr (is_host_space<Space> && has_rows<F>) {
    const std::int64_t items = std::min(count, state.threads());
    Kokkos::parallel_for(label, kokkos_range<Space>(space, 0, items),
                         kokkos_host_for_functor<F>{{first, count, items}, f});
  } else {
    using functor = std::conditional_t<is_host_space<Space>, kokkos_for_functor_of_host<F>, kokkos_for_functor<F>>;
    Kokkos::parallel_for(label, kokkos_range<Space>(space, 0, count), functor{f, first});
  }
}

/// Reduces in the space's workspace, whatever the accumulator's size, in the instance's order. The result is the first
/// slot.
template <class Space, class F, class Composite>
auto* reduce_through_workspace(kokkos_state<Space>& state, const Space& space, const std::string& label,
                               std::int64_t first, std::int64_t count, const F& f, const Composite& c) {
  using slot = kokkos_slot<typename Composite::accumulator_type>;
  constexpr std::size_t most_bytes = std::size_t{64} << 20;
  const auto most = static_cast<std::int64_t>(std::max<std::size_t>(most_bytes / sizeof(slot), 1));
  std::int64_t items = std::min(detail::work_items(state.threads(), count), most);
  auto* const partials = static_cast<slot*>(state.workspace(static_cast<std::size_t>(items) * sizeof(slot)));
  Kokkos::parallel_for(label, kokkos_range<Space>(space, 0, items),
                       kokkos_gather_functor<F, Composite>{f, c, {first, count, items}, partials});
  while (items > 1) {
    const std::int64_t half = items - items / 2;
    Kokkos::parallel_for(label, kokkos_range<Space>(space, 0, items - half),
                         kokkos_halve_functor<Composite>{c, partials, half});
    items = half;
  }
  return partials;
}

template <class Space, class F, class Composite>
typename Composite::result_type kokkos_reduce_finished(kokkos_state<Space>& state, const Space& space,
                                                       const kokkos_label& label, std::int64_t first,
                                                       std::int64_t count, const F& f, const Composite& c);

/// The value, when it is there.
template <class Space, class F, class Composite>
typename Composite::result_type kokkos_reduce(kokkos_state<Space>& state, const Space& space, const kokkos_label& label,
                                              std::int64_t first, std::int64_t count, const F& f, const Composite& c) {
  detail::refuse_kokkos_capture(space, "fanin::parallel_reduce");
  if constexpr (Composite::is_finished && !is_host_space<Space>) {
    return detail::kokkos_reduce_finished(state, space, label, first, count, f, c);
  } else {
    return detail::launch_alone(space, [&] {
      kokkos_slot<typename Composite::accumulator_type> total{c.identity()};
      if constexpr (through_workspace<Space, Composite>) {
        using slot = kokkos_slot<typename Composite::accumulator_type>;
        using memory_space = typename Space::memory_space;
        const slot* from = detail::reduce_through_workspace(state, space, label.get(), first, count, f, c.plain());
        Kokkos::deep_copy(space, Kokkos::View<slot, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(&total),
                          Kokkos::View<const slot, memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(from));
        space.fence("fanin::parallel_reduce: for the value");
      } else {
        detail::reduce_to_slot<Kokkos::HostSpace, !is_synchronous<Space>>(state, space, label.get(), first, count, f,
                                                                          c.plain(), &total);
      }
      return c.result_on_host(total.value);
    });
  }
}

/// The value at *out, in the instance's order. On the host it is there at once.
template <class Space, class F, class Composite>
void kokkos_reduce_into(kokkos_state<Space>& state, const Space& space, const kokkos_label& label,
                        typename Composite::result_type* out, std::int64_t first, std::int64_t count, const F& f,
                        const Composite& c) {
  if constexpr (is_host_space<Space>) {
    *out = detail::kokkos_reduce(state, space, label, first, count, f, c);
  } else {
    using slot = kokkos_slot<typename Composite::accumulator_type>;
    detail::launch_alone(space, [&] {
      slot* total = nullptr;
      if constexpr (through_workspace<Space, Composite>) {
        total = detail::reduce_through_workspace(state, space, label.get(), first, count, f, c.plain());
      } else {
        total = static_cast<slot*>(state.workspace(sizeof(slot)));
        detail::reduce_to_slot<typename Space::memory_space, false>(state, space, label.get(), first, count, f,
                                                                    c.plain(), total);
      }
      Kokkos::parallel_for(label.get(), kokkos_range<Space>(space, 0, 1),
                           kokkos_result_functor<Composite>{c, total, out});
    });
  }
}

/// On Kokkos::Cuda: what launch(memory of the host, which the device writes to) leaves there, to be got when an event
/// says that all of it has ended.
template <class Result, class Space, class Launch>
pending<Result> kokkos_pending(kokkos_state<Space>& state, const Space& space, const Launch& launch) {
  using value_type = typename pending<Result>::value_type;
  detail::refuse_kokkos_capture(space, "fanin::parallel_reduce_async");
  auto slot = state.results->take(sizeof(value_type));
  launch(static_cast<value_type*>(slot->memory()));
  slot->record(space);
  return pending<Result>(std::move(slot));
}

/// The value to be got later: on Kokkos::Cuda from memory of the host that the device writes to, when an event says
/// that it has. Of others Kokkos would tell only when all later work has ended too, so that the value is waited for
/// here.
template <class Space, class F, class Composite>
pending<typename Composite::result_type> kokkos_reduce_async(kokkos_state<Space>& state, const Space& space,
                                                             const kokkos_label& label, std::int64_t first,
                                                             std::int64_t count, const F& f, const Composite& c) {
  using result_type = typename Composite::result_type;
  if constexpr (kokkos_results<Space>::has_events) {
    return detail::kokkos_pending<result_type>(state, space, [&](result_type* to) {
      detail::kokkos_reduce_into(state, space, label, to, first, count, f, c);
    });
  } else {
    return pending<result_type>(detail::kokkos_reduce(state, space, label, first, count, f, c));
  }
}

/// The value, where the device makes it of the reducers' results.
template <class Space, class F, class Composite>
typename Composite::result_type kokkos_reduce_finished(kokkos_state<Space>& state, const Space& space,
                                                       const kokkos_label& label, std::int64_t first,
                                                       std::int64_t count, const F& f, const Composite& c) {
  using result_type = typename Composite::result_type;
  if constexpr (kokkos_results<Space>::has_events) {
    return detail::kokkos_reduce_async(state, space, label, first, count, f, c).get();
  } else {
    const Kokkos::View<result_type, typename Space::memory_space> out("fanin::finished");
    detail::kokkos_reduce_into(state, space, label, out.data(), first, count, f, c);
    const auto on_host = Kokkos::create_mirror_view(Kokkos::WithoutInitializing, out);
    Kokkos::deep_copy(space, on_host, out);
    space.fence("fanin::parallel_reduce: for the value");
    return on_host();
  }
}

/// Finishes a call over ranks on the device, when the accumulators of all of them are on the host: see backend. g sees
/// what calls before this one on its object left, since their work had ended when the ranks' parts were there.
template <class Space, class Composite>
class kokkos_finish_aside {
 public:
  using result_type = typename Composite::result_type;

  explicit kokkos_finish_aside(kokkos_state<Space>& state) {
    detail::refuse_kokkos_capture(state.space(call), call);
    const kokkos_relaxed_capture relaxed;
    aside_ = state.aside();
    alone([](const Space&, result_type*) {});  // nothing is allocated later
  }

  result_type operator()(const Composite& c, const typename Composite::accumulator_type& acc) const {
    const auto results = c.results_on_host(acc);
    result_type result{};
    alone([&](const Space& space, result_type* out) {
      using functor =
          kokkos_finish_functor<result_type, typename Composite::finish_type, std::remove_const_t<decltype(results)>>;
      using memory_space = typename Space::memory_space;
      using unmanaged = Kokkos::MemoryTraits<Kokkos::Unmanaged>;
      Kokkos::parallel_for(call, kokkos_range<Space>(space, 0, 1), functor{c.g, results, out});
      Kokkos::deep_copy(space, Kokkos::View<result_type, Kokkos::HostSpace, unmanaged>(&result),
                        Kokkos::View<const result_type, memory_space, unmanaged>(out));
      space.fence("fanin::finished: for the value");
    });
    return result;
  }

 private:
  static constexpr const char* call = "fanin::finished";

  /// Calls use(instance, room for a result) with both to oneself.
  template <class Use>
  void alone(const Use& use) const {
    const Space& space = aside_->space(call);
    const kokkos_relaxed_capture relaxed;  // of another stream
    detail::launch_alone(space, [&] { use(space, static_cast<result_type*>(aside_->workspace(sizeof(result_type)))); });
  }

  std::shared_ptr<kokkos_state<Space>> aside_;
};

/// f(i) for each of so many indices, beside the object's work: see backend.
template <class Space>
class kokkos_for_aside {
 public:
  explicit kokkos_for_aside(kokkos_state<Space>& state) {
    detail::refuse_kokkos_capture(state.space(call), call);
    const kokkos_relaxed_capture relaxed;
    aside_ = state.aside();
  }

  void check() const { (void)aside_->space(call); }
  template <class F>
  void operator()(std::int64_t count, const F& f) const {
    const Space& space = aside_->space(call);
    const kokkos_relaxed_capture relaxed;  // of another stream
    detail::launch_alone(space, [&] {
      Kokkos::parallel_for(call, kokkos_range<Space>(space, 0, count), kokkos_for_functor<F>{f, 0});
      space.fence(call);
    });
  }

 private:
  static constexpr const char* call = "fanin::parallel_reduce_into";

  std::shared_ptr<kokkos_state<Space>> aside_;
};

}  // namespace fanin::detail
