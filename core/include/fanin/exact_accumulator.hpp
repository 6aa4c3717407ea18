// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

#include <fanin/detail/exact_digits.hpp>
#include <fanin/detail/exact_parts.hpp>
#include <fanin/detail/rounded_digits.hpp>
#include <fanin/detail/unrolled.hpp>
#include <fanin/device/atomics.hpp>
#include <fanin/error.hpp>
#include <fanin/macros.hpp>

/// Sums of floating-point numbers without any rounding, as one large fixed-point number. Integers only: no flag of the
/// compiler and no mode of the floating-point unit changes what they give.
namespace fanin {

/// A sum that is exact: an integer of Limbs digits, each worth 2^32 times the one before, in units of 2^Lowest. Digits
/// are 64 bits wide and take additions without handing a carry on at once. Infinities and NaN are counted beside it.
///
/// Trivially copyable; zero as it is made; copies are independent. add, merge and value in any order and grouping give
/// the same value and the same bytes for the same elements. Up to 2^63 elements nothing overflows. Not for several
/// threads at once, except for the members ..._shared.
template <int Lowest, int Limbs>
class basic_exact_accumulator {
 public:
  static constexpr int lowest_exponent = Lowest;
  static constexpr int limb_count = Limbs;
  /// Four letters, the version, the lowest exponent (negated), the number of digits, flags; the digits in 4 bytes each,
  /// the last one in 8.
  static constexpr std::size_t serialised_size = 12 + 4 * (Limbs - 1) + 8;

  /// Adds an element exactly.
  template <detail::exact_element T>
  FANIN_FUNCTION void add(T x) {
    add_bits<detail::own_digits>(detail::double_bits(x));
    settle();
  }

  /// Adds the product of two elements exactly, before any rounding; infinities, NaN and their products with zero as
  /// IEEE has them. Where products fit: see exact_product_accumulator.
  template <detail::exact_element T>
    requires(Lowest <= -2148)
  FANIN_FUNCTION void add_product(T x, T y) {
    add_product_bits<detail::own_digits>(detail::double_bits(x), detail::double_bits(y));
    settle();
  }

  /// Adds value * 2^exponent exactly; the exponent is not below lowest_exponent, and there are digits for the product.
  FANIN_FUNCTION void add_value(std::int64_t value, int exponent) {
    add_value_of_few(value, exponent);
    settle();
  }
  /// The same of a few, up to 2^20, between other additions.
  FANIN_FUNCTION void add_value_of_few(std::int64_t value, int exponent) {
    add_digits_of<detail::own_digits>(value, exponent);
  }

  /// Adds what another one holds, which may be this one.
  FANIN_FUNCTION void merge(const basic_exact_accumulator& from) {
    FANIN_DETAIL_UNROLLED_LITTLE
    for (int i = 0; i < Limbs; ++i) limb_[i] += from.limb_[i];
    positive_infinities_ = positive_infinities_ != 0 || from.positive_infinities_ != 0 ? 1 : 0;
    negative_infinities_ = negative_infinities_ != 0 || from.negative_infinities_ != 0 ? 1 : 0;
    nans_ = nans_ != 0 || from.nans_ != 0 ? 1 : 0;
    carry();
  }

  /// Adds digits, each of which counts 2^32 times the one before, the first in units of 2^Lowest, and is smaller than
  /// 2^62; and whether there were infinities and NaN.
  FANIN_FUNCTION void add_digits(const std::int64_t (&digit)[Limbs], bool has_positive_infinity,
                                 bool has_negative_infinity, bool has_nan) {
    FANIN_DETAIL_UNROLLED_LITTLE
    for (int i = 0; i < Limbs; ++i) limb_[i] += digit[i];
    if (has_positive_infinity) positive_infinities_ = 1;
    if (has_negative_infinity) negative_infinities_ = 1;
    if (has_nan) nans_ = 1;
    carry();
  }

  /// The sum, rounded once to nearest, ties to even; beyond the largest number infinity; zero is +0, and
  /// what rounds to zero keeps its sign. NaN if any element
  /// was one, or infinities of both signs were added; else the infinity that was.
  FANIN_FUNCTION double value() const { return value_as<double>(); }
  template <detail::exact_element T>
  FANIN_FUNCTION T value_as() const {
    constexpr int precision = sizeof(T) == 8 ? 53 : 24;
    using word = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
    constexpr std::uint64_t infinity = detail::bits_of_infinity<precision>();
    switch (flags()) {
      case 0: break;
      case 1: return std::bit_cast<T>(static_cast<word>(infinity));
      case 2: return std::bit_cast<T>(static_cast<word>(detail::bits_of_minus<precision>() | infinity));
      default: return std::bit_cast<T>(static_cast<word>(infinity | 1ULL << (precision - 2)));
    }
    const signed_digits sum = leading();
    return detail::rounded_digits<T>(sum.digits, sum.is_negative, Lowest);
  }

  /// The digits, of which all but the last are from 0 to 2^32 - 1, and then 1 or 0 for an infinity, one of minus, a
  /// NaN: the same for the same elements in any order. What several hold may be added up word by word.
  static constexpr int word_count = Limbs + 3;
  std::array<std::int64_t, word_count> words() const {
    basic_exact_accumulator canonical = *this;
    canonical.carry();
    std::array<std::int64_t, word_count> all{};
    std::copy_n(canonical.limb_, Limbs, all.begin());
    for (unsigned flag = 0; flag < 3; ++flag) all[Limbs + flag] = canonical.flags() >> flag & 1;
    return all;
  }

  /// The sum as few 32-bit words, for ranks to hand each other: which digits follow, from the lowest that is not 0 to
  /// the last that the sign does not tell, then these; and whether there were infinities and NaN. Gives how many, of
  /// `words`, which have room for the most; what stands behind them is of no meaning. The same words for the same sum.
  static constexpr int most_packed_words = Limbs + 1;
  FANIN_FUNCTION int pack(std::uint32_t* words) const {
    int lowest = Limbs;
    int end_if_positive = 0;
    int end_if_negative = 0;
    std::int64_t carry = 0;
    const auto see = [&](int i, std::uint32_t digit) {
      words[1 + i] = digit;
      if (digit != 0 && lowest == Limbs) lowest = i;
      if (digit != 0) end_if_positive = i + 1;
      if (digit != 0xffff'ffff) end_if_negative = i + 1;
    };
    FANIN_DETAIL_UNROLLED_LITTLE
    for (int i = 0; i < Limbs - 1; ++i) {
      carry += limb_[i];
      see(i, static_cast<std::uint32_t>(carry & digit_mask));
      carry >>= digit_bits;
    }
    carry += limb_[Limbs - 1];
    see(Limbs - 1, static_cast<std::uint32_t>(carry & digit_mask));  // above these the top has its sign: largest_top
    const bool is_negative = carry < 0;
    const int end = is_negative ? end_if_negative : end_if_positive;
    const int count = end > lowest ? end - lowest : 0;
    FANIN_DETAIL_UNROLLED_LITTLE
    for (int k = 0; k < count; ++k) words[1 + k] = words[1 + lowest + k];
    words[0] = static_cast<std::uint32_t>(lowest) | static_cast<std::uint32_t>(count) << 8 | flags() << 16 |
               (is_negative ? 1U : 0U) << 19;
    return 1 + count;
  }
  /// Adds what pack() gave, of the same kind of accumulator: up to 2^31 - 1 sums to one that was empty. Other words are
  /// not told from these. Gives how many they were.
  FANIN_FUNCTION int add_packed(const std::uint32_t* words) {
    const auto lowest = static_cast<int>(words[0] & 0xff);
    const auto count = static_cast<int>(words[0] >> 8 & 0xff);
    FANIN_DETAIL_UNROLLED_LITTLE
    for (int k = 0; k < count; ++k) add_at(lowest + k, words[1 + k]);
    if ((words[0] >> 19 & 1) != 0) add_at(lowest + count, -1);
    if ((words[0] >> 16 & 1) != 0) positive_infinities_ = 1;
    if ((words[0] >> 17 & 1) != 0) negative_infinities_ = 1;
    if ((words[0] >> 18 & 1) != 0) nans_ = 1;
    return 1 + count;
  }

  /// The same bytes for the same elements in any order, on every machine.
  std::array<std::byte, serialised_size> serialise() const {
    basic_exact_accumulator canonical = *this;
    canonical.carry();
    std::array<std::byte, serialised_size> bytes{};
    std::size_t at = 0;
    const auto put = [&](std::uint64_t word, int size) {
      for (int k = 0; k < size; ++k) bytes[at++] = static_cast<std::byte>(word >> 8 * k & 0xff);
    };
    put(magic, 4);
    put(version, 2);
    put(static_cast<std::uint64_t>(-Lowest), 2);
    put(Limbs, 2);
    put(canonical.flags(), 2);
    for (int i = 0; i < Limbs - 1; ++i) put(static_cast<std::uint64_t>(canonical.limb_[i]), 4);
    put(static_cast<std::uint64_t>(canonical.limb_[Limbs - 1]), 8);
    return bytes;
  }

  /// What serialise gave. Throws invalid_argument for anything else.
  static basic_exact_accumulator deserialise(std::span<const std::byte> bytes) {
    if (bytes.size() != serialised_size) {
      refuse("there are " + std::to_string(bytes.size()) + " bytes, and this kind has " +
             std::to_string(serialised_size));
    }
    std::size_t at = 0;
    const auto get = [&](int size) {
      std::uint64_t word = 0;
      for (int k = 0; k < size; ++k) word |= static_cast<std::uint64_t>(bytes[at++]) << 8 * k;
      return word;
    };
    if (get(4) != magic) refuse("the first bytes are not those of an exact accumulator");
    if (const std::uint64_t found = get(2); found != version) {
      refuse("they are of version " + std::to_string(found) + ", and this Fanin reads version " +
             std::to_string(version));
    }
    if (get(2) != static_cast<std::uint64_t>(-Lowest) || get(2) != Limbs) {
      refuse("they are of another kind of accumulator (of sums or of products)");
    }
    const std::uint64_t flags = get(2);
    if (flags > 7) refuse("flags are set that nobody knows");
    basic_exact_accumulator read;
    read.positive_infinities_ = static_cast<std::int64_t>(flags & 1);
    read.negative_infinities_ = static_cast<std::int64_t>(flags >> 1 & 1);
    read.nans_ = static_cast<std::int64_t>(flags >> 2 & 1);
    for (int i = 0; i < Limbs - 1; ++i) read.limb_[i] = static_cast<std::int64_t>(get(4));
    read.limb_[Limbs - 1] = static_cast<std::int64_t>(get(8));
    if (read.limb_[Limbs - 1] > largest_top || read.limb_[Limbs - 1] < -largest_top) {
      refuse("the number is larger than 2^63 elements can sum up to");
    }
    return read;
  }

  // For reducers' threads that share an accumulator as the protocol of thread_state has it. Each counts the numbers
  // that it adds, and calls carry_shared() when it has added `most_between_carries`: 1024 threads may then share one.
  static constexpr int most_between_carries = 1 << 18;

  /// Adds magnitude * 2^exponent.
  FANIN_FUNCTION void add_shared(std::uint64_t magnitude, int exponent, bool is_negative) {
    deposit<detail::shared_digits>(magnitude, exponent, is_negative);
  }
  /// Adds the number, infinity or NaN that a double's bits are.
  FANIN_FUNCTION void add_shared(std::uint64_t bits) { add_bits<detail::shared_digits>(bits); }
  FANIN_FUNCTION void add_shared(double x) { add_bits<detail::shared_digits>(detail::double_bits(x)); }
  FANIN_FUNCTION void add_shared(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    if ((bits >> 23 & 0xff) == 0xff) {
      count_special<detail::shared_digits>(detail::widened_bits(bits));
    } else {
      const auto parts = detail::parts_of_float(bits);
      deposit<detail::shared_digits>(parts.magnitude, parts.exponent, parts.is_negative);
    }
  }
  /// Adds the product of two doubles. Counts as three.
  FANIN_FUNCTION void add_product_shared(std::uint64_t x, std::uint64_t y)
    requires(Lowest <= -2148)
  {
    add_product_bits<detail::shared_digits>(x, y);
  }
  /// Adds value * 2^exponent. Digits in which it has no bits are not touched.
  FANIN_FUNCTION void add_value_shared(std::int64_t value, int exponent) {
    add_digits_of<detail::shared_digits>(value, exponent);
  }
  /// Hands the carries on. A digit is taken out, so that no two threads hand on the same carry.
  FANIN_FUNCTION void carry_shared() {
    for (int i = 0; i < Limbs - 1; ++i) {
      const std::int64_t held = fanin::atomic_exchange(limb_[i], std::int64_t{0});
      if (held == 0) continue;
      fanin::atomic_fetch_add(limb_[i], held & digit_mask);
      fanin::atomic_fetch_add(limb_[i + 1], held >> digit_bits);
    }
  }
  /// Adds the accumulators of(0), ..., of(count - 1), which nobody changes meanwhile: this worker's share of it, of
  /// `workers` who do it at once. Up to 2^20 accumulators.
  template <class Of>
  FANIN_FUNCTION void merge_shared(const Of& of, unsigned count, unsigned worker, unsigned workers) {
    constexpr unsigned parts = Limbs + 3;
    const unsigned groups = workers > parts ? workers / parts : 1;
    for (unsigned share = worker; share < groups * parts; share += workers) {
      const unsigned i = share % parts;
      const unsigned group = share / parts;
      merge_word_shared(of, count, static_cast<int>(i), group, groups);
    }
  }

 private:
  static constexpr int digit_bits = detail::bits_of_digit;
  static constexpr std::int64_t digit_mask = 0xffff'ffff;
  static constexpr std::uint64_t magic = 0x41584e46;  // "FNXA"
  static constexpr std::uint64_t version = 1;
  /// 2^63 of the largest elements (of products where they fit) have a top digit below this.
  static constexpr std::int64_t largest_top =
      std::int64_t{1} << ((Lowest <= -2148 ? 2048 : 1024) + 63 - Lowest - digit_bits * (Limbs - 1));
  static_assert(largest_top <= std::int64_t{1} << (digit_bits - 1), "what pack() leaves out");

  /// Where a digit stands, or behind these how often there was an infinity or a NaN.
  FANIN_FUNCTION std::int64_t& word(int i) {
    return i < Limbs ? limb_[i] : i == Limbs ? positive_infinities_ : i == Limbs + 1 ? negative_infinities_ : nans_;
  }
  template <class Of>
  FANIN_FUNCTION void merge_word_shared(const Of& of, unsigned count, int i, unsigned first, unsigned step) {
    const auto offset = reinterpret_cast<const unsigned char*>(&word(i)) - reinterpret_cast<const unsigned char*>(this);
    const auto word_of = [&](unsigned k) {
      return *reinterpret_cast<const std::int64_t*>(reinterpret_cast<const unsigned char*>(&of(k)) + offset);
    };
    std::int64_t low = 0;
    std::int64_t high = 0;
    constexpr int at_once = 8;  // loads without a condition, which do not wait for each other
    for (unsigned k = first; k < count; k += at_once * step) {
      std::int64_t held[at_once];
      detail::unrolled<at_once>([&](int j) {
        const unsigned at = k + static_cast<unsigned>(j) * step;
        held[j] = word_of(at < count ? at : k);
      });
      detail::unrolled<at_once>([&](int j) {
        if (k + static_cast<unsigned>(j) * step >= count) return;
        low += i < Limbs - 1 ? held[j] & digit_mask : held[j];
        high += i < Limbs - 1 ? held[j] >> digit_bits : 0;
      });
    }
    if (low != 0) fanin::atomic_fetch_add(word(i), low);
    if (high != 0) fanin::atomic_fetch_add(limb_[i + 1], high);
  }

  /// The last digit is as wide as two.
  FANIN_FUNCTION void add_at(int digit, std::int64_t value) {
    if (digit < Limbs) {
      limb_[digit] += value;
    } else if (digit == Limbs) {
      limb_[Limbs - 1] += value << digit_bits;
    }
  }

  template <class Mode>
  FANIN_FUNCTION void add_digits_of(std::int64_t value, int exponent) {
    const auto at = static_cast<unsigned>(exponent - Lowest);
    const unsigned shift = at % digit_bits;
    const auto bits = static_cast<std::uint64_t>(value);
    const std::uint64_t magnitude = value < 0 ? 0 - bits : bits;
    const std::uint64_t digits[] = {magnitude << shift & digit_mask, magnitude >> (digit_bits - shift) & digit_mask,
                                    magnitude >> digit_bits >> (digit_bits - shift)};
    detail::unrolled<3>([&](int k) {
      if (digits[k] == 0) return;
      const auto digit = static_cast<std::int64_t>(digits[k]);
      Mode::add(limb_[at / digit_bits + static_cast<unsigned>(k)], value < 0 ? -digit : digit);
    });
  }

  /// Each digit changes by 2^32 at most. Of a magnitude of 32 bits two digits are enough.
  template <class Mode, class Word>
  FANIN_FUNCTION void deposit(Word magnitude, int exponent, bool is_negative) {
    const auto at = static_cast<unsigned>(exponent - Lowest);
    const unsigned shift = at % digit_bits;
    const auto low = static_cast<std::uint32_t>(magnitude);
    const auto high = static_cast<std::uint32_t>(static_cast<std::uint64_t>(magnitude) >> digit_bits);
    Mode::add_digits(limb_ + at / digit_bits, low << shift,
                     static_cast<std::uint32_t>((std::uint64_t{magnitude} << shift) >> digit_bits),
                     sizeof(Word) == 4 ? 0 : static_cast<std::uint32_t>((std::uint64_t{high} << shift) >> digit_bits),
                     is_negative);
  }

  template <class Mode>
  FANIN_FUNCTION void add_bits(std::uint64_t bits) {
    if ((bits >> 52 & 0x7ff) == 0x7ff) {
      count_special<Mode>(bits);
    } else {
      const auto x = detail::parts_of_double(bits);
      deposit<Mode>(x.magnitude, x.exponent, x.is_negative);
    }
  }

  template <class Mode>
  FANIN_FUNCTION void count_special(std::uint64_t bits) {
    const bool is_nan = (bits & 0xf'ffff'ffff'ffffULL) != 0;
    Mode::add(is_nan ? nans_ : (bits >> 63 != 0 ? negative_infinities_ : positive_infinities_), 1);
  }

  /// By schoolbook multiplication in halves of 32 bits: 106 bits that no exponent puts out of range.
  template <class Mode>
  FANIN_FUNCTION void add_product_bits(std::uint64_t x_bits, std::uint64_t y_bits) {
    constexpr std::uint64_t infinity = 0x7ffULL << 52;
    const std::uint64_t sign = (x_bits ^ y_bits) & 1ULL << 63;
    const std::uint64_t x_rest = x_bits & ~(1ULL << 63);
    const std::uint64_t y_rest = y_bits & ~(1ULL << 63);
    if (x_rest >= infinity || y_rest >= infinity) {
      const bool is_nan = x_rest > infinity || y_rest > infinity || x_rest == 0 || y_rest == 0;
      count_special<Mode>(sign | infinity | (is_nan ? 1U : 0U));
      return;
    }
    const auto x = detail::parts_of_double(x_rest);
    const auto y = detail::parts_of_double(y_rest);
    const std::uint64_t x_low = x.magnitude & digit_mask, x_high = x.magnitude >> digit_bits;
    const std::uint64_t y_low = y.magnitude & digit_mask, y_high = y.magnitude >> digit_bits;
    const int exponent = x.exponent + y.exponent;
    deposit<Mode>(x_low * y_low, exponent, sign != 0);
    deposit<Mode>(x_low * y_high + x_high * y_low, exponent + digit_bits, sign != 0);
    deposit<Mode>(x_high * y_high, exponent + 2 * digit_bits, sign != 0);
  }

  /// After an element of this object's own thread.
  FANIN_FUNCTION void settle() {
    constexpr std::int32_t often = 1 << 26;  // far from overflow, with what is added and not counted
    if (++pending_ >= often) carry();
  }

  /// Afterwards all digits but the top one are in 0 .. 2^32 - 1, which is the one way to write the number.
  FANIN_FUNCTION void carry() {
    std::int64_t carried = 0;
    FANIN_DETAIL_UNROLLED_LITTLE
    for (int i = 0; i < Limbs - 1; ++i) {
      carried += limb_[i];
      limb_[i] = carried & digit_mask;
      carried >>= digit_bits;
    }
    limb_[Limbs - 1] += carried;
    pending_ = 0;
  }

  FANIN_FUNCTION unsigned flags() const {
    return (positive_infinities_ != 0 ? 1U : 0U) | (negative_infinities_ != 0 ? 2U : 0U) | (nans_ != 0 ? 4U : 0U);
  }

  struct signed_digits {
    detail::leading_digits digits;
    bool is_negative = false;
  };

  /// As they would be after all carries. Only reads, and computes no further than there are digits: one thread of a
  /// GPU does this at the end of a sum, which looks at all of them at once, and a host from both ends.
  FANIN_FUNCTION signed_digits leading() const {
    int lowest = Limbs;
    int highest = -1;
    if constexpr (detail::runs_on_device) {
      detail::unrolled<Limbs>([&](int i) {
        const bool is_zero = limb_[i] == 0;
        lowest = !is_zero && lowest == Limbs ? i : lowest;
        highest = is_zero ? highest : i;
      });
    } else {
      for (highest = Limbs - 1; highest >= 0 && limb_[highest] == 0;) --highest;
      for (lowest = 0; lowest < highest && limb_[lowest] == 0;) ++lowest;
    }
    if (highest < 0) return {};

    // Gives what is left for the highest and all above: two digits.
    const auto for_digits = [&](bool is_negated, const auto& visit) {
      std::int64_t carry = 0;
      for (int i = lowest; i < highest; ++i) {
        carry += is_negated ? -limb_[i] : limb_[i];
        visit(i, static_cast<std::uint32_t>(carry & digit_mask));
        carry >>= digit_bits;
      }
      return carry + (is_negated ? -limb_[highest] : limb_[highest]);
    };
    const bool is_negative = for_digits(false, [](int, std::uint32_t) {}) < 0;
    detail::leading_digits_finder finder;
    const std::int64_t top = for_digits(is_negative, [&](int i, std::uint32_t digit) { finder.see(i, digit); });
    finder.see(highest, static_cast<std::uint32_t>(top & digit_mask));
    finder.see(highest + 1, static_cast<std::uint32_t>(top >> digit_bits));
    return {finder.found(), is_negative};
  }

  [[noreturn]] static void refuse(const std::string& why) {
    throw invalid_argument("fanin::exact_accumulator::deserialise: " + why +
                           "; give the bytes that serialise() of the same kind gave");
  }

  std::int64_t limb_[Limbs] = {};
  std::int64_t positive_infinities_ = 0;
  std::int64_t negative_infinities_ = 0;
  std::int64_t nans_ = 0;
  std::int64_t pending_ = 0;
};

/// Of sums: from the lowest denormal to 2^63 of the largest doubles, in 576 bytes.
using exact_accumulator = basic_exact_accumulator<-1074, 68>;
/// Of sums of products of two doubles, none of which is rounded, overflows or vanishes.
using exact_product_accumulator = basic_exact_accumulator<-2148, 134>;

static_assert(std::is_trivially_copyable_v<exact_accumulator>);
static_assert(sizeof(exact_accumulator) == 576);

}  // namespace fanin
