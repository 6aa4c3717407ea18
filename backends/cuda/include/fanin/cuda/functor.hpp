// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>
#include <type_traits>

#include <fanin/detail/axes_functor.hpp>
#include <fanin/detail/axes_results.hpp>
#include <fanin/detail/functor.hpp>
#include <fanin/detail/md_functor.hpp>
#include <fanin/detail/md_places.hpp>
#include <fanin/detail/over_arrays.hpp>
#include <fanin/detail/runs_functor.hpp>
#include <fanin/detail/segments_functor.hpp>
#include <fanin/detail/strided.hpp>

/// Which functors a CUDA compiler takes, or refuses without saying why, and a device cannot call.
namespace fanin::detail {

/// What the caller wrote: transform_reduce and ranges of several dimensions wrap it.
template <class F>
struct written_functor {
  using type = F;
};
template <class F, class... T>
struct written_functor<span_transform<F, T...>> {
  using type = F;
};

template <class F, std::size_t Rank, class... T>
struct written_functor<strided_values<F, Rank, T...>> {
  using type = F;
};
template <class F, class Axes, iterate Order>
struct written_functor<axes_functor<F, Axes, Order>> {
  using type = F;
};
template <class F, class Offset>
struct written_functor<segments_functor<F, Offset>> {
  using type = F;
};
template <class F, class Offset, class Ready>
struct written_functor<prepared_segments_functor<F, Offset, Ready>> {
  using type = F;
};
template <class F>
struct written_functor<of_run<F>> {
  using type = F;
};
template <class G, class Axes, iterate Order, class... R>
struct written_functor<axes_placed<G, Axes, Order, R...>> {
  using type = G;
};
template <class F, class Call, class Indices>
struct written_functor<called_functor<F, Call, Indices>> {
  using type = F;
};
template <class F, std::size_t Rank, iterate Order>
struct written_functor<md_functor<F, Rank, Order>> : written_functor<F> {};
template <class G, std::size_t Rank, iterate Order, class... R>
struct written_functor<md_placed<G, Rank, Order, R...>> {
  using type = G;
};

/// Whether F is the closure of a lambda without FANIN_LAMBDA, with which nvcc can name no kernel. No trait tells of
/// closures; but nvcc's front end writes, here, "F = lambda [](long)->double", and so of no struct.
template <class F>
constexpr bool is_host_lambda() {
#if defined(__NVCC__) && defined(__CUDACC__)  // not where nvcc hands a C++ file on
  constexpr std::string_view name = __PRETTY_FUNCTION__;
  return name.find("F = lambda [") != std::string_view::npos && !__nv_is_extended_device_lambda_closure_type(F) &&
         !__nv_is_extended_host_device_lambda_closure_type(F);
#else
  return false;
#endif
}

/// Refuses them in words.
template <class F>
constexpr void check_device_functor() {
  using written = typename written_functor<F>::type;
  static_assert(
      !std::is_pointer_v<written>,
      "fanin: a function pointer is no functor for the CUDA backend: where it points a device may not follow. "
      "Write a FANIN_LAMBDA, or a struct whose operator() const is a FANIN_FUNCTION, that calls the function");
  static_assert(
      !std::is_polymorphic_v<written>,
      "fanin: a functor with virtual functions is none for the CUDA backend: a copy of it finds the host's there");
  static_assert(!is_host_lambda<written>(),
                "fanin: a plain lambda is no functor for the CUDA backend: it is compiled for the host alone. Begin it "
                "with FANIN_LAMBDA in place of [=]");
}

}  // namespace fanin::detail
