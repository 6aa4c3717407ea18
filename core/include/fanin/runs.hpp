// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <type_traits>
#include <utility>

#include <fanin/bitwise_copyable.hpp>
#include <fanin/detail/array.hpp>
#include <fanin/detail/axes_results.hpp>
#include <fanin/detail/destination.hpp>
#include <fanin/detail/functor.hpp>
#include <fanin/detail/label.hpp>
#include <fanin/detail/runs_functor.hpp>
#include <fanin/detail/segments_functor.hpp>
#include <fanin/detail/strided.hpp>
#include <fanin/error.hpp>
#include <fanin/execution.hpp>
#include <fanin/md_index.hpp>
#include <fanin/parallel_reduce.hpp>
#include <fanin/pending.hpp>
#include <fanin/reduce.hpp>
#include <fanin/runs_to.hpp>
#include <fanin/segments.hpp>

namespace fanin {

namespace detail {

template <class Key>
concept run_key = requires(const Key& a, const Key& b) {
  { a == b } -> std::convertible_to<bool>;
};

/// Refuses, in words, keys of which nobody can tell whether they are equal, or that a device cannot copy.
template <class Key>
constexpr bool check_key() {
  static_assert(run_key<Key>, "fanin: keys of runs are compared with ==, and these cannot be");
  static_assert(is_bitwise_copyable_v<Key>,
                "fanin: keys of runs must be trivially copyable (or fanin::is_bitwise_copyable say that they are)");
  return run_key<Key> && is_bitwise_copyable_v<Key>;
}

}  // namespace detail

/// Runs of equal neighbours among keys, with a result for each. Cheap to copy. Refers to the range's object and to the
/// keys, which must outlive it and the calls' work.
template <class Exec, class Key>
class runs_policy {
 public:
  using execution_type = Exec;
  using handle_type = typename backend<Exec>::handle_type;

  runs_policy(handle_type handle, const Key* keys, std::int64_t size) : handle_{handle}, keys_{keys}, size_{size} {}

  handle_type handle() const noexcept { return handle_; }
  /// How many keys there are, and at most runs.
  std::int64_t size() const noexcept { return size_; }
  const Key* keys() const noexcept { return keys_; }

 private:
  handle_type handle_;
  const Key* keys_;
  std::int64_t size_;
};

/// A key and a result for each run of equal neighbours, in their order: parallel_reduce(runs_to(keys, results),
/// runs(exec, keys), f, reducers...) and parallel_reduce_into(runs_to(keys, results, count), ...). Of f(k) or f(k,
/// acc&...) for the indices k of the run; f is called once for each index of the runs that fit the destination. `keys`
/// is a contiguous array in memory of the backend, of any type that is trivially copyable and has an operator== that
/// the backend can call. Two neighbours are of one run where == says so, so that a NaN is a run of its own; a run's key
/// is its first one.
///
/// `_loc` reducers give k, of equals the least. finished(g, ...) calls g(results...) or g(results..., r), r being the
/// run's number.
///
/// The bits of a result depend on its own elements, the object, its device and their number, never on other runs: a
/// long one is cut at distances from its own start that its length alone says. The same from run to run. Throws
/// invalid_argument as spans do.
template <class Exec, detail::array Keys>
  requires(execution<std::remove_cvref_t<Exec>>)
auto runs(Exec&& exec, const Keys& keys) {
  using object = std::remove_cvref_t<Exec>;
  using key = detail::element_t<Keys>;
  if constexpr (detail::check_key<key>()) {
    const auto handle = detail::handle_of(std::forward<Exec>(exec));
    const auto all = detail::view_of(keys, "fanin::runs");
    return runs_policy<object, key>(handle, all.data(), detail::check_span<object>(handle, all, "fanin::runs"));
  }
}

/// Runs of an array by keys. Cheap to copy. Refers to the elements and to the keys, which must outlive it and the
/// calls' work.
template <class T, class Key, bool HasStride = true>
class runs_data {
 public:
  runs_data(const T* data, std::int64_t stride, const Key* keys, std::int64_t size)
      : data_{data}, stride_{stride}, keys_{keys}, size_{size} {}

  /// How many keys and elements there are, and at most runs.
  std::int64_t size() const noexcept { return size_; }
  const T* elements() const noexcept { return data_; }
  std::int64_t stride() const noexcept { return stride_; }
  const Key* keys() const noexcept { return keys_; }

 private:
  const T* data_;
  std::int64_t stride_;
  const Key* keys_;
  std::int64_t size_;
};

/// Runs of an array by keys of the same number: reduce(runs_to(keys, results), exec, runs(xs, keys), reducers...) and
/// reduce_into(runs_to(keys, results, count), ...). As the range with f(k) = xs[k]; xs has one dimension and any
/// stride. Throws invalid_argument where the numbers differ.
template <detail::array X, detail::array Keys>
auto runs(const X& xs, const Keys& keys) {
  using key = detail::element_t<Keys>;
  static_assert(detail::strided_rank<X> == 1, "fanin: runs are of an array of one dimension");
  detail::check_elements<X>();
  if constexpr (detail::check_key<key>()) {
    const auto all = detail::view_of(keys, "fanin::runs");
    const std::int64_t size = detail::count_elements(detail::extents_of<1>(xs, "fanin::runs"), "fanin::runs");
    if (!std::cmp_equal(size, all.size())) {
      throw invalid_argument("fanin::runs: there are " + std::to_string(size) + " elements and " +
                             std::to_string(all.size()) + " keys; give each element a key");
    }
    return runs_data<detail::element_t<X>, key, !detail::is_row_major<X>>(
        detail::data_of(xs), size == 0 ? 1 : detail::strides_of<1>(xs)[0], all.data(), size);
  }
}
template <class First, class Beside, class... Others>  // an application's own is the better one
  requires(!detail::array_beside_range_or_array<First, Beside> && sizeof...(Others) == 0)
void runs(const First&, const Beside&, const Others&...) {
  detail::check_array_beside<First, Beside>();
}

namespace detail {

template <class Exec, class Key>
struct runs_over<runs_policy<Exec, Key>> {
  using key_type = Key;
};
template <class T, class Key, bool HasStride>
struct runs_over<runs_data<T, Key, HasStride>> {
  using key_type = Key;
};
template <class Range>
concept range_of_runs = has_runs<Range> && requires { typename Range::execution_type; };
template <class Data>
concept data_of_runs = has_runs<Data> && !range_of_runs<Data>;

/// What a call gives for each run.
template <class... Reducer>
using one_of_runs_t = typename axes_result_of_all<axes_of<2, 1>, Reducer...>::type;

/// How the forms of calls over runs go on, when it is known where these go: reduce(handle, label, to, put, runs,
/// composite, call).
struct runs_now {
  using result_type = std::int64_t;
  static constexpr bool writes_count = false;

  template <class Exec, class To, class Put, class Runs, class Composite>
  static std::int64_t reduce(const typename backend<Exec>::handle_type& handle, const char* label, const To&,
                             const Put& put, const Runs& runs, const Composite& all, const char* call) {
    return detail::told_runs(backend<Exec>::reduce_runs(handle, label, put, runs, all), put.capacity, call);
  }
};
struct runs_into {
  using result_type = void;
  static constexpr bool writes_count = true;

  template <class Exec, class To, class Put, class Runs, class Composite>
  static void reduce(const typename backend<Exec>::handle_type& handle, const char* label, const To& to, const Put& put,
                     const Runs& runs, const Composite& all, const char*) {
    backend<Exec>::reduce_runs_into(handle, label, to.count, put, runs, all);
  }
};
struct runs_later {
  using result_type = pending<std::int64_t>;
  static constexpr bool writes_count = false;

  template <class Exec, class To, class Put, class Runs, class Composite>
  static pending<std::int64_t> reduce(const typename backend<Exec>::handle_type& handle, const char* label, const To&,
                                      const Put& put, const Runs& runs, const Composite& all, const char*) {
    return backend<Exec>::reduce_runs_async(handle, label, put, runs, all);
  }
};

/// Refuses, in words, a destination that does not go with the call.
template <class Form, class Count>
constexpr bool check_counts() {
  constexpr bool has_count = !std::is_same_v<Count, no_count>;
  static_assert(has_count || !Form::writes_count,
                "fanin: the _into forms write how many runs there are: runs_to(keys, results, count), count being a "
                "std::int64_t* to memory of the backend");
  static_assert(!has_count || Form::writes_count,
                "fanin: parallel_reduce and reduce return how many runs there are, and the pending of the _async forms "
                "gives it: runs_to(keys, results)");
  return has_count == Form::writes_count && is_count<Count>;
}

/// One call over runs of keys that have been checked.
template <class Form, class Exec, class To, class Runs, class Composite>
typename Form::result_type reduce_runs(const typename backend<Exec>::handle_type& handle, const char* label,
                                       const To& to, const Runs& runs, const Composite& all,
                                       std::initializer_list<stretch_of_memory> from, const char* call) {
  const auto put = detail::open_runs<Exec, typename Runs::key_type, typename Composite::result_type>(
      handle, to, runs.elements, from, call);
  return Form::template reduce<Exec>(handle, label, to, put, runs, all, call);
}

template <class Form, class To, class Exec, class T, class Key, bool HasStride, class... Reducer>
typename Form::result_type reduce_runs_of_data(const char* label, const To& to, Exec&& exec,
                                               const runs_data<T, Key, HasStride>& data, const char* call,
                                               const Reducer&... reducers) {
  using object = std::remove_cvref_t<Exec>;
  using values = decltype(detail::element_of<T, HasStride>(data.elements(), data.stride()));
  const auto handle = detail::handle_of(std::forward<Exec>(exec));
  const auto all = detail::make_axes_composite<axes_of<2, 1>>(md_shape<1, iterate::right>{}, reducers...);
  using composite_type = std::remove_const_t<decltype(all)>;
  if constexpr (detail::check_counts<Form, decltype(to.count)>() &&
                detail::check_runs_to<decltype(to.keys), decltype(to.results), Key,
                                      typename composite_type::result_type>() &&
                detail::check_composite_of_many<values, 2>(std::type_identity<typename composite_type::plain_type>{})) {
    const std::int64_t size = data.size();
    const runs_functor<values, Key> runs{{data.keys(), size},
                                         detail::element_of<T, HasStride>(data.elements(), data.stride())};
    if (size == 0) return detail::reduce_runs<Form, object>(handle, label, to, runs, all, {}, call);
    detail::check_span<object>(handle, std::span(data.keys(), static_cast<std::size_t>(size)), call);
    detail::check_strided<object, 1>(handle, data.elements(), {{size}}, {{data.stride()}}, size, call);
    return detail::reduce_runs<Form, object>(
        handle, label, to, runs, all,
        {stretch_of_memory(data.keys(), 1, size), stretch_of_memory(data.elements(), data.stride(), size)}, call);
  }
}

template <class Form, class To, class Exec, class Key, class F, class... Reducer>
typename Form::result_type reduce_runs_of_range(const char* label, const To& to, const runs_policy<Exec, Key>& range,
                                                const F& f, const char* call, const Reducer&... reducers) {
  const auto all = detail::make_axes_composite<axes_of<2, 1>>(md_shape<1, iterate::right>{}, reducers...);
  using composite_type = std::remove_const_t<decltype(all)>;
  if constexpr (detail::check_counts<Form, decltype(to.count)>() &&
                detail::check_composite_of_many<F, 1>(std::type_identity<typename composite_type::plain_type>{}) &&
                detail::check_runs_to<decltype(to.keys), decltype(to.results), Key,
                                      typename composite_type::result_type>()) {
    const runs_functor<of_run<F>, Key> runs{{range.keys(), range.size()}, {f}};
    if (range.size() == 0) return detail::reduce_runs<Form, Exec>(range.handle(), label, to, runs, all, {}, call);
    return detail::reduce_runs<Form, Exec>(range.handle(), label, to, runs, all,
                                           {stretch_of_memory(range.keys(), 1, range.size())}, call);
  }
}

}  // namespace detail

/// Reduces each run of a range, waits for how many there are, and returns that. f is f(k) or f(k, acc&...). On devices
/// keys and results may come later: they are there for what comes after the call on the object, and for the host after
/// its synchronize(). n == 0 gives 0, and the destinations may be null. f, what it captures, keys and destinations as
/// for parallel_reduce_into of many results. Throws invalid_argument, in words, where there are more runs than the
/// destination has room for: those that fit may have been written, and nothing behind them; and, before anything runs,
/// for destinations that are null, misaligned, of different lengths, out of the backend's reach, or on what is read.
/// On CUDA one pass over the keys, which are read again where runs begin, and one over the elements; elsewhere at most
/// two over the keys.
template <class Keys, class Results, class Count, detail::range_of_runs Range, class F, class... Reducer>
std::int64_t parallel_reduce(detail::call_label label, const runs_to<Keys, Results, Count>& to, const Range& range,
                             const F& f, const Reducer&... reducers) {
  return detail::reduce_runs_of_range<detail::runs_now>(label.get(), to, range, f, "fanin::parallel_reduce",
                                                        reducers...);
}
template <class Keys, class Results, class Count, detail::range_of_runs Range, class F, class... Reducer>
std::int64_t parallel_reduce(const runs_to<Keys, Results, Count>& to, const Range& range, const F& f,
                             const Reducer&... reducers) {
  return fanin::parallel_reduce(nullptr, to, range, f, reducers...);
}

/// The same in the order of the object's stream: how many runs there are goes to *count, whatever there is room for,
/// and may come after the return. Of more runs than fit, the first ones are written. Capturable into a CUDA graph, as
/// all `_into` forms; what captures a graph allocates, and no call after the first of a size. Throws invalid_argument
/// for a count that is null, misaligned, on what is read or among the keys' or the results' destination, too.
template <class Keys, class Results, class Count, detail::range_of_runs Range, class F, class... Reducer>
void parallel_reduce_into(detail::call_label label, const runs_to<Keys, Results, Count>& to, const Range& range,
                          const F& f, const Reducer&... reducers) {
  detail::reduce_runs_of_range<detail::runs_into>(label.get(), to, range, f, "fanin::parallel_reduce_into",
                                                  reducers...);
}
template <class Keys, class Results, class Count, detail::range_of_runs Range, class F, class... Reducer>
void parallel_reduce_into(const runs_to<Keys, Results, Count>& to, const Range& range, const F& f,
                          const Reducer&... reducers) {
  fanin::parallel_reduce_into(nullptr, to, range, f, reducers...);
}

/// Reduces each run of an array, waits for how many there are, and returns that: as parallel_reduce.
template <class Keys, class Results, class Count, class Exec, detail::data_of_runs Data, class... Reducer>
  requires execution<std::remove_cvref_t<Exec>>
std::int64_t reduce(detail::call_label label, const runs_to<Keys, Results, Count>& to, Exec&& exec, const Data& data,
                    const Reducer&... reducers) {
  return detail::reduce_runs_of_data<detail::runs_now>(label.get(), to, std::forward<Exec>(exec), data, "fanin::reduce",
                                                       reducers...);
}
template <class Keys, class Results, class Count, class Exec, detail::data_of_runs Data, class... Reducer>
  requires execution<std::remove_cvref_t<Exec>>
std::int64_t reduce(const runs_to<Keys, Results, Count>& to, Exec&& exec, const Data& data,
                    const Reducer&... reducers) {
  return fanin::reduce(nullptr, to, std::forward<Exec>(exec), data, reducers...);
}

/// The same in the order of the object's stream: as parallel_reduce_into.
template <class Keys, class Results, class Count, class Exec, detail::data_of_runs Data, class... Reducer>
  requires execution<std::remove_cvref_t<Exec>>
void reduce_into(detail::call_label label, const runs_to<Keys, Results, Count>& to, Exec&& exec, const Data& data,
                 const Reducer&... reducers) {
  detail::reduce_runs_of_data<detail::runs_into>(label.get(), to, std::forward<Exec>(exec), data, "fanin::reduce_into",
                                                 reducers...);
}
template <class Keys, class Results, class Count, class Exec, detail::data_of_runs Data, class... Reducer>
  requires execution<std::remove_cvref_t<Exec>>
void reduce_into(const runs_to<Keys, Results, Count>& to, Exec&& exec, const Data& data, const Reducer&... reducers) {
  fanin::reduce_into(nullptr, to, std::forward<Exec>(exec), data, reducers...);
}

/// As parallel_reduce of runs, but returns a fanin::pending at once, whose get() gives how many runs there are, when
/// their keys and results stand at the destination, too, which the host may read then where it reaches that memory. The
/// true number, whatever there is room for: of more runs than fit, the first ones are written, and nothing behind them.
/// Otherwise as parallel_reduce_async of a range of many results.
template <class Keys, class Results, class Count, detail::range_of_runs Range, class F, class... Reducer>
[[nodiscard]] pending<std::int64_t> parallel_reduce_async(detail::call_label label,
                                                          const runs_to<Keys, Results, Count>& to, const Range& range,
                                                          const F& f, const Reducer&... reducers) {
  return detail::reduce_runs_of_range<detail::runs_later>(label.get(), to, range, f, "fanin::parallel_reduce_async",
                                                          reducers...);
}
template <class Keys, class Results, class Count, detail::range_of_runs Range, class F, class... Reducer>
[[nodiscard]] pending<std::int64_t> parallel_reduce_async(const runs_to<Keys, Results, Count>& to, const Range& range,
                                                          const F& f, const Reducer&... reducers) {
  return fanin::parallel_reduce_async(nullptr, to, range, f, reducers...);
}

/// The same of runs of an array.
template <class Keys, class Results, class Count, class Exec, detail::data_of_runs Data, class... Reducer>
  requires execution<std::remove_cvref_t<Exec>>
[[nodiscard]] pending<std::int64_t> reduce_async(detail::call_label label, const runs_to<Keys, Results, Count>& to,
                                                 Exec&& exec, const Data& data, const Reducer&... reducers) {
  return detail::reduce_runs_of_data<detail::runs_later>(label.get(), to, std::forward<Exec>(exec), data,
                                                         "fanin::reduce_async", reducers...);
}
template <class Keys, class Results, class Count, class Exec, detail::data_of_runs Data, class... Reducer>
  requires execution<std::remove_cvref_t<Exec>>
[[nodiscard]] pending<std::int64_t> reduce_async(const runs_to<Keys, Results, Count>& to, Exec&& exec, const Data& data,
                                                 const Reducer&... reducers) {
  return fanin::reduce_async(nullptr, to, std::forward<Exec>(exec), data, reducers...);
}

/// Runs have a destination.
template <detail::range_of_runs Range, class... Others>
void parallel_reduce(detail::call_label, const Range&, const Others&...) {
  static_assert(detail::dependent_false<Range>,
                "fanin: runs give keys, results and how many they are: parallel_reduce(runs_to(keys, results), "
                "runs(exec, keys), f, reducers...)");
}
template <detail::range_of_runs Range, class... Others>
void parallel_reduce(const Range& range, const Others&... others) {
  fanin::parallel_reduce(nullptr, range, others...);
}
template <class Out, detail::range_of_runs Range, class... Others>
  requires(!detail::is_runs_to<Out>)
void parallel_reduce_into(const Out&, const Range&, const Others&...) {
  static_assert(detail::dependent_false<Range>,
                "fanin: runs give keys, results and how many they are: parallel_reduce_into(runs_to(keys, results, "
                "count), runs(exec, keys), f, reducers...)");
}
template <class Out, detail::range_of_runs Range, class... Others>
  requires(!detail::is_runs_to<Out>)
void parallel_reduce_async(const Out&, const Range&, const Others&...) {
  static_assert(detail::dependent_false<Range>,
                "fanin: runs give keys, results and how many they are: parallel_reduce_async(runs_to(keys, results), "
                "runs(exec, keys), f, reducers...)");
}
template <detail::range_of_runs Range, class... Others>
void parallel_reduce_async(const Range& range, const Others&... others) {
  fanin::parallel_reduce_async(nullptr, range, others...);
}

}  // namespace fanin
