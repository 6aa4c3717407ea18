// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <fanin/macros.hpp>
#include <fanin/reducer.hpp>

#include "support/data.hpp"

/// Reducers that a user might write, one for each corner of the protocol.
namespace fanin_test {

/// The least a reducer can be: five lines.
struct sum_of_doubles {
  using value_type = double;
  FANIN_FUNCTION double identity() const { return 0.0; }
  FANIN_FUNCTION void join(double& into, const double& from) const { into += from; }
};

/// Three different types, and a fold that uses the index: the mean of the values and of the places of those above a
/// bound.
struct mean_above {
  struct totals {
    std::int64_t sum;
    std::int64_t places;
    std::int64_t count;
  };
  struct means {
    double value;
    double place;
    friend bool operator==(const means&, const means&) = default;
  };
  using value_type = std::int32_t;
  using accumulator_type = totals;
  using result_type = means;

  std::int32_t bound;

  FANIN_FUNCTION totals identity() const { return {0, 0, 0}; }
  FANIN_FUNCTION void fold(totals& acc, std::int32_t value, std::int64_t index) const {
    if (value <= bound) return;
    acc.sum += value;
    acc.places += index;
    ++acc.count;
  }
  FANIN_FUNCTION void join(totals& into, const totals& from) const {
    into.sum += from.sum;
    into.places += from.places;
    into.count += from.count;
  }
  FANIN_FUNCTION means result(const totals& acc) const {
    if (acc.count == 0) return {-1.0, -1.0};
    return {static_cast<double>(acc.sum) / static_cast<double>(acc.count),
            static_cast<double>(acc.places) / static_cast<double>(acc.count)};
  }
};

/// An accumulator of 600 bytes: 75 counters, chosen by the value. The result weighs each, so that a swap shows.
struct wide_counts {
  static constexpr int bins = 75;
  struct counters {
    std::int64_t count[bins];
  };
  using value_type = std::uint32_t;
  using accumulator_type = counters;
  using result_type = std::uint64_t;

  FANIN_FUNCTION counters identity() const {
    counters acc{};
    return acc;
  }
  FANIN_FUNCTION void fold(counters& acc, std::uint32_t value, std::int64_t) const { ++acc.count[value % bins]; }
  FANIN_FUNCTION void join(counters& into, const counters& from) const {
    for (int i = 0; i < bins; ++i) into.count[i] += from.count[i];
  }
  FANIN_FUNCTION std::uint64_t result(const counters& acc) const {
    std::uint64_t checksum = 0;
    for (int i = 0; i < bins; ++i)
      checksum += mix(static_cast<std::uint64_t>(i)) * static_cast<std::uint64_t>(acc.count[i]);
    return checksum;
  }
};
static_assert(sizeof(wide_counts::counters) == 600);

/// A thread_state: a histogram in scratch that a whole block may share, and a small cache in each thread that is
/// flushed into it. Integers, so that no order shows.
struct histogram {
  static constexpr int bins = 64;
  struct counters {
    std::int64_t count[bins];
  };
  struct summary {
    std::int64_t total;
    std::int64_t fullest;
    std::uint64_t checksum;
    friend bool operator==(const summary&, const summary&) = default;
  };
  struct cache {
    counters* scratch;
    int bin;
    std::int64_t run;
  };
  using value_type = std::uint32_t;
  using accumulator_type = counters;
  using result_type = summary;
  using thread_state = cache;

  FANIN_FUNCTION counters identity() const {
    counters acc{};
    return acc;
  }
  FANIN_FUNCTION cache begin(counters& scratch) const { return {&scratch, 0, 0}; }
  FANIN_FUNCTION void fold(cache& state, std::uint32_t value, std::int64_t) const {
    const int bin = static_cast<int>(value % bins);
    if (bin != state.bin) {
      flush(state, *state.scratch);
      state.bin = bin;
    }
    ++state.run;
  }
  FANIN_FUNCTION void flush(cache& state, counters& scratch) const {
    if (state.run != 0) fanin::atomic_fetch_add(scratch.count[state.bin], state.run);
    state.run = 0;
  }
  FANIN_FUNCTION void join(counters& into, const counters& from) const {
    for (int i = 0; i < bins; ++i) into.count[i] += from.count[i];
  }
  FANIN_FUNCTION summary result(const counters& acc) const {
    summary all{0, 0, 0};
    for (int i = 0; i < bins; ++i) {
      all.total += acc.count[i];
      if (acc.count[i] > acc.count[all.fullest]) all.fullest = i;
      all.checksum += mix(static_cast<std::uint64_t>(i)) * static_cast<std::uint64_t>(acc.count[i]);
    }
    return all;
  }
};

/// Values side by side, added side by side.
template <class T, int Count>
struct lanes {
  T lane[Count];
  FANIN_FUNCTION friend lanes operator+(const lanes& a, const lanes& b) {
    lanes c{};
    for (int i = 0; i < Count; ++i) c.lane[i] = a.lane[i] + b.lane[i];
    return c;
  }
  FANIN_FUNCTION friend bool operator==(const lanes& a, const lanes& b) {
    for (int i = 0; i < Count; ++i) {
      if (a.lane[i] != b.lane[i]) return false;
    }
    return true;
  }
};
/// 64 bytes: the largest that travels through shuffles.
using octet = lanes<std::int64_t, 8>;
static_assert(sizeof(octet) == 64);

/// And one of an odd size, 12 bytes of three.
struct triple {
  std::int32_t a, b, c;
  FANIN_FUNCTION friend triple operator+(const triple& x, const triple& y) { return {x.a + y.a, x.b + y.b, x.c + y.c}; }
  friend bool operator==(const triple&, const triple&) = default;
};

/// Reducers may carry values of their own.
struct within {
  using value_type = double;
  using accumulator_type = std::int64_t;
  double low, high;
  FANIN_FUNCTION std::int64_t identity() const { return 0; }
  FANIN_FUNCTION void fold(std::int64_t& acc, double value, std::int64_t) const {
    if (value >= low && value < high) ++acc;
  }
  FANIN_FUNCTION void join(std::int64_t& into, const std::int64_t& from) const { into += from; }
};

}  // namespace fanin_test
