// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "contract/contract.hpp"

/// What topics of many results share.
namespace fanin_test {

struct matrix_shape {
  std::int64_t rows;
  std::int64_t columns;
};

/// Of few and of many results, short and long ones: each way to split them.
inline const std::vector<matrix_shape>& matrix_shapes() {
  static const std::vector<matrix_shape> shapes{{1, 1},    {1, 70'003}, {70'003, 1}, {2, 3},      {3, 2},
                                                {33, 31},  {31, 33},    {5, 40'000}, {40'000, 5}, {700, 64},
                                                {64, 700}, {3, 513},    {257, 514},  {130, 2},    {2, 130},
                                                {4, 4},    {1'030, 9},  {0, 3},      {3, 0}};
  return shapes;
}

using sum_and_place = fanin::tuple<std::int64_t, fanin::value_index<std::int64_t>>;

/// What `count` elements give of which at(k) is the k-th.
template <class At>
sum_and_place expected_of(std::int64_t count, const At& at) {
  sum_and_place expected{{{0}, {{std::numeric_limits<std::int64_t>::max(), -1}}}};
  for (std::int64_t k = 0; k < count; ++k) {
    const auto value = static_cast<std::int64_t>(mix(static_cast<std::uint64_t>(at(k))) % 50);
    fanin::get<0>(expected) += value;
    if (value < fanin::get<1>(expected).value) fanin::get<1>(expected) = {value, k};
  }
  return expected;
}

/// Lengths at the edges of what a lane, some lanes, a warp, a block and several blocks take; `few` of them, or many.
inline std::vector<std::int64_t> segment_lengths(bool few) {
  std::vector<std::int64_t> lengths{0,  1,     0,     0,      7,      15,     16,     17, 63, 64,
                                    65, 4'096, 4'097, 16'384, 16'385, 32'768, 32'769, 3,  0};
  if (few) return lengths;
  lengths.push_back(300'007);
  for (std::uint64_t k = 0; k < 3'000; ++k) {
    const std::uint64_t draw = mix(k);
    lengths.push_back(static_cast<std::int64_t>(draw % 16 == 0 ? draw / 16 % 300 : draw / 16 % 12));
  }
  lengths.insert(lengths.end(), {131'072, 0, 0});
  return lengths;
}

/// b[i] - A x of a row.
struct residual_of_row {
  FANIN_FUNCTION double operator()(double sum, std::int64_t i) const { return static_cast<double>(i) - sum; }
};

/// A small number with many equals, and a mark at the place: two visits of one index show as 2.
struct mark_matrix {
  std::int64_t columns;
  std::int32_t* visits;
  FANIN_FUNCTION std::int64_t operator()(std::int64_t i, std::int64_t j) const {
    const std::int64_t at = i * columns + j;
    ++visits[at];
    return static_cast<std::int64_t>(mix(static_cast<std::uint64_t>(at)) % 50);
  }
};

struct small_number {
  FANIN_FUNCTION std::int32_t operator()(std::int64_t i, std::int64_t j) const {
    return static_cast<std::int32_t>((i * 31 + j * 7) % 100);
  }
};

}  // namespace fanin_test
