// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include <Kokkos_Core.hpp>
#include <fanin/detail/runs_functor.hpp>
#include <fanin/detail/segments_functor.hpp>
#include <fanin/kokkos/functors.hpp>
#include <fanin/kokkos/host_fold.hpp>
#include <fanin/kokkos/launch.hpp>
#include <fanin/kokkos/many.hpp>
#include <fanin/kokkos/space.hpp>
#include <fanin/kokkos/state.hpp>
#include <fanin/macros.hpp>
#include <fanin/pending.hpp>

/// Runs: where they begin is written down first, and then they are segments.
namespace fanin::detail {

/// On a host, of one of `items` work items per call: how many runs begin in its stretch of the keys.
template <class Runs>
struct kokkos_count_runs_functor {
  kokkos_stretch share;
  Runs runs;
  std::int64_t* runs_of_item;

  void operator()(std::int64_t item) const {
    const Runs all = runs;  // a local one, of which the compiler knows that it stays
    const std::int64_t until = share.begin(item + 1);
    std::int64_t found = 0;
    for (std::int64_t k = share.begin(item); k < until; ++k) found += all.begins(k) ? 1 : 0;
    runs_of_item[item] = found;
  }
};

/// And where, and their keys. `run_of_item` are the numbers of the first of each, and of those behind the last.
template <class Put, class Runs>
struct kokkos_list_runs_functor {
  kokkos_stretch share;
  Put put;
  Runs runs;
  const std::int64_t* run_of_item;
  std::int64_t* begins;

  void operator()(std::int64_t item) const {
    const Runs all = runs;
    const Put to = put;
    std::int64_t* const run_begins = begins;
    const std::int64_t until = share.begin(item + 1);
    std::int64_t run = run_of_item[item];
    for (std::int64_t k = share.begin(item); k < until; ++k) {
      if (!all.begins(k)) continue;
      if (run < to.capacity) to.keys.put(run, all.keys[k]);
      run_begins[run++] = k;
    }
  }
};

/// How many runs there are, all of which is there at the return.
template <class Space, class Put, class Runs, class Composite>
std::int64_t kokkos_reduce_runs_on_host(kokkos_state<Space>& state, const Space& space, const kokkos_label& label,
                                        const Put& put, const Runs& runs, const Composite& c) {
  if (runs.elements == 0) return 0;
  const std::int64_t items = std::min(runs.elements, state.threads());
  const kokkos_stretch share{0, runs.elements, items};
  std::vector<std::int64_t> run_of_item(static_cast<std::size_t>(items), 0);
  const auto fence = [&] {
    if constexpr (!is_synchronous<Space>) space.fence(label.get());
  };
  Kokkos::parallel_for(label.get(), kokkos_range<Space>(space, 0, items),
                       kokkos_count_runs_functor<runs_keys<typename Runs::key_type>>{share, runs, run_of_item.data()});
  fence();
  std::int64_t count = 0;
  for (std::int64_t& run : run_of_item) {
    const std::int64_t found = run;
    run = count;
    count += found;
  }
  std::vector<std::int64_t> begins(static_cast<std::size_t>(count) + 1, runs.elements);
  Kokkos::parallel_for(label.get(), kokkos_range<Space>(space, 0, items),
                       kokkos_list_runs_functor<Put, runs_keys<typename Runs::key_type>>{
                           share, put, runs, run_of_item.data(), begins.data()});
  fence();
  if (const std::int64_t some = put.fitting(count); some > 0) {
    using segments = segments_functor<typename Runs::functor_type, std::int64_t>;
    detail::kokkos_reduce_segments_on_host(state, space, label, put.results,
                                           segments{begins.data(), some, runs.elements, runs.f}, c);
  }
  return count;
}

/// On a device, an index of the keys per call: lists the runs that fit, where the last of them ends, and how many there
/// are.
template <class Put, class Runs>
struct kokkos_scan_runs_functor {
  using value_type = std::int64_t;

  Put put;
  Runs runs;
  std::int64_t* begins;
  std::int64_t* count;

  FANIN_FUNCTION void operator()(std::int64_t k, std::int64_t& run, bool is_final) const {
    if (runs.begins(k)) {
      if (is_final && run <= put.capacity) {
        begins[run] = k;
        if (run < put.capacity) put.keys.put(run, runs.keys[k]);
      }
      ++run;
    }
    if (is_final && k == runs.elements - 1) {
      if (run <= put.capacity) begins[run] = runs.elements;
      *count = run;
    }
  }
};

struct kokkos_no_runs_functor {
  std::int64_t* count;
  FANIN_FUNCTION void operator()(std::int64_t) const { *count = 0; }
};

/// A work item takes every items-th run, by itself, with an accumulator in the workspace.
template <class Put, class Runs, class Composite>
struct kokkos_runs_functor {
  Put put;
  Runs runs;
  Composite composite;
  std::int64_t items;
  kokkos_slot<typename Composite::accumulator_type>* spills;
  const std::int64_t* begins;
  const std::int64_t* count;

  FANIN_FUNCTION void operator()(std::int64_t item) const {
    for (std::int64_t run = item; run < put.fitting(*count); run += items) {
      const auto f = runs.row(run, begins[run], begins[run + 1]);
      put.results.put(run, detail::kokkos_result_of_row(f, composite, spills + item));
    }
  }
};

/// In the instance's order. `count` may be null; where it is not, it is memory of the device. Returns where the count
/// stands.
template <class Space, class Put, class Runs, class Composite>
const std::int64_t* kokkos_reduce_runs_on_device(kokkos_state<Space>& state, const Space& space,
                                                 const kokkos_label& label, std::int64_t* count, const Put& put,
                                                 const Runs& runs, const Composite& c) {
  using slot = kokkos_slot<typename Composite::accumulator_type>;
  constexpr std::size_t alignment = 256;
  const auto rounded = [](std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; };
  const std::int64_t most = std::min(put.capacity, runs.elements);
  const std::int64_t items = std::min(most, detail::kokkos_items<slot>(state));
  const std::size_t bytes_of_begins = rounded(static_cast<std::size_t>(most + 1) * sizeof(std::int64_t));
  auto* const memory = static_cast<unsigned char*>(
      state.workspace(alignment + bytes_of_begins + static_cast<std::size_t>(items) * sizeof(slot)));
  if (count == nullptr) count = reinterpret_cast<std::int64_t*>(memory);
  auto* const begins = reinterpret_cast<std::int64_t*>(memory + alignment);
  if (runs.elements == 0) {
    Kokkos::parallel_for(label.get(), kokkos_range<Space>(space, 0, 1), kokkos_no_runs_functor{count});
    return count;
  }
  Kokkos::parallel_scan(label.get(), kokkos_range<Space>(space, 0, runs.elements),
                        kokkos_scan_runs_functor<Put, Runs>{put, runs, begins, count});
  Kokkos::parallel_for(
      label.get(), kokkos_range<Space>(space, 0, items),
      kokkos_runs_functor<Put, Runs, Composite>{
          put, runs, c, items, reinterpret_cast<slot*>(memory + alignment + bytes_of_begins), begins, count});
  return count;
}

/// How many runs there are, when that is known.
template <class Space, class Put, class Runs, class Composite>
std::int64_t kokkos_reduce_runs(kokkos_state<Space>& state, const Space& space, const kokkos_label& label,
                                const Put& put, const Runs& runs, const Composite& c) {
  detail::refuse_kokkos_capture(space, "fanin::parallel_reduce");
  return detail::launch_alone(space, [&] {
    if constexpr (is_host_space<Space>) {
      return detail::kokkos_reduce_runs_on_host(state, space, label, put, runs, c);
    } else {
      using memory_space = typename Space::memory_space;
      const std::int64_t* const from = detail::kokkos_reduce_runs_on_device(state, space, label, nullptr, put, runs, c);
      std::int64_t count = 0;
      Kokkos::deep_copy(space,
                        Kokkos::View<std::int64_t, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(&count),
                        Kokkos::View<const std::int64_t, memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(from));
      space.fence("fanin::parallel_reduce: for the number of runs");
      return count;
    }
  });
}

template <class Space, class Put, class Runs, class Composite>
void kokkos_reduce_runs_into(kokkos_state<Space>& state, const Space& space, const kokkos_label& label,
                             std::int64_t* count, const Put& put, const Runs& runs, const Composite& c) {
  if constexpr (is_host_space<Space>) {
    *count = detail::kokkos_reduce_runs(state, space, label, put, runs, c);
  } else {
    detail::launch_alone(space,
                         [&] { detail::kokkos_reduce_runs_on_device(state, space, label, count, put, runs, c); });
  }
}

/// How many runs there are, to be got when all of them are there: see kokkos_reduce_async.
template <class Space, class Put, class Runs, class Composite>
pending<std::int64_t> kokkos_reduce_runs_async(kokkos_state<Space>& state, const Space& space,
                                               const kokkos_label& label, const Put& put, const Runs& runs,
                                               const Composite& c) {
  if constexpr (kokkos_results<Space>::has_events) {
    return detail::kokkos_pending<std::int64_t>(state, space, [&](std::int64_t* count) {
      detail::kokkos_reduce_runs_into(state, space, label, count, put, runs, c);
    });
  } else {
    return pending<std::int64_t>(detail::kokkos_reduce_runs(state, space, label, put, runs, c));
  }
}

}  // namespace fanin::detail
