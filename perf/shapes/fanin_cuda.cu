// SPDX-License-Identifier: Apache-2.0

#include <fanin/cuda/cuda.hpp>

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

}  // namespace

void add_fanin_cuda(registry& to) {
  to.contenders.push_back(of_library<fanin_cuda>({.name = "fanin", .is_peer = false, .waits = false}));
}

}  // namespace fanin_perf::shapes
