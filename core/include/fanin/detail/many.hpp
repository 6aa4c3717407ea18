// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include <fanin/execution.hpp>
#include <fanin/macros.hpp>

namespace fanin::detail {

/// How a call goes over a range that gives many results: a row of elements for each of them. A kind of such range
/// specialises this, as others do `over`.
template <class Range>
struct many_over;

template <class Range>
concept range_of_many = requires { typename many_over<Range>::execution_type; };
template <class Range, class... Reducer>
using one_of_many_t = typename many_over<Range>::template result_type<Reducer...>;

/// Where results go: one behind the other.
template <class Result>
struct results_in_order {
  Result* to;

  constexpr Result* address(std::int64_t row) const { return to + row; }
  FANIN_FUNCTION constexpr void put(std::int64_t row, const Result& result) const { to[row] = result; }
};

}  // namespace fanin::detail
