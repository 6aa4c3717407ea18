// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include <fanin/detail/array.hpp>
#include <fanin/detail/axes_results.hpp>
#include <fanin/detail/destination.hpp>
#include <fanin/detail/functor.hpp>
#include <fanin/detail/many.hpp>
#include <fanin/detail/segments_functor.hpp>
#include <fanin/detail/strided.hpp>
#include <fanin/error.hpp>
#include <fanin/macros.hpp>
#include <fanin/parallel_reduce.hpp>
#include <fanin/range.hpp>
#include <fanin/reduce.hpp>
#include <fanin/reducers.hpp>

namespace fanin {

namespace detail {

template <class T>
concept offset_value = std::integral<T> && (sizeof(T) == 4 || sizeof(T) == 8) && !character<T>;

/// The first offset that is negative, too large or less than the one before it: three times its place, and which.
template <class Offset>
struct first_wrong_offset {
  const Offset* offsets;

  FANIN_FUNCTION std::int64_t operator()(std::int64_t at) const {
    const auto here = static_cast<std::int64_t>(offsets[at]);
    if (here < 0) return 3 * at;
    if (here > most_elements_of_segments) return 3 * at + 1;
    return at > 0 && static_cast<std::int64_t>(offsets[at - 1]) > here ? 3 * at + 2 : INT64_MAX;
  }
};

}  // namespace detail

template <class Exec, class Offset>
class prepared_segments_policy;

/// Segments of consecutive elements, with a result for each. Cheap to copy. Refers to the range's object and to the
/// offsets, which must outlive it and the calls' work.
template <class Exec, class Offset>
class segments_policy {
 public:
  using execution_type = Exec;
  using handle_type = typename backend<Exec>::handle_type;

  segments_policy(handle_type handle, const Offset* offsets, std::int64_t results)
      : handle_{handle}, offsets_{offsets}, results_{results} {}

  handle_type handle() const noexcept { return handle_; }
  /// How many segments there are, and results.
  std::int64_t results() const noexcept { return results_; }
  const Offset* offsets() const noexcept { return offsets_; }

  /// The same, after a look at all offsets, for which it waits: throws invalid_argument where one is negative, beyond
  /// 2^62 or less than the one before it. On CUDA in units that a CUDA compiler reads, and not on a stream that is
  /// being captured (state_error).
  segments_policy checked() const {
    if constexpr (!detail::is_host_backend<Exec>) {
      if (backend<Exec>::is_capturing(handle_, "fanin::segments")) {
        throw state_error(
            "fanin::segments: checked() and prepared() wait for what they find, which cannot be captured: call them "
            "before the capture begins");
      }
    }
    const std::int64_t wrong =
        fanin::parallel_reduce("fanin::segments", range_policy<Exec>(handle_, 0, results_ + 1),
                               detail::first_wrong_offset<Offset>{offsets_}, fanin::min<std::int64_t>{});
    if (wrong == INT64_MAX) return *this;
    const std::string which = "fanin::segments: offsets[" + std::to_string(wrong / 3) + "] is ";
    if (wrong % 3 == 2) {
      throw invalid_argument(which + "less than offsets[" + std::to_string(wrong / 3 - 1) + "]: offsets may not fall");
    }
    throw invalid_argument(which + (std::is_signed_v<Offset> && wrong % 3 == 0 ? "negative" : "beyond 2^62"));
  }

  /// The same, after that look and another one, for which it waits: for many calls over the same offsets, as products
  /// with a sparse matrix in a solver are. Calls over what it gives have the same results, bit for bit, and on CUDA
  /// take one launch that knows which segments are long (on other backends they are as they were). The offsets may not
  /// change as long as it is used. Throws as checked() does, where there is no memory (on CUDA up to 32 bytes for each
  /// segment of more than 128 elements and each 4096 elements of those), and invalid_argument where that would be more
  /// than 2 GiB. Of no segments nothing is made ready.
  prepared_segments_policy<Exec, Offset> prepared() const {
    const segments_policy all = checked();
    return {all, backend<Exec>::prepare_segments(handle_, offsets_, results_)};
  }

 private:
  handle_type handle_;
  const Offset* offsets_;
  std::int64_t results_;
};

/// Segments that were made ready (segments_policy::prepared()). Cheap to copy; copies share what was made ready, which
/// goes with the last of them: that waits for the object's work, as a buffer does. So one of them must outlive graphs
/// that such calls were captured in. Refers to the range's object and to the offsets, as segments_policy does.
template <class Exec, class Offset>
class prepared_segments_policy {
  using ready_type = decltype(backend<Exec>::prepare_segments(
      std::declval<const typename backend<Exec>::handle_type&>(), std::declval<const Offset*>(), std::int64_t{}));

 public:
  using execution_type = Exec;
  using handle_type = typename backend<Exec>::handle_type;

  prepared_segments_policy(const segments_policy<Exec, Offset>& all, ready_type ready)
      : all_{all}, ready_{std::move(ready)} {}

  handle_type handle() const noexcept { return all_.handle(); }
  /// How many segments there are, and results.
  std::int64_t results() const noexcept { return all_.results(); }
  const Offset* offsets() const noexcept { return all_.offsets(); }

 private:
  friend struct detail::many_over<prepared_segments_policy>;

  segments_policy<Exec, Offset> all_;
  ready_type ready_;
};

/// A result for each of offsets.size() - 1 segments: of f(s, k) or f(s, k, acc&...) for k from offsets[s] to
/// offsets[s + 1] - 1, as rows of a sparse matrix have them. For parallel_reduce_into and parallel_reduce_async(out,
/// ...). Offsets are an array of integers of 32 or 64 bits in memory of the backend, neither negative, beyond 2^62 nor
/// falling (checked() looks; else what comes of a wrong one is a segment that is empty or has other elements). An empty
/// segment gives the identities' results; of no segments nothing is written, and the destination may be null. f is
/// called once for each index.
///
/// `_loc` reducers give k, of equals the least. finished(g, ...) calls g(results...) or g(results..., s).
///
/// The bits of a result depend on its own elements, the object, its device and their number, never on other segments: a
/// long one is cut at distances from its own start that its length alone says. The same from run to run. Throws
/// invalid_argument for no offsets at all, and as spans do.
template <class Exec, detail::array Offsets>
  requires(execution<std::remove_cvref_t<Exec>>)
auto segments(Exec&& exec, const Offsets& offsets) {
  using object = std::remove_cvref_t<Exec>;
  using offset = detail::element_t<Offsets>;
  static_assert(detail::offset_value<offset>, "fanin: the offsets of segments are integers of 32 or 64 bits");
  const auto handle = detail::handle_of(std::forward<Exec>(exec));
  const auto all = detail::view_of(offsets, "fanin::segments");
  const std::int64_t count = detail::check_span<object>(handle, all, "fanin::segments");
  if (count == 0) {
    throw invalid_argument(
        "fanin::segments: there are no offsets; of n segments there are n + 1, of none there is one");
  }
  return segments_policy<object, offset>(handle, all.data(), count - 1);
}

namespace detail {

template <class Exec, class Offset>
struct many_over<segments_policy<Exec, Offset>> {
  using execution_type = Exec;
  using range_type = segments_policy<Exec, Offset>;
  using axes = axes_of<2, 1>;
  template <class... Reducer>
  using result_type = typename axes_result_of_all<axes, Reducer...>::type;

  static constexpr iterate order = iterate::right;
  static md_index<1> left_extents(const range_type& range) { return {{range.results()}}; }
  template <class F, class Composite>
  static constexpr bool check_functor() {
    return check_composite<F>(std::type_identity<typename Composite::plain_type>{});
  }
  template <class... Reducer>
  static constexpr auto composite_of(const range_type&, const Reducer&... reducers) {
    return detail::make_axes_composite<axes>(md_shape<1, iterate::right>{}, reducers...);
  }
  template <class F>
  static constexpr segments_functor<F, Offset> functor(const range_type& range, const F& f) {
    return {range.offsets(), range.results(), segments_functor<F, Offset>::most_elements, f};
  }

 private:
  template <class F, class... R>
  static constexpr bool check_composite(std::type_identity<composite<R...>>) {
    return check_functor_of_many<F, 2, R...>();
  }
};

template <class Exec, class Offset>
struct many_over<prepared_segments_policy<Exec, Offset>> : many_over<segments_policy<Exec, Offset>> {
  using range_type = prepared_segments_policy<Exec, Offset>;

  static md_index<1> left_extents(const range_type& range) { return {{range.results()}}; }
  template <class... Reducer>
  static constexpr auto composite_of(const range_type& range, const Reducer&... reducers) {
    return many_over<segments_policy<Exec, Offset>>::composite_of(range.all_, reducers...);
  }
  template <class F>
  static auto functor(const range_type& range, const F& f) {
    const segments_functor<F, Offset> all = many_over<segments_policy<Exec, Offset>>::functor(range.all_, f);
    if constexpr (std::is_same_v<typename range_type::ready_type, nothing_ready>) {
      return all;
    } else {
      using list = std::remove_cvref_t<decltype(range.ready_.view())>;
      return prepared_segments_functor<F, Offset, list>{all, range.ready_.view()};
    }
  }
};

}  // namespace detail

/// Segments of an array, which is contiguous if it has no stride. Cheap to copy. Refers to the elements and to the
/// offsets, which must outlive it and the calls' work.
template <class T, class Offset, bool HasStride = true>
class segments_data {
 public:
  segments_data(const T* data, std::int64_t size, std::int64_t stride, const Offset* offsets, std::int64_t results)
      : data_{data}, size_{size}, stride_{stride}, offsets_{offsets}, results_{results} {}

  /// How many segments there are, and results.
  std::int64_t results() const noexcept { return results_; }

 private:
  friend struct detail::many_in<segments_data>;

  const T* data_;
  std::int64_t size_;
  std::int64_t stride_;
  const Offset* offsets_;
  std::int64_t results_;
};

/// Segments of an array of one dimension: reduce_into(out, exec, segments(xs, offsets), reducers...). As the range with
/// f(s, k) = xs[k], but what offsets say beyond xs is not there: nothing outside of it is read. Elements of xs that no
/// segment has may be read, and do not matter. Throws invalid_argument for no offsets at all.
template <detail::array X, detail::array Offsets>
auto segments(const X& xs, const Offsets& offsets) {
  using offset = detail::element_t<Offsets>;
  static_assert(detail::offset_value<offset>, "fanin: the offsets of segments are integers of 32 or 64 bits");
  static_assert(detail::strided_rank<X> == 1, "fanin: segments are of an array of one dimension");
  detail::check_elements<X>();
  const auto all = detail::view_of(offsets, "fanin::segments");
  if (all.empty()) {
    throw invalid_argument(
        "fanin::segments: there are no offsets; of n segments there are n + 1, of none there is one");
  }
  const auto extents = detail::extents_of<1>(xs, "fanin::segments");
  const std::int64_t size = detail::count_elements(extents, "fanin::segments");
  return segments_data<detail::element_t<X>, offset, !detail::is_row_major<X>>(
      detail::data_of(xs), size, size == 0 ? 1 : detail::strides_of<1>(xs)[0], all.data(), std::ssize(all) - 1);
}
template <class First, class Beside, class... Others>  // an application's own is the better one
  requires(!detail::array_beside_range_or_array<First, Beside> && sizeof...(Others) == 0)
void segments(const First&, const Beside&, const Others&...) {
  detail::check_array_beside<First, Beside>();
}

namespace detail {

template <class T, class Offset, bool HasStride>
struct many_in<segments_data<T, Offset, HasStride>> {
  using element_type = T;
  using data_type = segments_data<T, Offset, HasStride>;
  using axes = axes_of<2, 1>;
  static constexpr std::size_t left_rank = 1;
  template <class... Reducer>
  using result_type = typename axes_result_of_all<axes, Reducer...>::type;

  static md_index<1> left_extents(const data_type& data) { return {{data.results_}}; }
  static std::int64_t elements(const data_type& data) { return data.size_; }

  template <class Exec>
  static void check(const typename backend<Exec>::handle_type& handle, const data_type& data, const char* call) {
    detail::check_span<Exec>(handle, std::span(data.offsets_, static_cast<std::size_t>(data.results_ + 1)), call);
    if (data.size_ == 0) return;
    detail::check_strided<Exec, 1>(handle, data.data_, {{data.size_}}, {{data.stride_}}, data.size_, call);
  }

  template <class... Result, class Use, class... Reducer>
  static void with_rows(const data_type& data, const tuple<opened_destination<Result, 1>...>& to, const Use& use,
                        const Reducer&... reducers) {
    const auto put = [&]<std::size_t... I>(std::index_sequence<I...>) {
      return detail::make_put<iterate::right>(to, left_extents(data), data.results_, std::array{get<I>(to).strides...});
    }(std::index_sequence_for<Result...>{});
    const auto f = detail::element_of<T, HasStride>(data.data_, data.stride_);
    use(put, segments_functor<std::remove_const_t<decltype(f)>, Offset>{data.offsets_, data.results_, data.size_, f},
        detail::make_axes_composite<axes>(md_shape<1, iterate::right>{}, reducers...));
  }
};

}  // namespace detail

}  // namespace fanin
