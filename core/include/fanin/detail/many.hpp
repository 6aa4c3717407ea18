// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include <fanin/execution.hpp>
#include <fanin/macros.hpp>
#include <fanin/pending.hpp>

namespace fanin::detail {

/// How a call goes over a range that gives many results: a row of elements for each of them. A kind of such range
/// specialises this, as others do `over`.
template <class Range>
struct many_over;

template <class Range>
concept range_of_many = requires { typename many_over<Range>::execution_type; };
template <class Range, class... Reducer>
using one_of_many_t = typename many_over<Range>::template result_type<Reducer...>;

/// How a call goes over data that give many results: arrays of which some dimensions are reduced, and such. A kind of
/// them specialises this.
template <class Data>
struct many_in;

template <class Data>
concept data_of_many = requires { typename many_in<Data>::element_type; };
template <class Data, class... Reducer>
using one_of_data_t = typename many_in<Data>::template result_type<Reducer...>;

/// Whether Range is one of runs, or data of them, which specialise this.
template <class Range>
struct runs_over;
template <class Range>
concept has_runs = requires { typename runs_over<Range>::key_type; };

/// Where results go: one behind the other.
template <class Result>
struct results_in_order {
  /// Whether a result has an address of its own.
  static constexpr bool has_addresses = true;

  Result* to;

  constexpr Result* address(std::int64_t row) const { return to + row; }
  FANIN_FUNCTION constexpr void put(std::int64_t row, const Result& result) const { to[row] = result; }
};

/// How the forms of calls with many results go on, when it is known where these go, which rows there are and how the
/// reducers become one.
template <class Exec>
struct many_into {
  const typename backend<Exec>::handle_type& handle;
  const char* label;

  template <class Put, class Rows, class Composite>
  void operator()(const Put& put, const Rows& rows, const Composite& all) const {
    backend<Exec>::reduce_many_into(handle, label, put, rows, all);
  }
};
template <class Exec>
struct many_later {
  const typename backend<Exec>::handle_type& handle;
  const char* label;
  pending<void>& made;

  template <class Put, class Rows, class Composite>
  void operator()(const Put& put, const Rows& rows, const Composite& all) const {
    made = backend<Exec>::reduce_many_async(handle, label, put, rows, all);
  }
};
/// Of a call that has nothing to do.
inline pending<void> pending_of_nothing() { return pending<void>(no_result{}); }

}  // namespace fanin::detail
