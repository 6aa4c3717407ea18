// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

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

/// A sum that is handed on while it is small: 2^unit times a number below 2^20. Each thread has the unit of its first
/// value; what is no multiple of that, or too large, goes to the spill. Joined by shuffles.
struct handed_sum {
  struct counters {
    std::int64_t total;
    std::int64_t unused[11];
  };
  struct cache {
    counters* spill;
    std::int64_t held;
    std::int32_t unit;
    std::int32_t elsewhere;
  };
  struct drained {
    std::int32_t held = 0;
    std::int32_t unit = 0;
    std::int32_t elsewhere = 0;
  };
  using value_type = std::int64_t;
  using accumulator_type = counters;
  using result_type = std::int64_t;
  static constexpr std::int64_t bound = 1 << 20;

  struct gathering : fanin::gathering_with_partials<cache, drained> {
    FANIN_FUNCTION static cache begin(const handed_sum&, counters& spill) { return {&spill, 0, -1, 0}; }
    FANIN_FUNCTION static void finish(const handed_sum&, cache& state, counters& spill) {
      put(state.held, spill);
      state.held = 0;
    }
    FANIN_FUNCTION static drained drain(const handed_sum&, cache& state) {
      const std::int32_t unit = state.unit < 0 ? 0 : state.unit;
      const drained held{static_cast<std::int32_t>(state.held >> unit), unit, state.elsewhere};
      state.held = 0;
      return held;
    }
    FANIN_FUNCTION static int scale(const handed_sum&, const drained& held) {
      return held.held == 0 ? 0x7fff'ffff : held.unit;
    }
    FANIN_FUNCTION static bool rescale(const handed_sum&, drained& held, int scale) {
      if (held.held != 0) {
        const std::int64_t scaled = std::int64_t{held.held} * (std::int64_t{1} << (held.unit - scale));
        if (scaled >= bound || scaled <= -bound) return false;
        held.held = static_cast<std::int32_t>(scaled);
      }
      held.unit = scale;
      return true;
    }
    FANIN_FUNCTION static void join_partials(const handed_sum&, drained& into, const drained& from) {
      into.held += from.held;
      into.elsewhere |= from.elsewhere;
    }
    FANIN_FUNCTION static void deposit(const handed_sum&, drained& held, counters& spill) {
      if (held.held == 0) return;
      put(std::int64_t{held.held} * (std::int64_t{1} << held.unit), spill);
      held.held = 0;
      held.elsewhere = 1;
    }
    template <class Of>
    FANIN_FUNCTION static void join_spills(const handed_sum&, counters& spill, const Of& of, unsigned count,
                                           unsigned worker, unsigned workers) {
      for (unsigned k = worker; k < count; k += workers) put(of(k).total, spill);
    }
    FANIN_FUNCTION static bool is_in_spill(const handed_sum&, const drained& held) { return held.elsewhere != 0; }
    FANIN_FUNCTION static std::int64_t result(const handed_sum&, const drained& held) {
      return held.held == 0 ? 0 : std::int64_t{held.held} * (std::int64_t{1} << held.unit);
    }
  };

  FANIN_FUNCTION counters identity() const { return counters{}; }
  FANIN_FUNCTION void fold(cache& state, std::int64_t value, std::int64_t) const {
    if (state.unit < 0) state.unit = value % 1'024 == 0 ? 10 : (value % 8 == 0 ? 3 : 0);
    const std::int64_t sum = state.held + value;
    const std::int64_t unit = std::int64_t{1} << state.unit;
    if (value % unit == 0 && sum / unit < bound && sum / unit > -bound) {
      state.held = sum;
    } else {
      put(value, *state.spill);
      state.elsewhere = 1;
    }
  }
  FANIN_FUNCTION void join(counters& into, const counters& from) const { into.total += from.total; }
  FANIN_FUNCTION std::int64_t result(const counters& acc) const { return acc.total; }

 private:
  FANIN_FUNCTION static void put(std::int64_t value, counters& spill) {
    if (value != 0) fanin::atomic_fetch_add(spill.total, value);
  }
};

/// The same, whose spills one thread joins, which takes this block's to be its own.
struct handed_sum_joined_by_one : handed_sum {
  struct gathering : handed_sum::gathering {
    template <class Of>
    FANIN_FUNCTION static void join_spills(const handed_sum_joined_by_one& r, counters& spill, const Of& of,
                                           unsigned count, unsigned worker, unsigned /*workers*/) {
      for (unsigned k = 0; worker == 0 && k < count; ++k) r.join(spill, of(k));
    }
  };
};

/// Four counters of 16 bytes: a spill that is small.
struct small_tally {
  struct counters {
    std::int32_t of[4];
    friend bool operator==(const counters&, const counters&) = default;
  };
  using value_type = std::uint32_t;
  using accumulator_type = counters;
  using gathering = fanin::gathering_in_counters<counters, std::int32_t>;
  std::uint32_t shift = 0;
  FANIN_FUNCTION counters identity() const { return {}; }
  FANIN_FUNCTION void fold(gathering::state_type& state, std::uint32_t value, std::int64_t) const {
    fanin::atomic_fetch_add(state->of[value >> shift & 3], 1);
  }
  FANIN_FUNCTION void join(counters& into, const counters& from) const {
    for (int k = 0; k < 4; ++k) into.of[k] += from.of[k];
  }
};

/// As many counters of 8 bytes as one likes: of such a block has several sets.
template <int Bins>
struct counters_of {
  std::int64_t of[Bins];
  friend bool operator==(const counters_of&, const counters_of&) = default;
};
template <int Bins>
struct tally {
  using value_type = std::uint32_t;
  using accumulator_type = counters_of<Bins>;
  using gathering = fanin::gathering_in_counters<counters_of<Bins>, std::int64_t>;
  FANIN_FUNCTION counters_of<Bins> identity() const { return {}; }
  FANIN_FUNCTION void fold(typename gathering::state_type& state, std::uint32_t value, std::int64_t) const {
    fanin::atomic_fetch_add(state->of[value % Bins], std::int64_t{1});
  }
  FANIN_FUNCTION void join(counters_of<Bins>& into, const counters_of<Bins>& from) const {
    for (int k = 0; k < Bins; ++k) into.of[k] += from.of[k];
  }
};

/// A histogram in a spill that a whole block may share, and a small cache in each thread. Integers, so that no order
/// shows.
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
    counters* spill;
    int bin;
    std::int64_t run;
    FANIN_FUNCTION void empty() {
      if (run != 0) fanin::atomic_fetch_add(spill->count[bin], run);
      run = 0;
    }
  };
  using value_type = std::uint32_t;
  using accumulator_type = counters;
  using result_type = summary;
  struct gathering : fanin::gathering_in_spill<cache> {
    FANIN_FUNCTION static cache begin(const histogram&, counters& spill) { return {&spill, 0, 0}; }
    FANIN_FUNCTION static void finish(const histogram&, cache& state, counters&) { state.empty(); }
  };

  FANIN_FUNCTION counters identity() const {
    counters acc{};
    return acc;
  }
  FANIN_FUNCTION void fold(cache& state, std::uint32_t value, std::int64_t) const {
    const int bin = static_cast<int>(value % bins);
    if (bin != state.bin) {
      state.empty();
      state.bin = bin;
    }
    ++state.run;
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

/// std::pair is no trivially copyable type, and copied by its bytes in spite of that: the largest of the first members,
/// the sum of the second.
struct largest_and_sum {
  using value_type = std::pair<std::int32_t, std::int64_t>;
  FANIN_FUNCTION value_type identity() const { return {INT32_MIN, 0}; }
  FANIN_FUNCTION void join(value_type& into, const value_type& from) const {
    if (from.first > into.first) into.first = from.first;
    into.second += from.second;
  }
};

/// Has += and no +, *= and no *.
struct compound {
  std::int64_t value = 0;
  FANIN_FUNCTION compound& operator+=(const compound& other) {
    value += other.value;
    return *this;
  }
  FANIN_FUNCTION compound& operator*=(const compound& other) {
    value *= other.value;
    return *this;
  }
  friend bool operator==(const compound&, const compound&) = default;
};

/// For compared results: what same.hpp would ask of numbers.
inline bool same(const histogram::summary& a, const histogram::summary& b) { return a == b; }
inline bool same(const small_tally::counters& a, const small_tally::counters& b) { return a == b; }
template <int Bins>
bool same(const counters_of<Bins>& a, const counters_of<Bins>& b) {
  return a == b;
}

}  // namespace fanin_test
