// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <immintrin.h>
#include <sched.h>

#include <fanin/device/tagged_unit.cuh>

/// The simulator's accesses to memory that other processes have, too: as device/include/fanin/device/peer_unit.cuh. An
/// aligned load or store of 16 bytes is one access on processors with AVX.
namespace fanin::detail {

inline void store_unit_of_peer(tagged_unit* to, const tagged_unit& unit) {
  simulator::may_give_way();
  _mm_store_si128(reinterpret_cast<__m128i*>(to), _mm_loadu_si128(reinterpret_cast<const __m128i*>(&unit)));
}

inline tagged_unit load_unit_of_peer(const tagged_unit* from) {
  simulator::give_way();
  sched_yield();
  tagged_unit unit;
  _mm_storeu_si128(reinterpret_cast<__m128i*>(&unit), _mm_load_si128(reinterpret_cast<const __m128i*>(from)));
  return unit;
}

}  // namespace fanin::detail
