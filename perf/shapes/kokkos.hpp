// SPDX-License-Identifier: Apache-2.0
#pragma once

// Plain Kokkos, as its users write sums of rows and segments (a team each), of columns and along a middle axis (an
// index each) and over two or three dimensions, and products of sparse matrices (some lanes of a team a row, or all of
// it).

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "shapes/box.hpp"
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

/// Teams of so many rows, each by the lanes of a thread; or of one row.
template <class T, class Space>
struct multiply_rows {
  product_at<T> f;
  const std::int32_t* offsets;
  std::int64_t n;
  std::int64_t rows_of_team;
  bool by_team;
  T* out;
  using member = typename Kokkos::TeamPolicy<Space>::member_type;

  struct add {
    product_at<T> f;
    std::int64_t row;
    KOKKOS_FUNCTION void operator()(std::int64_t k, T& sum) const { sum += f(row, k); }
  };
  struct store {
    T* to;
    T value;
    KOKKOS_FUNCTION void operator()() const { *to = value; }
  };
  struct multiply {
    const multiply_rows& all;
    const member& team;
    KOKKOS_FUNCTION void operator()(std::int64_t row) const {
      T sum = 0;
      const auto elements = Kokkos::ThreadVectorRange(team, all.offsets[row], all.offsets[row + 1]);
      Kokkos::parallel_reduce(elements, add{all.f, row}, sum);
      Kokkos::single(Kokkos::PerThread(team), store{all.out + row, sum});
    }
  };
  KOKKOS_FUNCTION void operator()(const member& team) const {
    const std::int64_t first = team.league_rank() * rows_of_team;
    if (by_team) {
      T sum = 0;
      const auto elements = Kokkos::TeamVectorRange(team, offsets[first], offsets[first + 1]);
      Kokkos::parallel_reduce(elements, add{f, first}, sum);
      Kokkos::single(Kokkos::PerTeam(team), store{out + first, sum});
    } else {
      const std::int64_t last = first + rows_of_team < n ? first + rows_of_team : n;
      Kokkos::parallel_for(Kokkos::TeamThreadRange(team, first, last), multiply{*this, team});
    }
  }
};

/// y = A x with so many lanes a row; 0: a team.
template <class T, class Space>
void multiply_by_kokkos(const Space& space, const problem<T>& of, const element_at<T>& f, const beside& more, int lanes,
                        T* out) {
  constexpr int threads = 256;
  constexpr bool on_host = Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename Space::memory_space>::accessible;
  const std::int64_t rows = lanes == 0 ? 1 : threads / lanes;
  const auto league = static_cast<int>((of.of.n + rows - 1) / rows);
  Kokkos::TeamPolicy<Space> teams(space, league, Kokkos::AUTO);
  if (!on_host && lanes > 0) teams = Kokkos::TeamPolicy<Space>(space, league, threads / lanes, lanes);
  const product_at<T> product{f.x, more.columns_of(of, f.x), of.x};
  Kokkos::parallel_for(teams, multiply_rows<T, Space>{product, more.row_offsets, of.of.n, rows, lanes == 0, out});
}

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
struct add_triangle {
  sum_in_triangle<T> f;
  KOKKOS_FUNCTION void operator()(std::int64_t i, T& sum) const { sum += f(i); }
};

template <class T, class F, std::size_t Rank>
struct sum_all;
template <class T, class F>
struct sum_all<T, F, 2> {
  F f;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t j, T& sum) const { sum += f(i, j); }
};
template <class T, class F>
struct sum_all<T, F, 3> {
  F f;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t j, std::int64_t k, T& sum) const { sum += f(i, j, k); }
};

/// So much of the two fastest dimensions, and of a third; {}: as Kokkos has them.
using tile = std::array<std::int64_t, 3>;

template <class T, class Space, class F, std::size_t Rank>
void sum_box_by_kokkos(const Space& space, const box<Rank>& within, const F& f, const tile& by, T* out) {
  using view = Kokkos::View<T, typename Space::memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  using policy = Kokkos::MDRangePolicy<Space, Kokkos::Rank<Rank>, Kokkos::IndexType<std::int64_t>>;
  Kokkos::Array<std::int64_t, Rank> lower{};
  Kokkos::Array<std::int64_t, Rank> upper{};
  Kokkos::Array<std::int64_t, Rank> sizes{};
  for (std::size_t d = 0; d < Rank; ++d) {
    lower[d] = within.lower[d];
    upper[d] = within.upper[d];
    sizes[d] = by[d + 3 - Rank];
  }
  const policy all = by == tile{} ? policy(space, lower, upper) : policy(space, lower, upper, sizes);
  Kokkos::parallel_reduce(all, sum_all<T, F, Rank>{f}, Kokkos::Sum<T, typename Space::memory_space>(view(out)));
}

template <class T, class Space>
void reduce_by_kokkos(const Space& space, const problem<T>& of, const element_at<T>& f, const beside& more, int lanes,
                      const tile& by, T* out) {
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
  } else if (what == kind::triangle) {
    using view = Kokkos::View<T, typename Space::memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
    const Kokkos::RangePolicy<Space, Kokkos::Schedule<Kokkos::Dynamic>, Kokkos::IndexType<std::int64_t>> all(
        space, 0, n, Kokkos::ChunkSize(chunk_of_triangle));
    Kokkos::parallel_reduce(all, add_triangle<T>{{f.x, n, m}}, Kokkos::Sum<T, typename Space::memory_space>(view(out)));
  } else if (what == kind::spmv) {
    multiply_by_kokkos(space, of, f, more, lanes, out);
  } else if (what == kind::columns) {
    const Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>> all(space, 0, m);
    Kokkos::parallel_for(all, sum_column<T>{f, n, out});
  } else {
    shapes::with_box(of.of, f.x,
                     [&](const auto& within, const auto& g) { shapes::sum_box_by_kokkos(space, within, g, by, out); });
  }
}

/// How a matrix or a box takes the least time on a device: by so many lanes a row, by such tiles. (A host has one lane,
/// and Kokkos's own tiles.)
template <class T, class Space>
class best_by_kokkos {
 public:
  best_by_kokkos(const Space& space, const problem<T>& of, const beside& more) {
    double least = 0;
    const auto is_best = [&](int lanes, const tile& by) {
      constexpr int calls = 10;
      const auto run = [&] { reduce_by_kokkos(space, of, of.element(0), more, lanes, by, of.out); };
      run();
      space.fence();
      const Kokkos::Timer timer;
      for (int k = 0; k < calls; ++k) run();
      space.fence();
      const double seconds = timer.seconds();
      if (least > 0 && seconds >= least) return false;
      least = seconds;
      return true;
    };
    if (of.of.what == kind::spmv) {
      for (const int some : {0, 1, 2, 4, 8, 16, 32}) {
        if (is_best(some, {})) lanes_ = some;
      }
      before_ = lanes_ == 0 ? "a team a row" : std::to_string(lanes_) + " lanes a row";
    } else if (of.of.is_box()) {
      for (const tile& some : std::initializer_list<tile>{{},
                                                          {1, 1, 256},
                                                          {1, 2, 128},
                                                          {1, 4, 64},
                                                          {1, 8, 32},
                                                          {1, 16, 16},
                                                          {1, 4, 128},
                                                          {1, 8, 64},
                                                          {1, 16, 32},
                                                          {2, 4, 32},
                                                          {4, 4, 16},
                                                          {4, 4, 32}}) {
        if ((of.of.inner == 1 && some[0] > 1) || !is_best(lanes_, some)) continue;
        tile_ = some;
        before_ = some == tile{} ? "Kokkos's tiles" : "tiles of " + text_of(some);
      }
    }
  }
  int lanes() const { return lanes_; }
  const tile& by() const { return tile_; }
  preparation before() const { return {before_}; }

 private:
  static std::string text_of(const tile& by) {
    return std::to_string(by[0]) + 'x' + std::to_string(by[1]) + 'x' + std::to_string(by[2]);
  }

  int lanes_ = 1;
  tile tile_{};
  std::string before_;
};

}  // namespace fanin_perf::shapes
