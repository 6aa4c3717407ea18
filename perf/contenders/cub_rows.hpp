// SPDX-License-Identifier: Apache-2.0
#pragma once

// CUB as a contender, for the units that hold its combinations: each is compiled with the toolkit's CCCL, and once more
// with the newer headers of FANIN_CCCL_INCLUDE_DIR where these are given. Their own types are in unnamed namespaces,
// since a program holds both.

#include "contenders/cub_version.hpp"
#include "contenders/device_calls.hpp"
#include "harness/registry.hpp"

namespace fanin_perf {

/// Adds a library of reductions to both destinations.
template <class Library>
void add_cub_rows(registry& to, const char* name) {
  contender who;
  who.name = name;
  who.backend = "cuda";
  who.where = place::gpu;
  who.is_peer = true;
  who.propagates_nan = false;
  who.lanes = 16384;
  who.to = destination::device;
  who.capturable = true;
  to.add(of_family(who, device_family<Library>{.to_host = false}));
  who.to = destination::host;
  to.add(of_family(who, device_family<Library>{.to_host = true}));
}

}  // namespace fanin_perf
