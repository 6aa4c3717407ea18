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
#elif defined(OTHER_ACCESSOR)
  using element_type = const double;
  using reference = double;  // twice the element, say
  const double* data_handle() const { return elements; }
  std::size_t size() const { return 4; }
  bool is_exhaustive() const { return true; }
#else
  const double* data() const { return elements; }
  std::size_t size() const { return 4; }
  const double* begin() const { return elements; }
  const double* end() const { return elements + 4; }
#endif
};

double use() { return fanin::reduce(fanin::serial{}, candidate{}, fanin::sum<double>{}); }
