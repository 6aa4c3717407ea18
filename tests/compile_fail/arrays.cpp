// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>

#include <fanin/reduce.hpp>
#include <fanin/reducers.hpp>
#include <fanin/serial/serial.hpp>

// What may stand for an array: a type that does not say that its elements stand side by side is none.

struct candidate {
  double elements[4] = {1, 2, 3, 4};
#if defined(SAYS_NOTHING)
  const double* data() const { return elements; }
  std::size_t size() const { return 2; }
#elif defined(OTHER_ACCESSOR) || defined(OTHER_ACCESSOR_AND_STRIDES)
  using element_type = const double;
  using reference = double;  // twice the element, say
  const double* data_handle() const { return elements; }
  std::size_t size() const { return 4; }
  bool is_exhaustive() const { return true; }
#if defined(OTHER_ACCESSOR_AND_STRIDES)
  static constexpr std::size_t rank() { return 1; }
  std::size_t extent(std::size_t) const { return 4; }
  std::size_t stride(std::size_t) const { return 1; }
#endif
#elif defined(NO_ARRAY)
  const double* begin() const { return elements; }
#else
  const double* data() const { return elements; }
  std::size_t size() const { return 4; }
  const double* begin() const { return elements; }
  const double* end() const { return elements + 4; }
#endif
};

struct add {
  template <class... T>
  double operator()(const T&... x) const {
    return (x + ...);
  }
};

double use() {
  const fanin::serial exec;
  const candidate xs;
  const fanin::sum<double> sum;
#if defined(FOUR_ARRAYS)
  return fanin::transform_reduce(exec, xs, xs, xs, xs, add{}, sum);
#elif defined(NO_FUNCTOR)
  return fanin::transform_reduce(exec, xs, sum);
#elif defined(NO_ARRAY_TO_TRANSFORM)
  return fanin::transform_reduce(exec, add{}, sum);
#else
  return fanin::reduce(exec, xs, sum) + fanin::transform_reduce(exec, xs, xs, add{}, sum);
#endif
}
