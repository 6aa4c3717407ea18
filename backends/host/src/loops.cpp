// SPDX-License-Identifier: Apache-2.0
#include <fanin/host/loops.hpp>

#include "table.hpp"

namespace fanin::detail::host {
namespace {

const all_loops* all_at(level which) noexcept {
  if (which == level::baseline) return &baseline_table();
#if FANIN_HOST_HAS_X86_LEVELS
  __builtin_cpu_init();
  if (which == level::avx2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return &avx2_table();
  }
  if (which == level::avx512 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    return &avx512_table();
  }
#endif
  return nullptr;
}

const all_loops* choose() noexcept {
  if (const all_loops* const all = all_at(level::avx512)) return all;
  if (const all_loops* const all = all_at(level::avx2)) return all;
  return all_at(level::baseline);
}

const all_loops& best() noexcept {
  static const all_loops* const chosen = choose();
  return *chosen;
}

}  // namespace

template <class T>
const loops<T>* loops_at(level which) noexcept {
  const all_loops* const all = all_at(which);
  return all != nullptr ? &std::get<loops<T>>(*all) : nullptr;
}

template <class T>
const loops<T>& loops_of() noexcept {
  return std::get<loops<T>>(best());
}

template <class T>
const exact_loops<T>* exact_loops_at(level which) noexcept {
  const all_loops* const all = all_at(which);
  return all != nullptr ? &std::get<exact_loops<T>>(*all) : nullptr;
}

template <class T>
const exact_loops<T>& exact_loops_of() noexcept {
  return std::get<exact_loops<T>>(best());
}

#define FANIN_HOST_INSTANTIATE(T)                                                              \
  template __attribute__((visibility("default"))) const loops<T>* loops_at<T>(level) noexcept; \
  template __attribute__((visibility("default"))) const loops<T>& loops_of<T>() noexcept;
FANIN_HOST_INSTANTIATE(float)
FANIN_HOST_INSTANTIATE(double)
FANIN_HOST_INSTANTIATE(std::int8_t)
FANIN_HOST_INSTANTIATE(std::int16_t)
FANIN_HOST_INSTANTIATE(std::int32_t)
FANIN_HOST_INSTANTIATE(std::int64_t)
FANIN_HOST_INSTANTIATE(std::uint8_t)
FANIN_HOST_INSTANTIATE(std::uint16_t)
FANIN_HOST_INSTANTIATE(std::uint32_t)
FANIN_HOST_INSTANTIATE(std::uint64_t)
#undef FANIN_HOST_INSTANTIATE

#define FANIN_HOST_INSTANTIATE_EXACT(T)                                                                    \
  template __attribute__((visibility("default"))) const exact_loops<T>* exact_loops_at<T>(level) noexcept; \
  template __attribute__((visibility("default"))) const exact_loops<T>& exact_loops_of<T>() noexcept;
FANIN_HOST_INSTANTIATE_EXACT(float)
FANIN_HOST_INSTANTIATE_EXACT(double)
#undef FANIN_HOST_INSTANTIATE_EXACT

}  // namespace fanin::detail::host
