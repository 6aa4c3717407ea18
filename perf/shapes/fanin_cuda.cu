// SPDX-License-Identifier: Apache-2.0

#include <fanin/axes.hpp>
#include <fanin/cuda/cuda.hpp>
#include <fanin/view.hpp>

#include <cstdint>

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

}  // namespace

void add_fanin_cuda(registry& to) {
  to.contenders.push_back(of_library<fanin_cuda>({.name = "fanin", .is_peer = false, .waits = false}));
  to.contenders.push_back(of_library<fanin_array>(
      {.name = "fanin-array", .is_peer = false, .waits = false, .kinds = {kind::rows, kind::columns}}));
}

}  // namespace fanin_perf::shapes
