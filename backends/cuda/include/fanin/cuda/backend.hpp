// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <fanin/cuda/cuda.hpp>
#include <fanin/cuda/functor.hpp>
#include <fanin/cuda/precompiled.hpp>
#include <fanin/cuda/reducer/substitute.hpp>
#include <fanin/cuda/split/prepared.hpp>
#include <fanin/detail/composite.hpp>
#include <fanin/execution.hpp>
#include <fanin/pending.hpp>
#if defined(__CUDACC__)
#include <fanin/cuda/launch.cuh>
#include <fanin/cuda/split/launch.cuh>
#include <fanin/cuda/split/launch_runs.cuh>
#endif

namespace fanin {

namespace detail {

/// What a unit that no CUDA compiler reads can do: everything but to compile a kernel.
template <class Strategy>
struct cuda_backend : cuda_calls {
  static constexpr const char* name = "cuda";
  static cuda& default_object() { return default_cuda(); }

  template <class F, class Composite>
  static typename Composite::result_type reduce([[maybe_unused]] const cuda_handle& handle,
                                                [[maybe_unused]] const char* label, [[maybe_unused]] std::int64_t first,
                                                [[maybe_unused]] std::int64_t count, [[maybe_unused]] const F& f,
                                                [[maybe_unused]] const Composite& c) {
#if defined(__CUDACC__)
    check_device_functor<F>();
    return over_indices(f, first, count, c, [&](const auto& source, const auto& composite) {
      return detail::reduce_blocking<Strategy>(handle, label, source, composite);
    });
#else
    refuse_functor<F>();
#endif
  }

  template <class F, class Composite>
  static void reduce_into([[maybe_unused]] const cuda_handle& handle, [[maybe_unused]] const char* label,
                          [[maybe_unused]] typename Composite::result_type* out, [[maybe_unused]] std::int64_t first,
                          [[maybe_unused]] std::int64_t count, [[maybe_unused]] const F& f,
                          [[maybe_unused]] const Composite& c) {
#if defined(__CUDACC__)
    check_device_functor<F>();
    over_indices(f, first, count, c, [&](const auto& source, const auto& composite) {
      detail::reduce_ordered<Strategy>(handle, label, out, source, composite);
    });
#else
    refuse_functor<F>();
#endif
  }

  template <class F, class Composite>
  static pending<typename Composite::result_type> reduce_async([[maybe_unused]] const cuda_handle& handle,
                                                               [[maybe_unused]] const char* label,
                                                               [[maybe_unused]] std::int64_t first,
                                                               [[maybe_unused]] std::int64_t count,
                                                               [[maybe_unused]] const F& f,
                                                               [[maybe_unused]] const Composite& c) {
#if defined(__CUDACC__)
    check_device_functor<F>();
    return over_indices(f, first, count, c, [&](const auto& source, const auto& composite) {
      return detail::reduce_pending<Strategy>(handle, label, source, composite);
    });
#else
    refuse_functor<F>();
#endif
  }

  template <class T, class Composite>
  static typename Composite::result_type reduce_span(const cuda_handle& handle, const char* label, const T* data,
                                                     std::int64_t count, const Composite& c) {
    if constexpr (stands_in_library<T, Composite>) {
      return in_library<Composite>::reduce(handle, label, data, count, get<0>(c.reducers));
    } else {
#if defined(__CUDACC__)
      return detail::with_span_source(data, count, [&](const auto& source) {
        return detail::reduce_blocking<Strategy>(handle, label, source,
                                                 detail::with_columns<Strategy>(detail::substitute_composite(c)));
      });
#else
      refuse_array<T>();
#endif
    }
  }

  template <class T, class Composite>
  static void reduce_span_into(const cuda_handle& handle, const char* label, typename Composite::result_type* out,
                               const T* data, std::int64_t count, const Composite& c) {
    if constexpr (stands_in_library<T, Composite>) {
      in_library<Composite>::reduce_into(handle, label, out, data, count, get<0>(c.reducers));
    } else {
#if defined(__CUDACC__)
      detail::with_span_source(data, count, [&](const auto& source) {
        detail::reduce_ordered<Strategy>(handle, label, out, source,
                                         detail::with_columns<Strategy>(detail::substitute_composite(c)));
      });
#else
      refuse_array<T>();
#endif
    }
  }

  template <class T, class Composite>
  static pending<typename Composite::result_type> reduce_span_async(const cuda_handle& handle, const char* label,
                                                                    const T* data, std::int64_t count,
                                                                    const Composite& c) {
    if constexpr (stands_in_library<T, Composite>) {
      return in_library<Composite>::reduce_async(handle, label, data, count, get<0>(c.reducers));
    } else {
#if defined(__CUDACC__)
      return detail::with_span_source(data, count, [&](const auto& source) {
        return detail::reduce_pending<Strategy>(handle, label, source,
                                                detail::with_columns<Strategy>(detail::substitute_composite(c)));
      });
#else
      refuse_array<T>();
#endif
    }
  }

  template <class Put, class All, class Composite>
  static void reduce_many_into([[maybe_unused]] const cuda_handle& handle, [[maybe_unused]] const char* label,
                               [[maybe_unused]] const Put& put, [[maybe_unused]] const All& all,
                               [[maybe_unused]] const Composite& c) {
    check_default_strategy();
    if constexpr (is_precompiled_for<Put, All, Composite>) {
      in_library_for<All, Composite>::reduce_into(handle, label, put, all, c);
    } else {
#if defined(__CUDACC__)
      check_device_functor<All>();
      detail::reduce_many_ordered(handle, label, put, all, detail::substitute_composite_for<decltype(all.row({}))>(c));
#else
      refuse_many<typename All::functor_type>();
#endif
    }
  }

  template <class Put, class All, class Composite>
  static pending<void> reduce_many_async([[maybe_unused]] const cuda_handle& handle, [[maybe_unused]] const char* label,
                                         [[maybe_unused]] const Put& put, [[maybe_unused]] const All& all,
                                         [[maybe_unused]] const Composite& c) {
    check_default_strategy();
    if constexpr (is_precompiled_for<Put, All, Composite>) {
      return in_library_for<All, Composite>::reduce_async(handle, label, put, all, c);
    } else {
#if defined(__CUDACC__)
      check_device_functor<All>();
      return detail::reduce_many_pending(handle, label, put, all,
                                         detail::substitute_composite_for<decltype(all.row({}))>(c));
#else
      refuse_many<typename All::functor_type>();
      return {};
#endif
    }
  }

  template <class Offset>
  static cuda_prepared_segments prepare_segments([[maybe_unused]] const cuda_handle& handle,
                                                 [[maybe_unused]] const Offset* offsets,
                                                 [[maybe_unused]] std::int64_t results) {
    check_default_strategy();
#if defined(__CUDACC__)
    return detail::prepare_segments<cuda>(handle, offsets, results);
#else
    refuse_functor<Offset>();
    return {{}, nullptr};
#endif
  }

  template <class Put, class Runs, class Composite>
  static std::int64_t reduce_runs([[maybe_unused]] const cuda_handle& handle, [[maybe_unused]] const char* label,
                                  [[maybe_unused]] const Put& put, [[maybe_unused]] const Runs& runs,
                                  [[maybe_unused]] const Composite& c) {
    check_default_strategy();
#if defined(__CUDACC__)
    check_device_functor<typename Runs::functor_type>();
    return detail::reduce_runs_blocking(handle, label, put, runs,
                                        detail::substitute_composite_for<decltype(runs.row(0, 0, 0))>(c));
#else
    refuse_functor<typename Runs::functor_type>();
    return 0;
#endif
  }

  template <class Put, class Runs, class Composite>
  static void reduce_runs_into([[maybe_unused]] const cuda_handle& handle, [[maybe_unused]] const char* label,
                               [[maybe_unused]] std::int64_t* count, [[maybe_unused]] const Put& put,
                               [[maybe_unused]] const Runs& runs, [[maybe_unused]] const Composite& c) {
    check_default_strategy();
#if defined(__CUDACC__)
    check_device_functor<typename Runs::functor_type>();
    detail::reduce_runs_ordered(handle, label, count, put, runs,
                                detail::substitute_composite_for<decltype(runs.row(0, 0, 0))>(c));
#else
    refuse_functor<typename Runs::functor_type>();
#endif
  }

  template <class Put, class Runs, class Composite>
  static pending<std::int64_t> reduce_runs_async([[maybe_unused]] const cuda_handle& handle,
                                                 [[maybe_unused]] const char* label, [[maybe_unused]] const Put& put,
                                                 [[maybe_unused]] const Runs& runs,
                                                 [[maybe_unused]] const Composite& c) {
    check_default_strategy();
#if defined(__CUDACC__)
    check_device_functor<typename Runs::functor_type>();
    return detail::reduce_runs_pending(handle, label, put, runs,
                                       detail::substitute_composite_for<decltype(runs.row(0, 0, 0))>(c));
#else
    refuse_functor<typename Runs::functor_type>();
    return {};
#endif
  }

  template <class F>
  static void parallel_for([[maybe_unused]] const cuda_handle& handle, [[maybe_unused]] const char* label,
                           [[maybe_unused]] std::int64_t first, [[maybe_unused]] std::int64_t count,
                           [[maybe_unused]] const F& f) {
#if defined(__CUDACC__)
    check_device_functor<F>();
    detail::call_for_each(handle, label, first, count, f);
#else
    refuse_functor<F>();
#endif
  }

  template <class Composite>
  static auto finish_aside([[maybe_unused]] const cuda_handle& handle) {
#if defined(__CUDACC__)
    return cuda_finish_aside<Composite>(handle);
#else
    refuse_functor<Composite>();
    return [](const Composite& c, const auto& acc) { return c.result_on_host(acc); };
#endif
  }
  template <class Composite>
  static auto for_aside([[maybe_unused]] const cuda_handle& handle) {
#if defined(__CUDACC__)
    if constexpr (Composite::is_finished) check_device_functor<typename Composite::finish_type>();
    return cuda_for_aside(handle);
#else
    refuse_functor<Composite>();
    return [](std::int64_t, const auto&) {};
#endif
  }

 private:
  template <class T, class Composite>
  static constexpr bool stands_in_library =
      std::is_same_v<Strategy, cuda_strategy::one_pass> && Composite::size == 1 && !Composite::is_finished &&
      is_precompiled<typename Composite::template reducer_type<0>> &&
      std::is_same_v<T, typename Composite::template reducer_type<0>::value_type>;
  template <class Composite>
  using in_library = cuda_span_reduction<typename Composite::template reducer_type<0>>;
  template <class All, class Composite>
  using in_library_for =
      cuda_many_reduction<typename Composite::template reducer_type<0>, typename rows_in_library<All>::type>;

  static constexpr void check_default_strategy() {
    static_assert(std::is_same_v<Strategy, cuda_strategy::one_pass>,
                  "fanin: strategies are for one result: give rows, columns and axes<...> the fanin::cuda itself");
  }

#if defined(__CUDACC__)
  // use(source, composite) with those that stand for f's calls and for what c asks.
  template <class F, class Composite, class Use>
  static decltype(auto) over_indices(const F& f, std::int64_t first, std::int64_t count, const Composite& c,
                                     const Use& use) {
    const auto composite = detail::with_columns_for<Strategy, F>(detail::substitute_composite_for<F>(c));
    return detail::with_index_source<Strategy, std::remove_const_t<decltype(composite)>>(
        f, first, count, [&](const auto& source) { return use(source, composite); });
  }
#endif

  // Of units that no CUDA compiler reads.
  template <class F>
  static constexpr void refuse_functor() {
    static_assert(dependent_false<F>,
                  "fanin: a functor for the CUDA backend needs a CUDA compiler: give this file's "
                  "target the CMake function fanin_target(<target>)");
  }
  template <class T>
  static constexpr void refuse_array() {
    static_assert(dependent_false<T>,
                  "fanin: this reduction is not among the precompiled ones (one built-in reducer "
                  "over its own value type, default strategy) and needs a CUDA compiler: give this "
                  "file's target the CMake function fanin_target(<target>)");
  }
  template <class F>
  static constexpr void refuse_many() {
    if constexpr (is_data<F>) {
      static_assert(dependent_false<F>,
                    "fanin: this reduction is not among the precompiled ones (sum, min, max, min_loc, max_loc or "
                    "exact_sum, one of them, of float or double over its own value type: rows and columns of an array "
                    "of two dimensions, segments of a contiguous one by 32-bit offsets) and needs a CUDA compiler: "
                    "give this file's target the CMake function fanin_target(<target>)");
    } else {
      refuse_functor<F>();
    }
  }
};

}  // namespace detail

template <>
struct backend<cuda> : detail::cuda_backend<cuda_strategy::one_pass> {
  using handle_type = detail::cuda_handle;
  static handle_type handle(const cuda& exec) { return exec.handle(); }
};

template <class Strategy>
struct backend<cuda_view<Strategy>> : detail::cuda_backend<Strategy> {
  using handle_type = cuda_view<Strategy>;
  static handle_type handle(const cuda_view<Strategy>& exec) { return exec; }
};

}  // namespace fanin
