// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include <fanin/cuda/cuda.hpp>

/// Compiled for an architecture whose multiprocessors have room for few threads, never run: the kernels of segments,
/// whose launch bounds say how many blocks work at once.
namespace fanin_test {
namespace {

template <class T, class Element>
void reduce_segments(const fanin::detail::cuda_handle& handle, T* out, const std::int64_t* offsets,
                     const Element& element) {
  namespace detail = fanin::detail;
  const detail::segments_functor<Element, std::int64_t> all{offsets, 1, 1, element};
  const auto c =
      detail::make_axes_composite<detail::axes_of<2, 1>>(detail::md_shape<1, fanin::iterate::right>{}, fanin::sum<T>{});
  detail::reduce_many_ordered(handle, nullptr, detail::results_in_order<T>{out}, all, c);
}

}  // namespace

/// Has external linkage, so that nothing of it is left out.
void instantiate(const fanin::detail::cuda_handle& handle, float* out, const float* floats,
                 const std::int64_t* offsets) {
  reduce_segments(handle, out, offsets, fanin::detail::contiguous_element<float>{floats});
  reduce_segments(handle, out, offsets, fanin::detail::strided_element<float>{floats, 2});
}

}  // namespace fanin_test
