// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <fanin/detail/axes_functor.hpp>
#include <fanin/detail/composite.hpp>
#include <fanin/detail/segments_functor.hpp>
#include <fanin/detail/unrolled.hpp>
#include <fanin/host/as_written.hpp>
#include <fanin/host/fold.hpp>

/// How one thread of a host folds many rows: one after the other where the elements of each are neighbours, and many at
/// once where they lie across each other in memory, as columns do.
namespace fanin::detail::host {

template <class Composite>
inline constexpr bool has_plain_states =
    !Composite::has_any_spill && std::is_same_v<typename Composite::state_type, typename Composite::accumulator_type> &&
    std::is_trivially_default_constructible_v<typename Composite::accumulator_type>;

/// Rows of so few elements are folded from left to right: loops for many cost more than they give. Of doubles, 16 MiB
/// of them: 64 elements 4.4 ms instead of 7.3; 256 6.9 instead of 4.7.
inline constexpr std::int64_t short_row = 128;

/// What comes of a row: `fold_row` folds one of more than `some` elements.
template <class Row, class Composite, class FoldRow>
typename Composite::accumulator_type fold_one_row(const Row& f, const Composite& c, std::int64_t some,
                                                  const FoldRow& fold_row) {
  if constexpr (has_plain_states<Composite>) {
    if (f.count() <= some) {
      auto acc = c.identity();
      detail::for_stretches(f, f.first(), f.first() + f.count(),
                            [&](const auto& line, std::int64_t k, std::int64_t until) {
                              if constexpr (has_as_written<Composite>) {  // which compilers do not unroll
                                for (; k < until - 3; k += 4) {
                                  detail::unrolled<4>([&](int j) { c.accumulate_on_host(line, acc, k + j); });
                                }
                              }
                              for (; k < until; ++k) c.accumulate_on_host(line, acc, k);
                            });
      return acc;
    }
  }
  return fold_row(f);
}

/// Calls use(row, place, accumulator) for the rows begin .. end - 1.
template <class All, class Composite, class FoldRow, class Use>
void fold_rows(const All& all, const Composite& c, std::int64_t begin, std::int64_t end, std::int64_t some,
               const FoldRow& fold_row, const Use& use) {
  detail::for_rows(all, begin, end, [&](std::int64_t row, const auto& place) {
    use(row, place, host::fold_one_row(all.row(place), c, some, fold_row));
  });
}

/// Whether as many accumulators as stand in a local array below are small beside a thread's stack.
template <class Composite>
inline constexpr bool fits_the_stack = sizeof(typename Composite::accumulator_type) <= 2048;

/// How many of so many bytes' states of rows, at least a few.
template <class Composite>
constexpr std::int64_t rows_in(std::int64_t bytes) {
  return std::max<std::int64_t>(bytes / static_cast<std::int64_t>(sizeof(typename Composite::state_type)), 4);
}
/// Rows that are folded at once: their states stay in the nearest cache.
template <class Composite>
inline constexpr std::int64_t rows_at_once = host::rows_in<Composite>(16384);
/// Where there are more, rows whose states stay in a cache: memory is best read in long stretches. Of 128 MiB of
/// doubles in 65,536 columns, 5 ms instead of 9.5 with those of the nearest cache.
template <class Composite>
inline constexpr std::int64_t rows_in_a_cache = host::rows_in<Composite>(524288);

/// The elements number .. behind - 1, of which only the fastest index changes, from this one on: see below.
template <class All, class Element, class Use>
void for_elements_of_line(const All& all, std::int64_t begin, std::int64_t end, Element element, std::int64_t number,
                          std::int64_t behind, const Use& use) {
  for (; number < behind; ++number) {
    detail::for_rows_at(all, element, begin, end,
                        [&](const auto& line, std::int64_t row, std::int64_t last) { use(number, line, row, last); });
    ++element[decltype(all.reduced)::fastest];
  }
}

/// Calls use(number, line, row, last) for each of the elements from .. until - 1 (numbers from 0), and there for
/// stretches row .. last - 1 of the rows begin .. end - 1, where line(row) is what f gives.
template <class All, class Use>
void for_elements_across(const All& all, std::int64_t begin, std::int64_t end, std::int64_t from, std::int64_t until,
                         const Use& use) {
  detail::for_lines(all.reduced, from, until, [&](const auto& element, std::int64_t number, std::int64_t behind) {
    host::for_elements_of_line(all, begin, end, element, number, behind, use);
  });
}

/// So many elements of each of many rows are taken at once: what a thread reads comes from as many places, of which
/// memory has more on its way than of one (docs/adr/0025).
inline constexpr int several_elements = 8;
/// Where there are so many rows: those of fewer lie near to each other anyway.
inline constexpr std::int64_t least_rows_at_once = 128;

/// The same for several elements: use(number, lines, row, last), where lines[k](row) is what f gives of the element
/// number + k; those that are left one by one, by use_one as above.
template <class All, class Use, class UseOne>
void for_several_elements_across(const All& all, std::int64_t begin, std::int64_t end, std::int64_t from,
                                 std::int64_t until, const Use& use, const UseOne& use_one) {
  constexpr std::size_t fastest = decltype(all.reduced)::fastest;
  detail::for_lines(all.reduced, from, until, [&](auto element, std::int64_t number, std::int64_t behind) {
    for (; behind - number >= several_elements; number += several_elements) {
      detail::for_rows_at(all, element, begin, end, [&](const auto& line, std::int64_t row, std::int64_t last) {
        const auto at = [&](int k) {
          auto moved = line;
          moved.reduced[fastest] += k;
          return moved;
        };
        [&]<int... K>(std::integer_sequence<int, K...>) {
          const std::remove_cvref_t<decltype(line)> lines[] = {at(K)...};
          use(number, lines, row, last);
        }(std::make_integer_sequence<int, several_elements>{});
      });
      element[fastest] += several_elements;
    }
    host::for_elements_of_line(all, begin, end, element, number, behind, use_one);
  });
}

/// Folds the elements from .. until - 1 of the rows begin .. begin + n - 1 into states[0 .. n - 1], or in turn into
/// `sets` (a power of two) of so many, one behind the other.
template <class All, class Composite, class State>
void gather_columns(const All& all, const Composite& c, State* states, std::int64_t begin, std::int64_t n,
                    std::int64_t sets, std::int64_t from, std::int64_t until) {
  const std::int64_t first = all.first();
  const auto take_one = [&](std::int64_t number, const auto& line, std::int64_t row, std::int64_t last) {
    using line_type = std::remove_cvref_t<decltype(line)>;
    State* const of_rows = states + (number & (sets - 1)) * n;
    if constexpr (is_kept_for<line_type, Composite>) {
      constexpr std::int64_t few = 16;
      if (last - row > few) {
        host::fold_each(line, c, of_rows + (row - begin), row, last, first + number);
        return;
      }
    }
    for (; row < last; ++row) {
      c.accumulate_on_host(element_of_line<line_type>{line, row}, of_rows[row - begin], first + number);
    }
  };
  if (n < least_rows_at_once) {
    host::for_elements_across(all, begin, begin + n, from, until, take_one);
    return;
  }
  const auto take = [&](std::int64_t number, const auto* lines, std::int64_t row, std::int64_t last) {
    using line_type = std::remove_cvref_t<decltype(*lines)>;
    if constexpr (is_kept_for<line_type, Composite>) {
      for (int k = 0; k < several_elements; ++k) take_one(number + k, lines[k], row, last);
    } else {
      for (; row < last; ++row) {
        host::use_apart(states[row - begin], [&](auto& apart) {
          detail::unrolled<several_elements>([&](int k) {
            c.accumulate_on_host(element_of_line<line_type>{lines[k], row}, apart, first + number + k);
          });
        });
      }
    }
  };
  host::for_several_elements_across(all, begin, begin + n, from, until, take, take_one);
}

/// Rows whose states lie in a local array, which f cannot reach.
template <class All, class Composite, class Use>
void fold_few_columns(const All& all, const Composite& c, std::int64_t begin, std::int64_t n, std::int64_t from,
                      std::int64_t until, bool left_to_right, const Use& use) {
  using accumulator = typename Composite::accumulator_type;
  constexpr std::int64_t few = 64;
  const bool takes_turns = !left_to_right && n <= few && 4 * n <= rows_at_once<Composite> && until - from >= 4;
  const std::int64_t sets = takes_turns ? 4 : 1;
  accumulator states[rows_at_once<Composite>];
  std::fill_n(states, sets * n, c.identity());
  host::gather_columns(all, c, states, begin, n, sets, from, until);
  detail::for_rows(all, begin, begin + n, [&](std::int64_t row, const auto& place) {
    accumulator& acc = states[row - begin];
    for (std::int64_t set = 1; set < sets; ++set) c.join(acc, states[set * n + row - begin]);
    use(row, place, acc);
  });
}

/// Very few rows: some elements of each, which come from memory with the first row, and then some more; in four sums in
/// turn.
inline constexpr std::int64_t very_few_rows = 8;
template <class All, class Composite, class Use>
void fold_very_few_columns(const All& all, const Composite& c, std::int64_t begin, std::int64_t n, std::int64_t from,
                           std::int64_t until, const Use& use) {
  using accumulator = typename Composite::accumulator_type;
  constexpr std::int64_t sets = 4;
  constexpr std::int64_t elements_at_once = 512;
  accumulator states[very_few_rows][sets];
  for (auto& of_row : states) std::fill_n(of_row, sets, c.identity());
  const std::int64_t first = all.first();
  for (; from < until; from += elements_at_once) {
    const std::int64_t next = until - from < elements_at_once ? until : from + elements_at_once;
    detail::for_rows(all, begin, begin + n, [&](std::int64_t row, const auto& place) {
      accumulator apart[sets];
      std::copy_n(states[row - begin], sets, apart);
      detail::for_stretches(axes_row<const All&>{all, place}, first + from, first + next,
                            [&](const auto& line, std::int64_t k, std::int64_t end) {
                              for (; k <= end - sets; k += sets) {
                                for (int set = 0; set < sets; ++set) c.accumulate_on_host(line, apart[set], k + set);
                              }
                              for (; k < end; ++k) c.accumulate_on_host(line, apart[0], k);
                            });
      std::copy_n(apart, sets, states[row - begin]);
    });
  }
  detail::for_rows(all, begin, begin + n, [&](std::int64_t row, const auto& place) {
    accumulator& acc = states[row - begin][0];
    for (std::int64_t set = 1; set < sets; ++set) c.join(acc, states[row - begin][set]);
    use(row, place, acc);
  });
}

/// Rows of which there are more, or of reducers with a state of their own or a large one. Not inlined: g++ would look
/// at what it writes for as many, in calls that have a few, and warn.
template <class All, class Composite, class Use>
__attribute__((noinline)) void fold_many_columns(const All& all, const Composite& c, std::int64_t begin, std::int64_t n,
                                                 std::int64_t from, std::int64_t until, const Use& use) {
  std::vector<typename Composite::accumulator_type> spills(static_cast<std::size_t>(n), c.identity());
  if constexpr (has_plain_states<Composite>) {
    host::gather_columns(all, c, spills.data(), begin, n, 1, from, until);
  } else {
    std::vector<typename Composite::state_type> states;
    states.reserve(spills.size());
    for (auto& spill : spills) states.push_back(c.begin(spill));
    host::gather_columns(all, c, states.data(), begin, n, 1, from, until);
    for (std::size_t at = 0; at < spills.size(); ++at) c.finish(states[at], spills[at]);
  }
  detail::for_rows(all, begin, begin + n, [&](std::int64_t row, const auto& place) {
    use(row, place, spills[static_cast<std::size_t>(row - begin)]);
  });
}

/// Whether what f gives is for exact sums alone, which take a block of one row's values at once: in any order and
/// grouping the same.
template <class R>
inline constexpr bool is_exact_of_values = false;
template <exact_element T, class Result>
inline constexpr bool is_exact_of_values<exact_sum<T, Result>> = true;
template <class All, class Composite>
inline constexpr bool folds_in_blocks = false;
template <class All, class First, class... R>
  requires(is_exact_of_values<First> && (is_exact_of_values<R> && ...))
inline constexpr bool folds_in_blocks<All, composite<First, R...>> = [] {
  using row = axes_row<const All&>;
  if constexpr (gathers<row, composite<First, R...>>) {
    return share_values<std::remove_cvref_t<std::invoke_result_t<const row&, std::int64_t>>, First, R...>;
  } else {
    return false;
  }
}();

/// Values of some rows are brought together first, so that elements of one are neighbours. Of doubles, ns an element,
/// so and by a state for each row: 250,000 columns of 4 elements 27 and 63, 1000 of 1000 3 and 8.
template <class All, class Composite, class Use>
void fold_columns_in_blocks(const All& all, const Composite& c, std::int64_t begin, std::int64_t end, std::int64_t from,
                            std::int64_t until, const Use& use) {
  using value_type = reducer_value_t<typename Composite::template reducer_type<0>>;
  constexpr std::int64_t rows_together = 32;
  constexpr std::int64_t elements_together = 128;
  constexpr std::int64_t apart = elements_together + 64 / std::int64_t{sizeof(value_type)};  // not by a power of 2
  value_type values[rows_together * apart];
  const auto in_those = host::folded_of(c, typename Composite::indices{});
  const std::int64_t first = all.first();
  std::vector<typename Composite::accumulator_type> sums;
  for (std::int64_t n = 0; begin < end; begin += n) {
    n = std::min(end - begin, rows_together);
    sums.clear();
    sums.resize(static_cast<std::size_t>(n));  // with nothing in them, as they are made
    for (std::int64_t at = from; at < until; at += elements_together) {
      const std::int64_t some = std::min(until - at, elements_together);
      host::for_elements_across(all, begin, begin + n, at, at + some,
                                [&](std::int64_t number, const auto& line, std::int64_t row, std::int64_t last) {
                                  value_type* const to = values + (number - at);
                                  for (; row < last; ++row)
                                    to[(row - begin) * apart] = static_cast<value_type>(line(row));
                                });
      for (std::int64_t row = 0; row < n; ++row) {
        auto& sum = sums[static_cast<std::size_t>(row)];
        auto state = in_those.begin(sum);
        in_those.fold_batch(state, span_batch<value_type>{values + row * apart, some, first + at});
        in_those.finish(state, sum);
      }
    }
    detail::for_rows(all, begin, begin + n, [&](std::int64_t row, const auto& place) {
      use(row, place, sums[static_cast<std::size_t>(row - begin)]);
    });
  }
}

/// Rows whose elements lie nearer to each other are folded one after the other, as elements that are neighbours are: a
/// line of memory has some of each, and stretches of so few rows cost more than they give. In ns an element of 128 MiB
/// of doubles along the middle axis, across and so: of 4096 x 4096 x 1 5.3 and 0.4, 1024 x 4096 x 3 3.7 and 0.7, 512 x
/// 2048 x 16 3.1 and 1.4, 64 x 4096 x 64 1.2 and 1.9.
inline constexpr std::int64_t least_apart_across = 32;
/// As long as so many elements beside each other, of all these rows, stay in a cache until the last row's turn.
inline constexpr std::int64_t elements_in_a_cache = 32'768;

/// Calls use(row, place, accumulator) for the rows begin .. end - 1, of whose elements it folds those with the numbers
/// from .. until - 1, counted from 0: each row's from left to right, or, where that is not asked for, a lone row's and
/// those of rows whose elements lie near to each other as flat ranges', and those of few rows in four sums in turn, so
/// that an element need not wait for the one before it.
template <class All, class Composite, class Use>
void fold_columns(const All& all, const Composite& c, std::int64_t begin, std::int64_t end, std::int64_t from,
                  std::int64_t until, bool left_to_right, const Use& use) {
  const auto fold_row = [&](const auto& f) { return host::fold(f, c, all.first() + from, all.first() + until); };
  if (end - begin == 1 && !left_to_right) {
    const auto place = all.place(begin);
    use(begin, place, fold_row(axes_row<const All&>{all, place}));
    return;
  }
  if constexpr (folds_in_blocks<All, Composite>) {
    host::fold_columns_in_blocks(all, c, begin, end, from, until, use);
    return;
  }
  constexpr bool may_be_local = has_plain_states<Composite> && fits_the_stack<Composite>;
  const std::int64_t apart = all.elements_apart();
  if (apart < least_apart_across && (has_plain_states<Composite> || !left_to_right) &&
      (apart == 1 || all.count <= elements_in_a_cache / apart)) {
    const std::int64_t whole = left_to_right ? INT64_MAX : short_row;
    host::fold_rows(all, c, begin, end, until - from == all.count ? whole : -1, fold_row, use);
    return;
  }
  if constexpr (may_be_local) {
    if (std::min(apart, end - begin) <= very_few_rows && !left_to_right) {
      while (begin < end) {  // those beside each other
        const std::int64_t n = std::min(end - begin, apart - begin % apart);
        host::fold_very_few_columns(all, c, begin, n, from, until, use);
        begin += n;
      }
      return;
    }
  }
  while (begin < end) {
    const bool are_many = end - begin > rows_at_once<Composite>;
    const std::int64_t n = std::min(end - begin, are_many ? rows_in_a_cache<Composite> : rows_at_once<Composite>);
    if constexpr (may_be_local) {
      if (are_many) {
        host::fold_many_columns(all, c, begin, n, from, until, use);
      } else {
        host::fold_few_columns(all, c, begin, n, from, until, left_to_right, use);
      }
    } else {
      host::fold_many_columns(all, c, begin, n, from, until, use);
    }
    begin += n;
  }
}

}  // namespace fanin::detail::host
