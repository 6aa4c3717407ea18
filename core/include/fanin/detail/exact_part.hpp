// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <new>
#include <type_traits>

#include <fanin/detail/exact_parts.hpp>
#include <fanin/detail/unrolled.hpp>
#include <fanin/macros.hpp>

/// How ranks that reach each other's memory join exact sums: as blocks of a grid do, in limbs, and by accumulators
/// where those do not hold all. A device's thread, which does it alone, is through limbs in a tenth of the time.
namespace fanin::detail {

/// A result of an exact sum: its partial, or, where that does not hold all, the accumulator, which lives until what
/// takes the result has ended.
template <class Accumulator, class Partial>
struct exact_part {
  Partial partial;
  const Accumulator* accumulator = nullptr;
};

/// Whether a result is what the accumulator holds, no number.
template <class Result, class Accumulator>
inline constexpr bool is_of_accumulator = std::is_same_v<Result, Accumulator>;
template <class Accumulator, class Partial>
inline constexpr bool is_of_accumulator<exact_part<Accumulator, Partial>, Accumulator> = true;

/// A number's words on their way: those of an accumulator, or of limbs behind a word that says so.
template <class Accumulator, class Limbs>
struct sent_number {
  static constexpr int most_words = Accumulator::most_packed_words;
  static_assert(Limbs::limbs < most_words);
  static constexpr std::uint32_t are_limbs = 1U << 31;

  FANIN_FUNCTION static int put(const Limbs& held, const Accumulator* rest, std::uint32_t* words) {
    if (rest != nullptr) return rest->pack(words);
    words[0] = are_limbs | static_cast<std::uint16_t>(held.unit);
    detail::unrolled<Limbs::limbs>([&](int k) { words[1 + k] = held.limb[k]; });
    return 1 + Limbs::limbs;
  }

  /// The sum of what ranks sent.
  class joined_type {
   public:
    FANIN_FUNCTION joined_type() {}  // leaves what is not used as it is

    /// Up to 2^20 ranks', of which peers are far. Gives how many words they were.
    FANIN_FUNCTION int add(const std::uint32_t* words) {
      if ((words[0] & are_limbs) == 0) return as_accumulator().add_packed(words);
      Limbs more;
      more.unit = static_cast<std::int16_t>(words[0] & 0xffff);
      detail::unrolled<Limbs::limbs>([&](int k) { more.limb[k] = words[1 + k]; });
      if (!is_in_limbs_ || !joins(more)) more.add_to(as_accumulator());
      return 1 + Limbs::limbs;
    }
    /// Rounded once.
    template <exact_element T>
    FANIN_FUNCTION T value_as() {
      return is_in_limbs_ ? limbs_.template rounded<T>() : accumulator().template value_as<T>();
    }
    FANIN_FUNCTION Accumulator& as_accumulator() {
      if (is_in_limbs_) {
        ::new (static_cast<void*>(memory_)) Accumulator{};
        limbs_.add_to(accumulator());
        is_in_limbs_ = false;
      }
      return accumulator();
    }

   private:
    FANIN_FUNCTION bool joins(Limbs& more) {
      if (limbs_.is_zero()) limbs_.unit = more.unit;
      const std::int32_t least = limbs_.scale() < more.scale() ? limbs_.scale() : more.scale();
      if (!limbs_.rescale(least) || !more.rescale(least)) return false;
      limbs_.join(more);
      return true;
    }
    FANIN_FUNCTION Accumulator& accumulator() { return *reinterpret_cast<Accumulator*>(memory_); }

    Limbs limbs_;
    bool is_in_limbs_ = true;
    alignas(Accumulator) unsigned char memory_[sizeof(Accumulator)];
  };
};

}  // namespace fanin::detail
