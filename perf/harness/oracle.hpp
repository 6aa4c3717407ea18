// SPDX-License-Identifier: Apache-2.0
#pragma once

// The right answer of a case, and whether a contender's answer is right.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/answer.hpp"
#include "harness/contender.hpp"
#include "harness/data_kinds.hpp"
#include "harness/kinds.hpp"

namespace fanin_perf {

/// Where the oracle reads a buffer: the generator of values.hpp, or an array on the host.
struct data_source {
  element type = element::f32;
  data_kind kind;
  std::uint64_t seed = 0;
  std::uint64_t x_position = 0;  ///< of the first element of x, in elements of the pool
  std::uint64_t y_position = 0;
  const std::byte* array = nullptr;  ///< when set, both x and y are this array
};

struct reference {
  answer value;               ///< sums of floats: the high-precision sum, rounded to double
  long double exact = 0;      ///< sums of floats before that rounding
  long double magnitude = 0;  ///< sums of floats: the sum of the terms' absolute values
  bool has_nan = false;
  std::vector<reference> more;  ///< what follows the sum, of operation::several, or a compound type's first component
};

/// The obvious loop over the buffer, on all threads: integers wrap; sums of floats are long double
/// in blocks of 1024, so that the error (below 1100 * 2^-64 * magnitude) vanishes against every
/// bound of error_bound(); extremes as in the contract (NaN wins, -0 < +0, smallest index).
/// n > 0.
reference right_answer(const data_source& data, operation op, std::int64_t n);

/// How far a float sum may be from the exact one: depth * u * magnitude, with u half an ulp of 1
/// and depth the longest chain of roundings that the contender's order can have:
///   left to right          n
///   recursive halving      ceil(log2 n) + 1
///   `lanes` partial sums   n / lanes + `joins`   (each partial left to right, then what joins them)
///   an exact sum           1
/// and one more where terms are products (Jeannerod and Rump 2013: no restriction on depth * u).
double error_bound(const contender& who, element type, operation op, std::int64_t n, long double magnitude);

/// Empty when `got` is right, else what is wrong with it. Of a contender that rounds_once an exact sum must be the
/// nearest number to what the oracle has, as far as that is known.
std::string find_fault(const contender& who, const answer& got, const reference& right, const data_source& data,
                       operation op, std::int64_t n);

}  // namespace fanin_perf
