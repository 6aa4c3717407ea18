// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>

#include <fanin/detail/rounded_digits.hpp>
#include <fanin/detail/unrolled.hpp>
#include <fanin/macros.hpp>

namespace fanin::detail {

/// A part of an exact sum that is small enough to travel from block to block: an integer of `Limbs` words of 32 bits in
/// two's complement, the lowest first, in units of 2^unit. Those that stand a multiple of 32 bits apart can be brought
/// to one unit and added, as long as there is room above. `HoldsAll`: every sum of its kind fits, and all have the same
/// unit.
template <int Limbs, bool HoldsAll = false>
struct exact_limbs {
  static constexpr int width = bits_of_digit;
  static constexpr int limbs = Limbs;
  /// What takes part in a joining is within -2^room .. 2^room - 1 in its last limb: 2^10 of them can be joined.
  static constexpr int room = 20;
  /// Words that lanes are asked for at once, see join_lanes.
  static constexpr int words_of_lanes = (width * Limbs - width + 26) / 27 + 2;

  std::uint32_t limb[Limbs] = {};
  std::int16_t unit = 0;         ///< of what a block drained; lanes that hold nothing have none, and are never lane 0
  std::int16_t is_in_spill = 0;  ///< whether something is not here but in an accumulator

  FANIN_FUNCTION bool is_zero() const {
    std::uint32_t any = 0;
    detail::unrolled<Limbs>([&](int k) { any |= limb[k]; });
    return any == 0;
  }
  /// The unit, if there is anything of it.
  FANIN_FUNCTION std::int32_t scale() const {
    if constexpr (HoldsAll) return 0;
    return is_zero() ? std::numeric_limits<std::int32_t>::max() : unit;
  }

  /// To a unit that is lower by a multiple of 32 bits, or the same. False, and of the same value, where there is no
  /// room above for that, or none for others to be joined.
  FANIN_FUNCTION bool rescale([[maybe_unused]] std::int32_t to) {
    if constexpr (HoldsAll) return true;
    if (is_zero()) {
      unit = static_cast<std::int16_t>(to);
      return true;
    }
    while (unit != to) {
      if (!has_room_above()) return false;
      move_up();
    }
    return is_within(last(), room);
  }

  /// Of one unit.
  FANIN_FUNCTION void join(const exact_limbs& from) {
    std::uint64_t sum = 0;
    detail::unrolled<Limbs>([&](int k) {
      sum = (sum >> width) + limb[k] + from.limb[k];
      limb[k] = static_cast<std::uint32_t>(sum);
    });
    if (from.is_in_spill != 0) is_in_spill = 1;
  }

  /// Joins those of all lanes of a warp, of one unit: warp.sum(x) is the sum of all lanes' x, modulo 2^32. In pieces of
  /// 27 bits, of which 32 fit a word, but for the last, above which nothing is carried.
  template <class Warp>
  FANIN_FUNCTION void join_lanes(const Warp& warp) {
    constexpr int piece = 27;
    constexpr int pieces = words_of_lanes - 1;
    constexpr std::uint32_t mask = (1U << piece) - 1;
    exact_limbs joined;
    joined.unit = unit;
    std::uint32_t carried = 0;
    std::uint64_t filled = 0;  // the lowest `bits` are there
    int bits = 0;
    int next = 0;
    detail::unrolled<pieces>([&](int k) {
      const bool is_last = k == pieces - 1;
      const int first = piece * k;
      const int from = first / width;
      const std::uint64_t two = std::uint64_t{limb[from + 1 < Limbs ? from + 1 : from]} << width | limb[from];
      const std::uint64_t above = from + 1 < Limbs ? two : two & ((std::uint64_t{1} << width) - 1);
      const auto own = static_cast<std::uint32_t>(above >> first % width);
      const std::uint32_t sum = warp.sum(is_last ? own : own & mask) + carried;
      carried = sum >> piece;
      filled |= std::uint64_t{is_last ? sum : sum & mask} << bits;
      bits += piece;
      if (bits < width && !is_last) return;
      joined.limb[next++] = static_cast<std::uint32_t>(filled);
      filled >>= width;
      bits -= width;
      if (is_last && next < Limbs) joined.limb[next] = static_cast<std::uint32_t>(filled);
    });
    joined.is_in_spill = warp.sum(is_in_spill != 0 ? 1U : 0U) != 0 ? 1 : 0;
    *this = joined;
  }

  /// Empties it into an accumulator that other threads may share.
  template <class Accumulator>
  FANIN_FUNCTION void deposit(Accumulator& into) {
    if (is_zero()) return;
    is_in_spill = 1;
    for_values([&](std::int64_t value, int exponent) { into.add_value_shared(value, exponent); });
    detail::unrolled<Limbs>([&](int k) { limb[k] = 0; });
  }

  /// Adds it to an accumulator of the thread's own.
  template <class Accumulator>
  FANIN_FUNCTION void add_to(Accumulator& own) const {
    for_values([&](std::int64_t value, int exponent) { own.add_value_of_few(value, exponent); });
  }

  /// The number, rounded once.
  template <class T>
  FANIN_FUNCTION T rounded() const {
    const bool is_negative = last() < 0;
    const std::uint32_t sign = is_negative ? ~0U : 0;
    leading_digits_finder finder;
    std::uint64_t magnitude = std::uint64_t{is_negative} << width;  // the 1 behind ~
    detail::unrolled<Limbs>([&](int k) {
      magnitude = (magnitude >> width) + (limb[k] ^ sign);
      finder.see(k, static_cast<std::uint32_t>(magnitude));
    });
    return detail::rounded_digits<T>(finder.found(), is_negative, unit);
  }

 private:
  FANIN_FUNCTION std::int32_t last() const { return static_cast<std::int32_t>(limb[Limbs - 1]); }
  /// Within -2^bits .. 2^bits - 1.
  FANIN_FUNCTION static bool is_within(std::int32_t value, int bits) { return (value ^ value >> 31) >> bits == 0; }

  /// Whether the last limb is nothing but the sign of the one below, and that one has room to be the last.
  FANIN_FUNCTION bool has_room_above() const {
    const auto below = static_cast<std::int32_t>(limb[Limbs - 2]);
    return last() == below >> 31 && is_within(below, room);
  }
  FANIN_FUNCTION void move_up() {
    detail::unrolled<Limbs - 1>([&](int i) { limb[Limbs - 1 - i] = limb[Limbs - 2 - i]; });
    limb[0] = 0;
    unit = static_cast<std::int16_t>(unit - width);
  }

  /// add(value, exponent) for numbers that give this one, from above, with nothing in the limbs above its first bits:
  /// an accumulator may have no digits there.
  template <class Add>
  FANIN_FUNCTION void for_values(const Add& add) const {
    if (is_zero()) return;  // of no unit
    std::int64_t held = last();
    bool is_sign = true;
    detail::unrolled<Limbs - 1>([&](int i) {
      const int k = Limbs - 2 - i;
      is_sign = is_sign && held < std::int64_t{1} << room && held >= -(std::int64_t{1} << room);
      if (!is_sign) add(held, unit + width * (k + 1));
      held = (is_sign ? held * (std::int64_t{1} << width) : 0) + limb[k];
    });
    add(held, unit);
  }
};

}  // namespace fanin::detail
