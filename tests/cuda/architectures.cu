// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>

#include <fanin/cuda/cuda.hpp>

/// Compiled for every architecture that Fanin's CUDA toolkit takes, never run: each kernel that has instructions of
/// some architectures only.
namespace fanin_test {
namespace {

using fanin::detail::cuda_handle;

/// What reduce(span) of a strategy instantiates, without the reductions that the library has.
template <class Strategy, class Reducer>
auto reduce(const cuda_handle& handle, const typename Reducer::value_type* data, std::int64_t count) {
  return fanin::detail::reduce_blocking<Strategy>(
      handle, nullptr, fanin::detail::make_span_source(data, count),
      fanin::detail::make_composite(fanin::detail::substitute_reducer(Reducer{})));
}

}  // namespace

/// Has external linkage, so that nothing of it is left out.
void instantiate(const cuda_handle& handle, const float* floats, const double* doubles, const std::int8_t* bytes,
                 const std::int16_t* shorts, std::int64_t count) {
  using fanin::cuda_strategy::cluster;
  using fanin::cuda_strategy::one_pass;
  using fanin::cuda_strategy::one_pass_bulk;
  reduce<one_pass, fanin::sum<float>>(handle, floats, count);
  reduce<one_pass, fanin::min<double>>(handle, doubles, count);
  reduce<one_pass, fanin::min_loc<float>>(handle, floats, count);
  reduce<one_pass, fanin::sum<std::int8_t, std::int32_t>>(handle, bytes, count);
  reduce<one_pass, fanin::sum<std::int16_t, std::int32_t>>(handle, shorts, count);
  reduce<one_pass_bulk, fanin::sum<float>>(handle, floats, count);
  reduce<cluster, fanin::sum<float>>(handle, floats, count);
}

}  // namespace fanin_test
