// SPDX-License-Identifier: Apache-2.0
// Reductions whose threads have several elements in flight: loads_together.py looks at whether their machine code asks
// for all elements of a round before it waits for one.

#include <cstdint>
#include <span>

#include <fanin/axes.hpp>
#include <fanin/cuda/backend.hpp>
#include <fanin/md_range.hpp>
#include <fanin/parallel_reduce.hpp>
#include <fanin/reduce.hpp>
#include <fanin/reducers.hpp>
#include <fanin/runs.hpp>
#include <fanin/segments.hpp>

namespace {

/// Of a matrix times a vector.
template <class T>
struct product {
  const T* a;
  const std::int32_t* column;
  const T* x;
  FANIN_FUNCTION T operator()(std::int64_t, std::int64_t k) const { return a[k] * x[column[k]]; }
};

/// Of a field.
template <class T>
struct element_of_box {
  const T* x;
  std::int64_t m;
  std::int64_t l;
  FANIN_FUNCTION T operator()(std::int64_t i, std::int64_t j, std::int64_t k) const { return x[(i * m + j) * l + k]; }
};

template <class T>
void of_arrays(const fanin::cuda& gpu, T* out, const T* x, const std::int64_t* offsets, std::int32_t* keys,
               std::int64_t* count, std::size_t n) {
  fanin::reduce_into(std::span(out, n), gpu, fanin::segments(std::span(x, n), std::span(offsets, n + 1)),
                     fanin::sum<T>{});
  fanin::reduce_into(fanin::runs_to(std::span(keys, n), out, count), gpu,
                     fanin::runs(std::span(x, n), std::span<const std::int32_t>(keys, n)), fanin::sum<T>{});
}

}  // namespace

void all(const fanin::cuda& gpu, float* f, double* d, const std::int64_t* offsets, std::int32_t* keys,
         std::int64_t* count, std::size_t n) {
  of_arrays<float>(gpu, f, f, offsets, keys, count, n);
  of_arrays<double>(gpu, d, d, offsets, keys, count, n);
  const auto rows = fanin::segments(gpu, std::span(offsets, n + 1));
  fanin::parallel_reduce_into(f, rows, product<float>{f, keys, f}, fanin::sum<float>{});
  fanin::parallel_reduce_into(d, rows, product<double>{d, keys, d}, fanin::sum<double>{});
  const auto box = fanin::md_range(gpu, {n, n, n});
  fanin::parallel_reduce_into(f, box, element_of_box<float>{f, 1, 1}, fanin::sum<float>{});
  fanin::parallel_reduce_into(d, box, element_of_box<double>{d, 1, 1}, fanin::sum<double>{});
  const auto ready = rows.prepared();
  fanin::parallel_reduce_into(f, ready, product<float>{f, keys, f}, fanin::sum<float>{});
  fanin::parallel_reduce_into(d, ready, product<double>{d, keys, d}, fanin::sum<double>{});
}
