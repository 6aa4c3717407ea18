// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace simulator {

/// Numbers that follow from a seed.
class generator {
 public:
  explicit generator(std::uint64_t seed) : state_{seed} {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  std::uint64_t below(std::uint64_t end) {
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * end) >> 64);
  }
  bool one_in(std::uint64_t n) { return below(n) == 0; }

 private:
  std::uint64_t state_;
};

}  // namespace simulator
