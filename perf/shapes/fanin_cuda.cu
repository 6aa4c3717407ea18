// SPDX-License-Identifier: Apache-2.0

#include <fanin/axes.hpp>
#include <fanin/cuda/cuda.hpp>
#include <fanin/segments.hpp>
#include <fanin/view.hpp>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "harness/host.hpp"
#include "shapes/fanin.hpp"
#include "shapes/on_cuda.hpp"

namespace fanin_perf::shapes {
namespace {

template <class T>
class fanin_cuda : public on_cuda<T> {
 public:
  explicit fanin_cuda(const problem<T>& of) : on_cuda<T>(of), exec_(this->stream()) {}
  void reduce(const problem<T>& of, const element_at<T>& f, T* out) const {
    reduce_by_fanin(exec_, of, f, this->more(), out);
  }

 private:
  fanin::cuda exec_;
};

/// The array itself, where `fanin` has f(i, j).
template <class T>
class fanin_array : public on_cuda<T> {
 public:
  explicit fanin_array(const problem<T>& of) : on_cuda<T>(of), exec_(this->stream()) {}
  void reduce(const problem<T>& of, const element_at<T>& f, T* out) const {
    const fanin::view<const T, 2> xs(f.x, {of.of.n, of.of.m});
    if (of.of.what == kind::rows) {
      fanin::reduce_into(out, exec_, fanin::rows(xs), fanin::sum<T>{});
    } else {
      fanin::reduce_into(out, exec_, fanin::columns(xs), fanin::sum<T>{});
    }
  }

 private:
  fanin::cuda exec_;
};

/// A matrix of which Fanin knows the rows, as cuSPARSE does.
template <class T>
class fanin_prepared : public on_cuda<T> {
 public:
  explicit fanin_prepared(const problem<T>& of) : on_cuda<T>(of), exec_(this->stream()) {
    prepare(of);  // loads what the one that is timed needs
    const double begin = host_seconds();
    prepare(of);
    preparing_us_ = (host_seconds() - begin) * 1e6;
    while (std::ssize(rows_) < of.arrays) prepare(of);
  }
  void reduce(const problem<T>& of, const element_at<T>& f, T* out) const {
    const auto& rows = rows_[static_cast<std::size_t>(of.array_of(f.x))];
    const product_at<T> product{f.x, this->more().columns_of(of, f.x), of.x};
    fanin::parallel_reduce_into(out, rows, product, fanin::sum<T>{});
  }
  preparation before() const { return {"prepared()", preparing_us_}; }

 private:
  void prepare(const problem<T>& of) {
    const std::span offsets(this->more().row_offsets, static_cast<std::size_t>(of.of.n) + 1);
    rows_.push_back(fanin::segments(exec_, offsets).prepared());
  }

  fanin::cuda exec_;
  std::vector<fanin::prepared_segments_policy<fanin::cuda, std::int32_t>> rows_;
  double preparing_us_ = 0;
};

}  // namespace

void add_fanin_cuda(registry& to) {
  to.contenders.push_back(of_library<fanin_cuda>({.name = "fanin", .is_peer = false, .waits = false}));
  to.contenders.push_back(of_library<fanin_array>(
      {.name = "fanin-array", .is_peer = false, .waits = false, .kinds = {kind::rows, kind::columns}}));
  to.contenders.push_back(
      of_library<fanin_prepared>({.name = "fanin-prepared", .is_peer = false, .waits = false, .kinds = {kind::spmv}}));
}

}  // namespace fanin_perf::shapes
