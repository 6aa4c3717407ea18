// SPDX-License-Identifier: Apache-2.0

// Fanin on CUDA, and the user's kernels alone.

#include "loop/fanin.hpp"
#include "loop/on_cuda.hpp"
#include "loop/registry.hpp"

namespace fanin_perf::cg {
namespace {

struct cuda_with_object : on_cuda {
  using on_cuda::on_cuda;
  fanin::cuda make_exec() const { return fanin::cuda(stream()); }
};

template <class T>
using library = fanin_library<T, cuda_with_object>;

}  // namespace

void add_fanin_cuda(registry& to) {
  to.contenders.push_back(
      of_form<kernels_alone, library>({.library = "kernels", .form = "alone", .on_gpu = true, .is_kernels = true}));
  to.contenders.push_back(of_form<finished, library>({.library = "fanin", .form = "finished", .on_gpu = true}));
  to.contenders.push_back(of_form<fused, library>({.library = "fanin", .form = "fused", .on_gpu = true}));
  to.contenders.push_back(of_form<over_arrays, library>({.library = "fanin", .form = "arrays", .on_gpu = true}));
  to.contenders.push_back(
      of_form<blocking, library>({.library = "fanin", .form = "blocking", .on_gpu = true, .blocks = true}));
}

}  // namespace fanin_perf::cg
