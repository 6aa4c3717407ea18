// SPDX-License-Identifier: Apache-2.0
#pragma once

// A call's answer with its type erased: a value of any element type, and an index for `_loc`.

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "harness/kinds.hpp"

namespace fanin_perf {

/// The result of operation::several.
template <class T>
struct four {
  T sum;
  T least;
  T greatest;
  T squares;
};

struct answer {
  element type = element::f64;
  std::uint64_t word = 0;    ///< an integer value, sign-extended
  double real = 0;           ///< a floating value; floats are widened, which is exact
  std::int64_t index = -1;   ///< of the extreme; -1 where the operation has none
  std::vector<answer> more;  ///< of operation::several: what follows the sum

  template <class T>
  static answer of(T value, std::int64_t index = -1) {
    answer made;
    made.type = element_of<T>;
    made.index = index;
    if constexpr (std::is_floating_point_v<T>) {
      made.real = static_cast<double>(value);
    } else if constexpr (std::is_signed_v<T>) {
      made.word = static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
    } else {
      made.word = static_cast<std::uint64_t>(value);
    }
    return made;
  }

  template <class T>
  static answer of(const four<T>& values) {
    answer made = of(values.sum);
    made.more = {of(values.least), of(values.greatest), of(values.squares)};
    return made;
  }

  template <class T>
  T value() const {
    if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(real);
    } else {
      return static_cast<T>(word);
    }
  }
};

/// The value in decimal, with as many digits as bring back the same bits; "nan", "inf", "-inf".
std::string to_text(const answer& a);

}  // namespace fanin_perf
