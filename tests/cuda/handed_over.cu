// SPDX-License-Identifier: Apache-2.0
// Reductions whose blocks hand over tagged units, of accumulators that fill them and of ones that leave words of them
// over: whole_units.py looks at how their machine code loads those.

#include <cstdint>
#include <span>

#include <fanin/cuda/backend.hpp>
#include <fanin/parallel_reduce.hpp>
#include <fanin/range.hpp>
#include <fanin/reduce.hpp>
#include <fanin/reducers.hpp>

namespace {

/// A word, a gap, and two words.
struct with_gap {
  std::int32_t least;
  std::int64_t count;
};
struct counted_min {
  using value_type = with_gap;
  FANIN_FUNCTION with_gap identity() const { return {INT32_MAX, 0}; }
  FANIN_FUNCTION void join(with_gap& into, const with_gap& from) const {
    if (from.least < into.least) into.least = from.least;
    into.count += from.count;
  }
};

/// None that the library has for arrays.
template <class Reducer>
struct own : Reducer {};

template <class T>
struct element {
  const T* x;
  FANIN_FUNCTION T operator()(std::int64_t i) const { return x[i]; }
};

template <class T, class... Reducer>
void both(const fanin::cuda& gpu, const T* x, std::int64_t n, const Reducer&... reducer) {
  fanin::reduce(gpu, std::span<const T>(x, static_cast<std::size_t>(n)), reducer...);
  fanin::parallel_reduce(fanin::range(gpu, n), element<T>{x}, reducer...);
}

}  // namespace

void all(const fanin::cuda& gpu, const float* f, const double* d, const std::uint8_t* b, const with_gap* g,
         std::int64_t n) {
  both(gpu, f, n, own<fanin::sum<float>>{});
  both(gpu, d, n, own<fanin::sum<double>>{});
  both(gpu, b, n, own<fanin::max<std::uint8_t>>{});
  both(gpu, g, n, counted_min{});
  both(gpu, f, n, fanin::min<float>{}, fanin::max<float>{});
  both(gpu, d, n, fanin::sum<double>{}, fanin::min<double>{});
}
