// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include <Kokkos_Core.hpp>
#include <fanin/detail/composite.hpp>
#include <fanin/error.hpp>
#include <fanin/execution.hpp>
#include <fanin/kokkos/launch.hpp>
#include <fanin/kokkos/lifetime.hpp>
#include <fanin/kokkos/many.hpp>
#include <fanin/kokkos/runs.hpp>
#include <fanin/kokkos/schedule.hpp>
#include <fanin/kokkos/space.hpp>
#include <fanin/kokkos/state.hpp>
#include <fanin/pending.hpp>

namespace fanin {

/// A fanin::kokkos with a tuning: usable wherever the object is. Cheap to copy; refers to the object and does not
/// outlive it.
template <class Space>
class kokkos_view {
 public:
  using execution_space = Space;

  kokkos_view(detail::kokkos_state<Space>& state, kokkos_tuning tuning) : state_{&state}, tuning_{tuning} {}

  const kokkos_tuning& tuning() const noexcept { return tuning_; }
  /// As the object's.
  const Space& space() const { return state_->space("fanin::kokkos::space"); }
  void synchronize() const { space().fence("fanin::kokkos::synchronize"); }

 private:
  friend struct backend<kokkos_view>;
  detail::kokkos_state<Space>* state_;
  kokkos_tuning tuning_;
};

/// The Kokkos backend: reductions by Kokkos::parallel_reduce on an instance of an execution space, with Fanin's
/// identities and joins.
///
/// Move-only; buffers and ranges made on an object stay valid when it moves. Its work is in the order of the instance;
/// the destructor waits for it. Any number of host threads may use one object, or objects that share an instance: their
/// calls take turns. (Kokkos itself does not allow that on every space: an application that launches on the same
/// instance beside Fanin takes care of that itself. Kokkos::Threads takes launches from one host thread only, others
/// get state_error.) After Kokkos::finalize every call throws state_error. A functor that throws, and a failure inside
/// of Kokkos, abort where Kokkos does.
///
/// The same bits from run to run for the same space and number of threads.
template <class Space = Kokkos::DefaultExecutionSpace>
class kokkos {
  static_assert(Kokkos::is_execution_space<Space>::value,
                "fanin::kokkos<Space>: Space is no Kokkos execution space (as Kokkos::OpenMP or Kokkos::Cuda)");

 public:
  using execution_space = Space;

  /// On the space's default instance. Initialises Kokkos where nobody has, to be finalised at exit; throws state_error
  /// after Kokkos::finalize.
  kokkos() {
    detail::kokkos_lifetime::get().require("fanin::kokkos");
    state_ = std::make_shared<detail::kokkos_state<Space>>(Space());
  }

  /// On the caller's instance, of which it keeps a copy. What that refers to (a stream) must outlive the object.
  explicit kokkos(const Space& space) {
    detail::kokkos_lifetime::get().require("fanin::kokkos");
    state_ = std::make_shared<detail::kokkos_state<Space>>(space);
  }

  kokkos(kokkos&&) noexcept = default;
  kokkos& operator=(kokkos&&) noexcept = default;
  ~kokkos() = default;

  /// The same object for functors whose indices take different times, on a host space:
  /// range(exec.with({.schedule = fanin::schedule::dynamic, .chunk = 64}), n). The bits of a dynamic schedule are the
  /// same from run to run, whoever is done first, and on any number of threads. Throws invalid_argument for a
  /// negative chunk, state_error when the object was moved from.
  kokkos_view<Space> with(kokkos_tuning tuning) const {
    detail::check_kokkos_tuning(tuning);
    return {state(), tuning};
  }

  /// The instance. Throws state_error after Kokkos::finalize, and for an object that was moved from.
  const Space& space() const { return state().space("fanin::kokkos::space"); }

  /// Waits for the instance's work; throws what Kokkos throws when it went wrong.
  void synchronize() const { space().fence("fanin::kokkos::synchronize"); }

 private:
  friend struct backend<kokkos>;
  detail::kokkos_state<Space>& state() const {
    if (state_ == nullptr) throw state_error("fanin::kokkos: the object was moved from; use the one it was moved to");
    return *state_;
  }

  std::shared_ptr<detail::kokkos_state<Space>> state_;
};

template <class Space>
inline constexpr bool detail::is_host_backend<kokkos<Space>> = detail::is_host_space<Space>;
template <class Space>
inline constexpr bool detail::is_host_backend<kokkos_view<Space>> = detail::is_host_space<Space>;

template <class Space>
struct backend<kokkos<Space>> {
  using handle_type = detail::kokkos_state<Space>*;
  using memory_type = std::weak_ptr<detail::kokkos_state<Space>>;
  static constexpr const char* name = "kokkos";

  static handle_type handle(const kokkos<Space>& exec) { return &exec.state(); }

  static kokkos<Space>& default_object() {
    detail::kokkos_lifetime::get().require("fanin::kokkos");
    static thread_local kokkos<Space> object;
    return object;
  }

  template <class F, class Composite>
  static typename Composite::result_type reduce(handle_type state, const char* label, std::int64_t first,
                                                std::int64_t count, const F& f, const Composite& c) {
    const Space& space = state->space("fanin::parallel_reduce");
    return detail::kokkos_reduce(*state, space, detail::kokkos_label(label, detail::kokkos_call::parallel_reduce),
                                 first, count, f, c);
  }

  template <class F, class Composite>
  static void reduce_into(handle_type state, const char* label, typename Composite::result_type* out,
                          std::int64_t first, std::int64_t count, const F& f, const Composite& c) {
    const Space& space = state->space("fanin::parallel_reduce_into");
    detail::kokkos_reduce_into(*state, space, detail::kokkos_label(label, detail::kokkos_call::parallel_reduce), out,
                               first, count, f, c);
  }

  template <class F, class Composite>
  static pending<typename Composite::result_type> reduce_async(handle_type state, const char* label, std::int64_t first,
                                                               std::int64_t count, const F& f, const Composite& c) {
    const Space& space = state->space("fanin::parallel_reduce_async");
    return detail::kokkos_reduce_async(*state, space, detail::kokkos_label(label, detail::kokkos_call::parallel_reduce),
                                       first, count, f, c);
  }

  template <class T, class Composite>
  static typename Composite::result_type reduce_span(handle_type state, const char* label, const T* data,
                                                     std::int64_t count, const Composite& c) {
    const Space& space = state->space("fanin::reduce");
    return detail::kokkos_reduce(*state, space, detail::kokkos_label(label, detail::kokkos_call::reduce), 0, count,
                                 detail::kokkos_span_functor<T>{data}, c);
  }

  template <class T, class Composite>
  static void reduce_span_into(handle_type state, const char* label, typename Composite::result_type* out,
                               const T* data, std::int64_t count, const Composite& c) {
    const Space& space = state->space("fanin::reduce_into");
    detail::kokkos_reduce_into(*state, space, detail::kokkos_label(label, detail::kokkos_call::reduce), out, 0, count,
                               detail::kokkos_span_functor<T>{data}, c);
  }

  template <class T, class Composite>
  static pending<typename Composite::result_type> reduce_span_async(handle_type state, const char* label, const T* data,
                                                                    std::int64_t count, const Composite& c) {
    const Space& space = state->space("fanin::reduce_async");
    return detail::kokkos_reduce_async(*state, space, detail::kokkos_label(label, detail::kokkos_call::reduce), 0,
                                       count, detail::kokkos_span_functor<T>{data}, c);
  }

  template <class Put, class All, class Composite>
  static void reduce_many_into(handle_type state, const char* label, const Put& put, const All& all,
                               const Composite& c) {
    const Space& space = state->space("fanin::parallel_reduce_into");
    detail::kokkos_reduce_rows(*state, space, detail::kokkos_label(label, detail::kokkos_call::parallel_reduce), put,
                               all, c);
  }

  template <class Put, class All, class Composite>
  static pending<void> reduce_many_async(handle_type state, const char* label, const Put& put, const All& all,
                                         const Composite& c) {
    const Space& space = state->space("fanin::parallel_reduce_async");
    return detail::kokkos_reduce_rows_async(
        *state, space, detail::kokkos_label(label, detail::kokkos_call::parallel_reduce), put, all, c);
  }

  template <class Offset>
  static detail::nothing_ready prepare_segments(handle_type, const Offset*, std::int64_t) {
    return {};
  }

  template <class Put, class Runs, class Composite>
  static std::int64_t reduce_runs(handle_type state, const char* label, const Put& put, const Runs& runs,
                                  const Composite& c) {
    const Space& space = state->space("fanin::parallel_reduce");
    return detail::kokkos_reduce_runs(*state, space, detail::kokkos_label(label, detail::kokkos_call::parallel_reduce),
                                      put, runs, c);
  }
  template <class Put, class Runs, class Composite>
  static void reduce_runs_into(handle_type state, const char* label, std::int64_t* count, const Put& put,
                               const Runs& runs, const Composite& c) {
    const Space& space = state->space("fanin::parallel_reduce_into");
    detail::kokkos_reduce_runs_into(*state, space, detail::kokkos_label(label, detail::kokkos_call::parallel_reduce),
                                    count, put, runs, c);
  }
  template <class Put, class Runs, class Composite>
  static pending<std::int64_t> reduce_runs_async(handle_type state, const char* label, const Put& put, const Runs& runs,
                                                 const Composite& c) {
    const Space& space = state->space("fanin::parallel_reduce_async");
    return detail::kokkos_reduce_runs_async(
        *state, space, detail::kokkos_label(label, detail::kokkos_call::parallel_reduce), put, runs, c);
  }

  template <class F>
  static void parallel_for(handle_type state, const char* label, std::int64_t first, std::int64_t count, const F& f) {
    const Space& space = state->space("fanin::parallel_for");
    detail::launch_alone(space, [&] {
      detail::kokkos_launch_for(*state, space, detail::kokkos_label(label, detail::kokkos_call::parallel_for).get(),
                                first, count, f);
    });
  }

  static void synchronize(handle_type state) { state->space("fanin::synchronize").fence("fanin::synchronize"); }

  static void check_memory(handle_type, const void* pointer, const char* what) {
    detail::check_kokkos_memory<Space>(pointer, what);
  }

  static memory_type memory(handle_type state) noexcept { return state->weak_from_this(); }

  /// Throws std::bad_alloc on host spaces, fanin::error with Kokkos's words on others.
  static void* allocate(handle_type state, std::size_t bytes) {
    (void)state->space("fanin::buffer");
    try {
      return Kokkos::kokkos_malloc<memory_space>("fanin::buffer", bytes);
    } catch (const std::exception& failure) {
      if constexpr (detail::is_host_space<Space>) {
        throw std::bad_alloc();
      } else {
        throw error("fanin::buffer: no memory for " + std::to_string(bytes) + " bytes in " + Space::name() + ": " +
                    failure.what());
      }
    }
  }

  /// After Kokkos::finalize the memory is left to the end of the process: Kokkos would abort.
  static void deallocate(const memory_type& memory, void* pointer, std::size_t) noexcept {
    if (!detail::kokkos_lifetime::get().is_alive()) return;
    try {
      if (const auto state = memory.lock()) {
        state->space("fanin::buffer").fence("fanin::buffer: before it is freed");
      }
      Kokkos::kokkos_free<memory_space>(pointer);
    } catch (...) {
      // The device has failed; whoever synchronised was told.
    }
  }

  static bool is_capturing(handle_type state, const char* call) {
    return detail::is_kokkos_capturing(state->space(call), call);
  }
  template <class Composite>
  static auto finish_aside(handle_type state) {
    return detail::kokkos_finish_aside<Space, Composite>(*state);
  }
  template <class Composite>
  static auto for_aside(handle_type state) {
    return detail::kokkos_for_aside<Space>(*state);
  }
  static std::shared_ptr<void> shared_room(handle_type state, std::size_t bytes) {
    (void)state->space("fanin::parallel_reduce_into");
    return state->rooms->take(bytes);
  }

  static void copy_to_host(const memory_type& memory, void* to, const void* from, std::size_t bytes) {
    copy<Kokkos::HostSpace, memory_space>(memory, to, from, bytes, "fanin::copy_to_host");
  }
  static void copy_from_host(const memory_type& memory, void* to, const void* from, std::size_t bytes) {
    copy<memory_space, Kokkos::HostSpace>(memory, to, from, bytes, "fanin::copy_from_host");
  }

 private:
  using memory_space = typename Space::memory_space;

  /// An object that is gone has waited for its work: another one does as well.
  template <class To, class From>
  static void copy(const memory_type& memory, void* to, const void* from, std::size_t bytes, const char* call) {
    using destination = Kokkos::View<char*, To, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
    using source = Kokkos::View<const char*, From, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
    auto state = memory.lock();
    if (state == nullptr) state = kokkos<Space>().state_;
    const Space& space = state->space(call);
    detail::launch_alone(space, [&] {
      Kokkos::deep_copy(space, destination(static_cast<char*>(to), bytes),
                        source(static_cast<const char*>(from), bytes));
      space.fence(call);
    });
  }
};

/// What a tuning says nothing about is the object's.
template <class Space>
struct backend<kokkos_view<Space>> {
 private:
  using object = backend<kokkos<Space>>;
  static typename object::handle_type of(const kokkos_view<Space>& view) { return view.state_; }
  static bool is_dynamic(const kokkos_view<Space>& view) { return view.tuning_.schedule == schedule::dynamic; }

 public:
  using handle_type = kokkos_view<Space>;
  using memory_type = typename object::memory_type;
  static constexpr const char* name = object::name;

  static handle_type handle(const kokkos_view<Space>& exec) { return exec; }

  template <class F, class Composite>
  static typename Composite::result_type reduce(handle_type view, const char* label, std::int64_t first,
                                                std::int64_t count, const F& f, const Composite& c) {
    if constexpr (detail::is_host_space<Space>) {
      if (is_dynamic(view)) {
        const Space& space = of(view)->space("fanin::parallel_reduce");
        return detail::kokkos_reduce_chunks(space,
                                            detail::kokkos_label(label, detail::kokkos_call::parallel_reduce).get(),
                                            first, count, view.tuning_.chunk, f, c);
      }
    }
    return object::reduce(of(view), label, first, count, f, c);
  }

  template <class F, class Composite>
  static void reduce_into(handle_type view, const char* label, typename Composite::result_type* out, std::int64_t first,
                          std::int64_t count, const F& f, const Composite& c) {
    if constexpr (detail::is_host_space<Space>) {
      *out = reduce(view, label, first, count, f, c);
    } else {
      object::reduce_into(of(view), label, out, first, count, f, c);
    }
  }

  template <class F, class Composite>
  static pending<typename Composite::result_type> reduce_async(handle_type view, const char* label, std::int64_t first,
                                                               std::int64_t count, const F& f, const Composite& c) {
    if constexpr (detail::is_host_space<Space>) {
      return pending<typename Composite::result_type>(reduce(view, label, first, count, f, c));
    } else {
      return object::reduce_async(of(view), label, first, count, f, c);
    }
  }

  template <class T, class Composite>
  static typename Composite::result_type reduce_span(handle_type view, const char* label, const T* data,
                                                     std::int64_t count, const Composite& c) {
    return object::reduce_span(of(view), label, data, count, c);
  }
  template <class T, class Composite>
  static void reduce_span_into(handle_type view, const char* label, typename Composite::result_type* out, const T* data,
                               std::int64_t count, const Composite& c) {
    object::reduce_span_into(of(view), label, out, data, count, c);
  }
  template <class T, class Composite>
  static pending<typename Composite::result_type> reduce_span_async(handle_type view, const char* label, const T* data,
                                                                    std::int64_t count, const Composite& c) {
    return object::reduce_span_async(of(view), label, data, count, c);
  }
  template <class Put, class All, class Composite>
  static void reduce_many_into(handle_type view, const char* label, const Put& put, const All& all,
                               const Composite& c) {
    object::reduce_many_into(of(view), label, put, all, c);
  }
  template <class Put, class All, class Composite>
  static pending<void> reduce_many_async(handle_type view, const char* label, const Put& put, const All& all,
                                         const Composite& c) {
    return object::reduce_many_async(of(view), label, put, all, c);
  }

  template <class Offset>
  static detail::nothing_ready prepare_segments(handle_type view, const Offset* offsets, std::int64_t results) {
    return object::prepare_segments(of(view), offsets, results);
  }

  template <class Put, class Runs, class Composite>
  static std::int64_t reduce_runs(handle_type view, const char* label, const Put& put, const Runs& runs,
                                  const Composite& c) {
    return object::reduce_runs(of(view), label, put, runs, c);
  }
  template <class Put, class Runs, class Composite>
  static void reduce_runs_into(handle_type view, const char* label, std::int64_t* count, const Put& put,
                               const Runs& runs, const Composite& c) {
    object::reduce_runs_into(of(view), label, count, put, runs, c);
  }
  template <class Put, class Runs, class Composite>
  static pending<std::int64_t> reduce_runs_async(handle_type view, const char* label, const Put& put, const Runs& runs,
                                                 const Composite& c) {
    return object::reduce_runs_async(of(view), label, put, runs, c);
  }

  template <class F>
  static void parallel_for(handle_type view, const char* label, std::int64_t first, std::int64_t count, const F& f) {
    if constexpr (detail::is_host_space<Space>) {
      if (is_dynamic(view)) {
        const Space& space = of(view)->space("fanin::parallel_for");
        detail::launch_alone(space, [&] {
          detail::kokkos_for_chunks(space, detail::kokkos_label(label, detail::kokkos_call::parallel_for).get(), first,
                                    count, view.tuning_.chunk, f);
        });
        return;
      }
    }
    object::parallel_for(of(view), label, first, count, f);
  }

  static void synchronize(handle_type view) { object::synchronize(of(view)); }
  static void check_memory(handle_type view, const void* pointer, const char* what) {
    object::check_memory(of(view), pointer, what);
  }
  static memory_type memory(handle_type view) noexcept { return object::memory(of(view)); }
  static void* allocate(handle_type view, std::size_t bytes) { return object::allocate(of(view), bytes); }
  static void deallocate(const memory_type& memory, void* pointer, std::size_t bytes) noexcept {
    object::deallocate(memory, pointer, bytes);
  }
  static void copy_to_host(const memory_type& memory, void* to, const void* from, std::size_t bytes) {
    object::copy_to_host(memory, to, from, bytes);
  }
  static void copy_from_host(const memory_type& memory, void* to, const void* from, std::size_t bytes) {
    object::copy_from_host(memory, to, from, bytes);
  }
  static bool is_capturing(handle_type view, const char* call) { return object::is_capturing(of(view), call); }
  template <class Composite>
  static auto finish_aside(handle_type view) {
    return object::template finish_aside<Composite>(of(view));
  }
  template <class Composite>
  static auto for_aside(handle_type view) {
    return object::template for_aside<Composite>(of(view));
  }
  static std::shared_ptr<void> shared_room(handle_type view, std::size_t bytes) {
    return object::shared_room(of(view), bytes);
  }
};

}  // namespace fanin
