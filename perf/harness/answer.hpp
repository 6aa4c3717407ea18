// SPDX-License-Identifier: Apache-2.0
#pragma once

// A call's answer with its type erased: a value of any element type, and an index for `_loc`.

#include <bit>
#include <cstddef>
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
  std::vector<answer> more;  ///< what follows the sum, of operation::several, or the first component of a compound type

  template <class T>
  static answer of(const T& value, std::int64_t index = -1) {
    if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
      return of_number(static_cast<float>(value), index);
    } else if constexpr (is_compound<T>) {
      return of_compound(value);
    } else {
      return of_number(value, index);
    }
  }

  template <class T>
  static answer of(const four<T>& values) {
    answer made = of(values.sum);
    made.more = {of(values.least), of(values.greatest), of(values.squares)};
    return made;
  }

  /// One component of a compound type's value.
  answer component(std::size_t k) const {
    if (k > 0) return more.at(k - 1);
    answer first = *this;
    first.type = component_of(type);
    first.more.clear();
    return first;
  }

  template <class T>
  T value() const {
    if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(real);
    } else {
      return static_cast<T>(word);
    }
  }

 private:
  template <class T>
  static answer of_number(T value, std::int64_t index) {
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
  static answer of_compound(const T& value) {
    struct components {
      component_type<T> of[component_count<T>];
    };
    const auto found = std::bit_cast<components>(value);
    answer made = of_number(found.of[0], -1);
    made.type = element_of<T>;
    for (std::size_t k = 1; k < component_count<T>; ++k) made.more.push_back(of_number(found.of[k], -1));
    return made;
  }
};

/// The value in decimal, with as many digits as bring back the same bits; "nan", "inf", "-inf". Components of a
/// compound type one after the other, with blanks between them.
std::string to_text(const answer& a);

}  // namespace fanin_perf
