// SPDX-License-Identifier: Apache-2.0

// The calling thread: Fanin, and the loops that an application would write.

#include <fanin/serial/serial.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "shapes/box.hpp"
#include "shapes/fanin.hpp"
#include "shapes/shape.hpp"

namespace fanin_perf::shapes {
namespace {

template <class T>
struct fanin_serial : on_host<T> {
  using on_host<T>::on_host;
  void reduce(const problem<T>& of, const element_at<T>& f, T* out) {
    reduce_by_fanin(fanin::serial(), of, f, this->indices.more(), out);
  }
};

/// Nests in the order of memory.
template <class T>
struct loops : on_host<T> {
  using on_host<T>::on_host;
  void reduce(const problem<T>& of, const element_at<T>& f, T* out) {
    const auto& [what, n, m, inner, given] = of.of;
    if (what == kind::rows) {
      for (std::int64_t i = 0; i < n; ++i) {
        T sum = 0;
        for (std::int64_t j = 0; j < m; ++j) sum += f(i, j);
        out[i] = sum;
      }
    } else if (what == kind::middle) {
      for (std::int64_t i = 0; i < n; ++i) {
        T* const sums = out + i * inner;
        std::fill_n(sums, inner, T{0});
        for (std::int64_t j = 0; j < m; ++j) {
          for (std::int64_t k = 0; k < inner; ++k) sums[k] += f.x[(i * m + j) * inner + k];
        }
      }
    } else if (of.of.has_offsets()) {
      const std::int64_t* const at = this->indices.offsets.data();
      for (std::int64_t s = 0; s < n; ++s) {
        T sum = 0;
        for (std::int64_t k = at[s]; k < at[s + 1]; ++k) sum += f.x[k];
        out[s] = sum;
      }
    } else if (what == kind::spmv) {
      const beside more = this->indices.more();
      const std::int32_t* const column = more.columns_of(of, f.x);
      for (std::int64_t row = 0; row < n; ++row) {
        T sum = 0;
        for (std::int64_t k = more.row_offsets[row]; k < more.row_offsets[row + 1]; ++k)
          sum += f.x[k] * of.x[column[k]];
        out[row] = sum;
      }
    } else if (what == kind::runs) {
      const beside more = this->indices.more();
      const std::int32_t* const keys = more.keys_of(of, f.x);
      std::int64_t run = -1;
      for (std::int64_t k = 0; k < n * m; ++k) {
        if (k == 0 || keys[k] != keys[k - 1]) {
          more.to_keys[++run] = keys[k];
          out[run] = 0;
        }
        out[run] += f.x[k];
      }
      *more.count = run + 1;
    } else if (what == kind::triangle) {
      const sum_in_triangle<T> sum_of_row{f.x, n, m};
      T sum = 0;
      for (std::int64_t i = 0; i < n; ++i) sum += sum_of_row(i);
      *out = sum;
    } else if (what == kind::columns) {
      std::fill_n(out, m, T{0});
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < m; ++j) out[j] += f(i, j);
      }
    } else {
      T sum = 0;
      shapes::with_box(of.of, f.x, [&](const auto& within, const auto& g) {
        shapes::for_each_in(within, [&](auto... i) { sum += g(i...); });
      });
      *out = sum;
    }
  }
};

}  // namespace

void add_host(registry& to) {
  to.contenders.push_back(of_library<fanin_serial>({.name = "fanin serial", .is_peer = false}));
  to.contenders.push_back(of_library<loops>({.name = "loops"}));
}

}  // namespace fanin_perf::shapes
