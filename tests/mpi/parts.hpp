// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <fanin/error.hpp>
#include <fanin/exact_accumulator.hpp>
#include <fanin/macros.hpp>

#include "support/data.hpp"

/// What tests of ranks reduce, and how it is split among them.
namespace fanin_test {

inline int rank_of_world() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

/// The words of the state_error that a call throws, or none.
template <class Call>
std::string words_of_refusal(const Call& call) {
  try {
    call();
    return "";
  } catch (const fanin::state_error& error) {
    return error.what();
  }
}

/// Numbers of any magnitude and sign, the same on all ranks.
FANIN_FUNCTION inline double element(std::int64_t i) {
  const std::uint64_t draw = mix(static_cast<std::uint64_t>(i));
  const int exponent = static_cast<int>(draw % 300) - 200;
  const double power = std::bit_cast<double>(static_cast<std::uint64_t>(1023 + exponent) << 52);
  return (static_cast<double>(draw >> 12) - 0x1p51) * power;
}
struct element_at {
  FANIN_FUNCTION double operator()(std::int64_t i) const { return element(i); }
};
/// Of one magnitude, so that every order of additions rounds otherwise.
struct unit_at {
  FANIN_FUNCTION double operator()(std::int64_t i) const {
    return static_cast<double>(mix(static_cast<std::uint64_t>(i)) >> 11) * 0x1p-53;
  }
};
struct small_at {
  FANIN_FUNCTION std::int64_t operator()(std::int64_t i) const {
    return static_cast<std::int64_t>(mix(static_cast<std::uint64_t>(i)) % 100);
  }
};

/// A reducer of one's own, with a result and a large accumulator; a mean is not the mean of means.
struct mean {
  struct sums {
    double sum;
    std::int64_t count;
    char padding[72];
  };
  using value_type = std::int64_t;
  using accumulator_type = sums;
  using result_type = double;
  FANIN_FUNCTION sums identity() const { return {}; }
  FANIN_FUNCTION void fold(sums& acc, std::int64_t value, std::int64_t) const {
    acc.sum += static_cast<double>(value);
    ++acc.count;
  }
  FANIN_FUNCTION void join(sums& into, const sums& from) const {
    into.sum += from.sum;
    into.count += from.count;
  }
  FANIN_FUNCTION double result(const sums& acc) const {
    return acc.count == 0 ? 0 : acc.sum / static_cast<double>(acc.count);
  }
};

/// The greatest value, in an accumulator that exact sums have.
struct greatest_exactly {
  using value_type = double;
  using accumulator_type = fanin::exact_accumulator;
  using result_type = double;
  FANIN_FUNCTION accumulator_type identity() const { return {}; }
  FANIN_FUNCTION void fold(accumulator_type& acc, double value, std::int64_t) const {
    if (value > acc.value()) {
      acc = {};
      acc.add(value);
    }
  }
  FANIN_FUNCTION void join(accumulator_type& into, const accumulator_type& from) const {
    if (from.value() > into.value()) into = from;
  }
  FANIN_FUNCTION double result(const accumulator_type& acc) const { return acc.value(); }
};

/// Where the parts of n indices begin, by a seed: uneven, some of them empty.
inline std::vector<std::int64_t> drawn_split(std::int64_t n, int ranks, std::uint64_t seed) {
  std::vector<std::int64_t> begins{0, n};
  for (int rank = 1; rank < ranks; ++rank) {
    const std::uint64_t draw = mix(seed * 1'000 + static_cast<std::uint64_t>(rank));
    begins.push_back(draw % 4 == 0 ? 0 : static_cast<std::int64_t>(draw / 4 % static_cast<std::uint64_t>(n + 1)));
  }
  std::sort(begins.begin(), begins.end());
  return begins;
}
struct own_part {
  std::int64_t begin;
  std::int64_t end;
  template <class Comm>
  own_part(std::int64_t n, const Comm& comm, std::uint64_t seed) {
    const auto begins = drawn_split(n, comm.size(), seed);
    begin = begins[static_cast<std::size_t>(comm.rank())];
    end = begins[static_cast<std::size_t>(comm.rank()) + 1];
  }
};

}  // namespace fanin_test
