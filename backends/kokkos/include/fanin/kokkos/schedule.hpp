// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <type_traits>

#include <Kokkos_Core.hpp>
#include <fanin/detail/md_functor.hpp>
#include <fanin/error.hpp>
#include <fanin/kokkos/functors.hpp>
#include <fanin/kokkos/host_fold.hpp>
#include <fanin/kokkos/space.hpp>

/// Calls over functors whose indices take different times, on host spaces.
namespace fanin {

/// Which thread of a host space takes which indices.
enum class schedule {
  fixed,    ///< each thread as many, one stretch of them: where all take the same time
  dynamic,  ///< each thread the next chunk when it is done with one: where they do not
};

/// How calls on a fanin::kokkos go over their indices. It means something on host spaces, for what goes by index to one
/// result (functors over range and md_range, transform_reduce, views with gaps between elements) and for parallel_for;
/// everything else takes it and goes on as without.
struct kokkos_tuning {
  fanin::schedule schedule = fanin::schedule::fixed;
  /// Of a dynamic schedule, how many indices a thread takes at once. 0: a 1024th of them. Reductions raise it to a
  /// 65536th of the indices at least, and to more where the partial results would take over 64 MiB.
  std::int64_t chunk = 0;
};

namespace detail {

/// The chunks of one dynamic call.
struct kokkos_chunks {
  std::int64_t first;
  std::int64_t count;
  std::int64_t chunk;

  std::int64_t items() const { return count / chunk + (count % chunk != 0 ? 1 : 0); }
  std::int64_t begin(std::int64_t item) const { return first + item * chunk; }
  std::int64_t end(std::int64_t item) const { return begin(item) + std::min(chunk, count - item * chunk); }
};

/// Of at most so many chunks. The number of threads has no say, nor have the bits.
inline kokkos_chunks chunks_of(std::int64_t first, std::int64_t count, std::int64_t chunk, std::int64_t most) {
  constexpr std::int64_t by_itself = 1024;
  const auto least_for = [count](std::int64_t items) { return count / items + (count % items != 0 ? 1 : 0); };
  const std::int64_t wanted = chunk > 0 ? std::min(chunk, count) : least_for(by_itself);
  return {first, count, std::max({wanted, least_for(most), std::int64_t{1}})};
}

/// One chunk is one work item of Kokkos's.
template <class Space>
auto kokkos_dynamic_range(const Space& space, std::int64_t items) {
  using policy = Kokkos::RangePolicy<Space, Kokkos::Schedule<Kokkos::Dynamic>, Kokkos::IndexType<std::int64_t>>;
  return policy(space, 0, items, Kokkos::ChunkSize(1));
}

/// Room for a partial result, which the chunk's thread makes.
template <class Slot>
struct alignas(Slot) kokkos_room {
  std::byte bytes[sizeof(Slot)];
};

template <class F, class Composite>
struct kokkos_chunk_functor {
  using slot = kokkos_slot<typename Composite::accumulator_type>;

  kokkos_chunks chunks;
  Composite composite;
  F f;
  kokkos_room<slot>* partials;

  void operator()(std::int64_t item) const {
    auto acc = composite.identity();
    detail::fold_on_host(f, composite, chunks.begin(item), chunks.end(item), acc);
    ::new (static_cast<void*>(partials + item)) slot{acc};
  }
};

template <class F>
struct kokkos_chunk_for_functor {
  kokkos_chunks chunks;
  F f;

  void operator()(std::int64_t item) const {
    detail::for_stretches(f, chunks.begin(item), chunks.end(item), [](const auto& g, auto from, auto until) {
      for (auto i = from; i < until; ++i) g(i);
    });
  }
};

/// The value: partial results of the chunks, whoever made them, joined in the order of the indices.
template <class Space, class F, class Composite>
typename Composite::result_type kokkos_reduce_chunks(const Space& space, const std::string& label, std::int64_t first,
                                                     std::int64_t count, std::int64_t chunk, const F& f,
                                                     const Composite& c) {
  using plain = typename Composite::plain_type;
  using functor = kokkos_chunk_functor<F, plain>;
  using slot = typename functor::slot;
  constexpr std::size_t most_bytes = std::size_t{64} << 20;
  constexpr auto most =
      static_cast<std::int64_t>(std::clamp<std::size_t>(most_bytes / sizeof(slot), 1, std::size_t{1} << 16));
  auto total = c.identity();
  if (count > 0) {
    const kokkos_chunks chunks = detail::chunks_of(first, count, chunk, most);
    const std::int64_t items = chunks.items();
    const auto partials = std::make_unique_for_overwrite<kokkos_room<slot>[]>(static_cast<std::size_t>(items));
    detail::launch_alone(space, [&] {
      Kokkos::parallel_for(label, detail::kokkos_dynamic_range(space, items),
                           functor{chunks, c.plain(), f, partials.get()});
      if constexpr (!is_synchronous<Space>) space.fence(label);
    });
    for (std::int64_t item = 0; item < items; ++item) {
      c.join(total, std::launder(reinterpret_cast<const slot*>(partials[static_cast<std::size_t>(item)].bytes))->value);
    }
  }
  return c.result_on_host(total);
}

template <class Space, class F>
void kokkos_for_chunks(const Space& space, const std::string& label, std::int64_t first, std::int64_t count,
                       std::int64_t chunk, const F& f) {
  const kokkos_chunks chunks = detail::chunks_of(first, count, chunk, count);
  Kokkos::parallel_for(label, detail::kokkos_dynamic_range(space, chunks.items()),
                       kokkos_chunk_for_functor<F>{chunks, f});
}

inline void check_kokkos_tuning(const kokkos_tuning& tuning) {
  if (tuning.chunk < 0) {
    throw invalid_argument("fanin::kokkos::with: a chunk of " + std::to_string(tuning.chunk) +
                           " indices; give 1 or more, or 0 for Fanin's choice");
  }
}

}  // namespace detail

}  // namespace fanin
