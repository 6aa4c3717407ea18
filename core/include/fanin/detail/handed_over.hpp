// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/gathering.hpp>
#include <fanin/macros.hpp>
#include <fanin/reducer.hpp>

namespace fanin::detail {

/// A reducer's accumulator as its result.
template <class G>
struct handed_over_gathering : G {
  template <class R, class Partial>
  FANIN_FUNCTION static auto result(const R& r, const Partial& held) {
    Partial copy = held;
    auto acc = r.identity();
    G::deposit(r, copy, acc);
    return acc;
  }
};
template <class R>
struct handed_over : R {
  using accumulator_type = reducer_accumulator_t<R>;
  using result_type = accumulator_type;
  FANIN_FUNCTION constexpr accumulator_type result(const accumulator_type& acc) const { return acc; }
};
template <class R>
  requires(gathering_t<R>::has_partials)
struct handed_over<R> : R {
  using accumulator_type = reducer_accumulator_t<R>;
  using result_type = accumulator_type;
  using gathering = handed_over_gathering<gathering_t<R>>;
  FANIN_FUNCTION constexpr accumulator_type result(const accumulator_type& acc) const { return acc; }
};

}  // namespace fanin::detail
