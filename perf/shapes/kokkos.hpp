// SPDX-License-Identifier: Apache-2.0
#pragma once

// Plain Kokkos, as its users write sums of rows and segments (a team each), of columns and along a middle axis (an
// index each) and over two dimensions.

#include <Kokkos_Core.hpp>
#include <cstdint>

#include "shapes/shape.hpp"

namespace fanin_perf::shapes {

template <class T, class Space>
struct sum_row {
  element_at<T> f;
  std::int64_t m;
  T* out;
  using member = typename Kokkos::TeamPolicy<Space>::member_type;

  struct add {
    element_at<T> f;
    std::int64_t i;
    KOKKOS_FUNCTION void operator()(std::int64_t j, T& sum) const { sum += f(i, j); }
  };
  KOKKOS_FUNCTION void operator()(const member& team) const {
    const std::int64_t i = team.league_rank();
    T sum = 0;
    Kokkos::parallel_reduce(Kokkos::TeamThreadRange(team, m), add{f, i}, sum);
    if (team.team_rank() == 0) out[i] = sum;
  }
};

template <class T, class Space>
struct sum_segment {
  element_of_segment<T> f;
  const std::int64_t* offsets;
  T* out;
  using member = typename Kokkos::TeamPolicy<Space>::member_type;

  struct add {
    element_of_segment<T> f;
    std::int64_t s;
    KOKKOS_FUNCTION void operator()(std::int64_t k, T& sum) const { sum += f(s, k); }
  };
  KOKKOS_FUNCTION void operator()(const member& team) const {
    const std::int64_t s = team.league_rank();
    T sum = 0;
    Kokkos::parallel_reduce(Kokkos::TeamThreadRange(team, offsets[s], offsets[s + 1]), add{f, s}, sum);
    if (team.team_rank() == 0) out[s] = sum;
  }
};

template <class T>
struct sum_column {
  element_at<T> f;
  std::int64_t n;
  T* out;
  KOKKOS_FUNCTION void operator()(std::int64_t j) const {
    T sum = 0;
    for (std::int64_t i = 0; i < n; ++i) sum += f(i, j);
    out[j] = sum;
  }
};

template <class T>
struct sum_middle {
  element_of_three<T> f;
  T* out;
  KOKKOS_FUNCTION void operator()(std::int64_t r) const {
    T sum = 0;
    for (std::int64_t j = 0; j < f.m; ++j) sum += f(r / f.inner, j, r % f.inner);
    out[r] = sum;
  }
};

template <class T>
struct sum_all {
  element_at<T> f;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t j, T& sum) const { sum += f(i, j); }
};

template <class T, class Space>
void reduce_by_kokkos(const Space& space, const problem<T>& of, const element_at<T>& f, const beside& more, T* out) {
  const auto& [what, n, m, inner, given] = of.of;
  if (what == kind::rows) {
    const Kokkos::TeamPolicy<Space> teams(space, static_cast<int>(n), Kokkos::AUTO);
    Kokkos::parallel_for(teams, sum_row<T, Space>{f, m, out});
  } else if (what == kind::middle) {
    const Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>> all(space, 0, n * inner);
    Kokkos::parallel_for(all, sum_middle<T>{{f.x, m, inner}, out});
  } else if (of.of.has_offsets()) {
    const Kokkos::TeamPolicy<Space> teams(space, static_cast<int>(n), Kokkos::AUTO);
    Kokkos::parallel_for(teams, sum_segment<T, Space>{{f.x}, more.offsets, out});
  } else if (what == kind::columns) {
    const Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>> all(space, 0, m);
    Kokkos::parallel_for(all, sum_column<T>{f, n, out});
  } else {
    using view = Kokkos::View<T, typename Space::memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
    const Kokkos::MDRangePolicy<Space, Kokkos::Rank<2>, Kokkos::IndexType<std::int64_t>> within(space, {1, 1},
                                                                                                {n - 1, m - 1});
    Kokkos::parallel_reduce(within, sum_all<T>{f}, Kokkos::Sum<T, typename Space::memory_space>(view(out)));
  }
}

}  // namespace fanin_perf::shapes
