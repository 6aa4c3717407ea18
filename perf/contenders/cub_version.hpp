// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which CUB a unit is compiled with: the toolkit's, or that of FANIN_CCCL_INCLUDE_DIR. In an unnamed namespace, since a
// program holds both.

#include <cub/version.cuh>
#include <string>

#ifndef FANIN_PERF_CUB_WHEEL
#define FANIN_PERF_CUB_WHEEL 0
#endif

namespace fanin_perf {
namespace {

constexpr const char* cub_name = FANIN_PERF_CUB_WHEEL ? "cub-wheel" : "cub";

template <class Registry>
void add_cub_version(Registry& to) {
  to.versions[cub_name] = std::to_string(CUB_MAJOR_VERSION) + "." + std::to_string(CUB_MINOR_VERSION) + "." +
                          std::to_string(CUB_SUBMINOR_VERSION);
}

}  // namespace
}  // namespace fanin_perf
