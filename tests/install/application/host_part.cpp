// SPDX-License-Identifier: Apache-2.0
// A unit that the C++ compiler reads, in every configuration.
#include <cstdint>

#include <fanin/parallel_reduce.hpp>
#include <fanin/range.hpp>
#include <fanin/reducers.hpp>
#include <fanin/serial/serial.hpp>

#if defined(__CUDACC__)
#error "CXX_SOURCES of fanin_target were given to the CUDA compiler"
#endif

double host_sum(std::int64_t n) {
  return fanin::parallel_reduce(
      fanin::range(fanin::serial{}, n), [](std::int64_t i) { return static_cast<double>(i); }, fanin::sum<double>{});
}
