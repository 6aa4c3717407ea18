// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <immintrin.h>
#include <sched.h>

#include <fanin/device/tagged_unit.cuh>

namespace simulator {

/// Peers are grids of the one device, whose schedule says when their units arrive, and not processes with one each.
inline bool peers_share_the_device = false;

}  // namespace simulator

/// The simulator's accesses to memory that other processes have, too: as device/include/fanin/device/peer_unit.cuh. An
/// aligned load or store of 16 bytes is one access on processors with AVX.
namespace fanin::detail {

inline void store_unit_of_peer(tagged_unit* to, const tagged_unit& unit,
                               simulator::place here = simulator::place::current()) {
  if (simulator::peers_share_the_device) return store_unit(to, unit, here);
  simulator::may_give_way();
  _mm_store_si128(reinterpret_cast<__m128i*>(to), _mm_loadu_si128(reinterpret_cast<const __m128i*>(&unit)));
}

inline tagged_unit load_unit_of_peer(const tagged_unit* from, simulator::place here = simulator::place::current()) {
  if (simulator::peers_share_the_device) return load_unit(from, here);
  simulator::give_way();
  sched_yield();
  tagged_unit unit;
  _mm_storeu_si128(reinterpret_cast<__m128i*>(&unit), _mm_load_si128(reinterpret_cast<const __m128i*>(from)));
  return unit;
}

}  // namespace fanin::detail
