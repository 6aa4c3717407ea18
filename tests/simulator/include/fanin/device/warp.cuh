// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>

#include "simulator/thread.hpp"

/// The simulator's warps: as device/include/fanin/device/warp.cuh, of a device that has redux.sync.
namespace fanin::detail {

inline constexpr unsigned warp_size = 32;
inline constexpr unsigned all_lanes = 0xffffffffu;

inline bool all_in_warp(bool holds, simulator::place here = simulator::place::current()) {
  const std::uint32_t* const of_lane = simulator::lanes_meet("all_in_warp", holds ? 1 : 0, here);
  std::uint32_t count = 0;
  for (unsigned k = 0; k < warp_size; ++k) count += of_lane[k];
  return count == warp_size;
}
inline bool of_lane_0(bool holds, simulator::place here = simulator::place::current()) {
  return simulator::lanes_meet("of_lane_0", holds ? 1 : 0, here)[0] != 0;
}

inline std::uint32_t lanes_where(bool holds, simulator::place here = simulator::place::current()) {
  const std::uint32_t* const of_lane = simulator::lanes_meet("lanes_where", holds ? 1 : 0, here);
  std::uint32_t lanes = 0;
  for (unsigned k = 0; k < warp_size; ++k) lanes |= of_lane[k] << k;
  return lanes;
}

template <class Number>
Number of_lane(Number value, int from, simulator::place here = simulator::place::current()) {
  static_assert(sizeof(Number) <= sizeof(std::uint64_t));
  std::uint64_t rest = 0;
  std::memcpy(&rest, &value, sizeof(Number));
  std::uint64_t got = 0;
  for (unsigned bits = 0; bits < 8 * sizeof(Number); bits += 32, rest >>= 32) {
    got |= std::uint64_t{simulator::lanes_meet("of_lane", static_cast<std::uint32_t>(rest), here)[from]} << bits;
  }
  std::memcpy(&value, &got, sizeof(Number));
  return value;
}

template <class T>
T shuffle_down(const T& value, unsigned delta, simulator::place here = simulator::place::current()) {
  constexpr int words = (sizeof(T) + 3) / 4;
  std::uint32_t word[words] = {};
  std::memcpy(static_cast<void*>(word), &value, sizeof(T));
  const unsigned lane = threadIdx.x % warp_size;
  for (std::uint32_t& one : word) {
    // The last lanes get their own.
    one = simulator::lanes_meet("shuffle_down", one, here)[lane + delta < warp_size ? lane + delta : lane];
  }
  T moved;
  std::memcpy(static_cast<void*>(&moved), word, sizeof(T));
  return moved;
}

inline constexpr bool has_redux = true;

template <class Word, class Join>
Word joined_in_warp(const char* what, Word value, const Join& join, simulator::place here) {
  const std::uint32_t* const of_lane = simulator::lanes_meet(what, static_cast<std::uint32_t>(value), here);
  Word all = static_cast<Word>(of_lane[0]);
  for (unsigned k = 1; k < warp_size; ++k) all = join(all, static_cast<Word>(of_lane[k]));
  return all;
}

inline int least_in_warp(int value, simulator::place here = simulator::place::current()) {
  return joined_in_warp("least_in_warp", value, [](int a, int b) { return a < b ? a : b; }, here);
}
inline unsigned least_in_warp(unsigned value, simulator::place here = simulator::place::current()) {
  return joined_in_warp("least_in_warp", value, [](unsigned a, unsigned b) { return a < b ? a : b; }, here);
}
inline unsigned most_in_warp(unsigned value, simulator::place here = simulator::place::current()) {
  return joined_in_warp("most_in_warp", value, [](unsigned a, unsigned b) { return a > b ? a : b; }, here);
}
inline std::uint32_t sum_in_warp(std::uint32_t value, simulator::place here = simulator::place::current()) {
  return joined_in_warp("sum_in_warp", value, [](std::uint32_t a, std::uint32_t b) { return a + b; }, here);
}

}  // namespace fanin::detail
