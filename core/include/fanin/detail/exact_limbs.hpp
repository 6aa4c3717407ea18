// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>

#include <fanin/detail/rounded_digits.hpp>
#include <fanin/detail/unrolled.hpp>
#include <fanin/macros.hpp>

namespace fanin::detail {

/// A part of an exact sum that is small enough to travel from block to block: a number in `Limbs` digits of 32 bits, of
/// which the last takes whatever is above. Those that stand a multiple of 32 bits apart can be brought to one scale and
/// added, as long as there is room above.
template <int Limbs>
struct exact_limbs {
  static constexpr int width = bits_of_digit;
  static constexpr int limbs = Limbs;

  std::int64_t limb[Limbs] = {};  ///< the first in units of 2^unit
  std::int32_t unit = 0;
  std::int32_t is_in_spill = 0;  ///< whether something is not here but in an accumulator

  /// The unit, if there is anything of it.
  FANIN_FUNCTION std::int32_t scale() const { return is_zero() ? std::numeric_limits<std::int32_t>::max() : unit; }

  /// All limbs but the last to 0 .. 2^32 - 1.
  FANIN_FUNCTION void carry() {
    unrolled<Limbs - 1>([&](int k) {
      limb[k + 1] += limb[k] >> width;
      limb[k] &= mask;
    });
  }

  /// To a unit that is lower by a multiple of 32 bits, or the same. False, and of the same value, where the last limb
  /// does not take what is above then. Afterwards no limb is larger than 2^53: 2^10 of them can be joined.
  FANIN_FUNCTION bool rescale(std::int32_t to) {
    while (unit != to && !is_zero()) {
      if (!has_room_above()) return false;
      move_up();
    }
    unit = to;
    if (is_large()) carry();
    return !is_large();
  }

  /// Of one scale.
  FANIN_FUNCTION void join(const exact_limbs& from) {
    unrolled<Limbs>([&](int k) { limb[k] += from.limb[k]; });
    is_in_spill |= from.is_in_spill;
  }

  /// Joins those of all lanes of a warp, rescaled: warp.sum(x) is the sum of all lanes' x, modulo 2^32. In two pieces,
  /// of which 32 fit a word.
  template <class Warp>
  FANIN_FUNCTION void join_lanes(const Warp& warp) {
    constexpr int piece = 27;
    unrolled<Limbs>([&](int k) {
      const auto low = static_cast<std::uint32_t>(limb[k]) & ((1U << piece) - 1);
      const auto high = static_cast<std::uint32_t>(limb[k] >> piece);
      limb[k] = std::int64_t{warp.sum(low)} +
                std::int64_t{static_cast<std::int32_t>(warp.sum(high))} * (std::int64_t{1} << piece);
    });
    is_in_spill = warp.sum(static_cast<std::uint32_t>(is_in_spill != 0)) != 0 ? 1 : 0;
  }

  /// Empties it into an accumulator that other threads may share.
  template <class Accumulator>
  FANIN_FUNCTION void deposit(Accumulator& into) {
    if (is_zero()) return;
    is_in_spill = 1;
    const exact_limbs folded = without_sign_above();
    unrolled<Limbs>([&](int k) {
      into.add_value_shared(folded.limb[k], unit + width * k);
      limb[k] = 0;
    });
  }

  /// Adds it to an accumulator of the thread's own.
  template <class Accumulator>
  FANIN_FUNCTION void add_to(Accumulator& own) const {
    if (is_zero()) return;  // of no unit
    const exact_limbs folded = without_sign_above();
    unrolled<Limbs>([&](int k) { own.add_value(folded.limb[k], unit + width * k); });
  }

  /// The number, rounded once.
  template <class T>
  FANIN_FUNCTION T rounded() const {
    exact_limbs number = *this;
    number.carry();
    const bool is_negative = number.limb[Limbs - 1] < 0;
    if (is_negative) {
      unrolled<Limbs>([&](int k) { number.limb[k] = -number.limb[k]; });
      number.carry();
    }
    leading_digits_finder finder;
    unrolled<Limbs>([&](int k) { finder.see(k, static_cast<std::uint32_t>(number.limb[k])); });
    finder.see(Limbs, static_cast<std::uint32_t>(number.limb[Limbs - 1] >> width));
    return rounded_digits<T>(finder.found(), is_negative, unit);
  }

 private:
  static constexpr std::int64_t mask = 0xffff'ffff;
  static constexpr int most_bits = 53;

  FANIN_FUNCTION bool is_zero() const {
    std::int64_t any = 0;
    unrolled<Limbs>([&](int k) { any |= limb[k]; });
    return any == 0;
  }
  /// The same number, with nothing in the limbs above its first bits: an accumulator may have no digits there.
  FANIN_FUNCTION exact_limbs without_sign_above() const {
    exact_limbs folded = *this;
    bool is_small = true;
    unrolled<Limbs - 1>([&](int i) {
      const int k = Limbs - 1 - i;
      constexpr std::int64_t bound = std::int64_t{1} << 20;
      is_small = is_small && folded.limb[k] < bound && folded.limb[k] >= -bound;
      if (!is_small) return;
      folded.limb[k - 1] += folded.limb[k] * (mask + 1);
      folded.limb[k] = 0;
    });
    return folded;
  }
  /// Whether a limb is not within -2^53 .. 2^53 - 1.
  FANIN_FUNCTION bool is_large() const {
    std::uint64_t bits = 0;
    unrolled<Limbs>([&](int k) { bits |= static_cast<std::uint64_t>(limb[k] ^ limb[k] >> 63); });
    return bits >> most_bits != 0;
  }
  /// Whether the last limb takes another 32 bits.
  FANIN_FUNCTION bool has_room_above() const {
    constexpr std::int64_t bound = std::int64_t{1} << (most_bits - width);
    return limb[Limbs - 1] < bound && limb[Limbs - 1] >= -bound;
  }
  FANIN_FUNCTION void move_up() {
    const std::int64_t above = limb[Limbs - 1] * (mask + 1);
    unrolled<Limbs - 1>([&](int i) { limb[Limbs - 1 - i] = limb[Limbs - 2 - i]; });
    limb[Limbs - 1] += above;
    limb[0] = 0;
    unit -= width;
  }
};

}  // namespace fanin::detail
