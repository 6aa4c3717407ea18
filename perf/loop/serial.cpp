// SPDX-License-Identifier: Apache-2.0

// Fanin on the calling thread.

#include "loop/fanin.hpp"
#include "loop/on_host.hpp"
#include "loop/registry.hpp"

namespace fanin_perf::cg {
namespace {

template <class T>
using library = fanin_library<T, on_host<fanin::serial>>;

}  // namespace

void add_serial(registry& to) {
  to.contenders.push_back(of_form<kernels_alone, library>({.library = "kernels", .form = "alone", .is_kernels = true}));
  to.contenders.push_back(of_form<finished, library>({.library = "fanin serial", .form = "finished"}));
  to.contenders.push_back(of_form<fused, library>({.library = "fanin serial", .form = "fused"}));
  to.contenders.push_back(of_form<over_arrays, library>({.library = "fanin serial", .form = "arrays"}));
  to.contenders.push_back(of_form<blocking, library>({.library = "fanin serial", .form = "blocking", .blocks = true}));
}

}  // namespace fanin_perf::cg
