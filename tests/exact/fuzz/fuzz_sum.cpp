// SPDX-License-Identifier: Apache-2.0
// libFuzzer's entry: exact_sum and exact_dot over arrays against a plain big integer. An array is a few elements, each
// repeated, so that windows fill and vectors are used.
//   fanin_fuzz_exact_sum -max_total_time=60 build/corpus
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <fanin/exact_sum.hpp>
#include <fanin/range.hpp>
#include <fanin/serial/serial.hpp>

#include "big_integer.hpp"

namespace {

using fanin_fuzz::require;

template <class T>
struct add_element {
  const T* x;
  void operator()(std::int64_t i, typename fanin::exact_sum<T>::thread_state& acc) const { acc += x[i]; }
};

template <class T>
auto bits(T x) {
  if constexpr (sizeof(T) == 8) {
    return std::bit_cast<std::uint64_t>(x);
  } else {
    return std::bit_cast<std::uint32_t>(x);
  }
}

/// A pattern of elements, and how often it stands there: 2^0 to 2^8 times, which the oracle does by merging.
template <class T>
void run(const std::vector<T>& pattern, int doublings) {
  if (pattern.empty()) return;
  const fanin::serial exec;
  std::vector<T> x;
  for (int k = 0; k < 1 << doublings; ++k) x.insert(x.end(), pattern.begin(), pattern.end());
  fanin_fuzz::big_integer sum;
  fanin_fuzz::big_integer squares;
  fanin_fuzz::big_integer products;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    sum.add(static_cast<double>(pattern[i]));
    squares.add_product(static_cast<double>(pattern[i]), static_cast<double>(pattern[i]));
    products.add_product(static_cast<double>(pattern[i]), static_cast<double>(pattern[pattern.size() - 1 - i]));
  }
  for (int k = 0; k < doublings; ++k) {
    sum.merge(fanin_fuzz::big_integer(sum));
    squares.merge(fanin_fuzz::big_integer(squares));
    products.merge(fanin_fuzz::big_integer(products));
  }
  // As fanin::reduce does it, whose overloads Clang 14 does not tell apart.
  require(sum.rounds_to(
      bits(fanin::backend<fanin::serial>::reduce_span(exec, nullptr, x.data(), static_cast<std::int64_t>(x.size()),
                                                      fanin::detail::make_composite(fanin::exact_sum<T>{})))));
  require(sum.rounds_to(
      bits(fanin::parallel_reduce(fanin::range(exec, x.size()), add_element<T>{x.data()}, fanin::exact_sum<T>{}))));
  if (x.size() > 4000) return;
  require(squares.rounds_to(bits(fanin::exact_norm2_squared(exec, x))));
  const std::vector<T> y(x.rbegin(), x.rend());
  require(products.rounds_to(bits(fanin::exact_dot(exec, x, y))));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2 || size > 600) return 0;
  const int doublings = data[0] % 9;
  const bool is_narrow = data[0] >= 128;
  const auto read = [&]<class T>(T) {
    std::vector<T> pattern((size - 1) / sizeof(T));
    if (!pattern.empty()) std::memcpy(pattern.data(), data + 1, pattern.size() * sizeof(T));
    run(pattern, doublings);
  };
  if (is_narrow) {
    read(float{});
  } else {
    read(double{});
  }
  return 0;
}
