// SPDX-License-Identifier: Apache-2.0
// Exact sums of numbers of any range: a part of level.hpp. Each sign and exponent has a sum of its own, of the numbers'
// fractions, and counts them (after Neal, 2015).

/// How many numbers a table takes before it is emptied.
inline constexpr std::int64_t table_room = 1 << 20;

/// Of doubles: two words, of which the first sums the lower halves, the second the rest of the fraction in its first
/// 40 bits, and the numbers behind.
template <class T>
struct exact_table {
  static constexpr std::int64_t words = 2 * 4096;
  typedef std::uint64_t pair __attribute__((vector_size(16)));
  typedef std::uint32_t halves __attribute__((vector_size(8)));

  static void add(std::uint64_t* table, double x) {
    const auto bits = __builtin_bit_cast(std::uint64_t, x);
    const pair both = __builtin_convertvector(__builtin_bit_cast(halves, bits), pair);
    auto* const sum = reinterpret_cast<pair*>(reinterpret_cast<char*>(table) + (bits >> 48 & 0xfff0));
    *sum += (both & pair{0xffff'ffff, 0xf'ffff}) | pair{0, 1ULL << 40};
  }
  static unsigned __int128 fractions(const std::uint64_t* table, int at) {
    return (static_cast<unsigned __int128>(table[2 * at + 1] & ((1ULL << 40) - 1)) << 32) + table[2 * at];
  }
  static std::uint64_t numbers(const std::uint64_t* table, int at) { return table[2 * at + 1] >> 40; }
  static void clear(std::uint64_t* table, int at) { table[2 * at] = table[2 * at + 1] = 0; }
  static constexpr int fields = 2048;
  static constexpr int fraction_bits = 52;
  static constexpr int lowest = -1074;
};

/// Of floats: four tables in turn, so that numbers alike need not wait for each other; in each word the sum of
/// fractions in 43 bits, and the numbers behind.
template <>
struct exact_table<float> {
  static constexpr std::int64_t words = 4 * 512;

  static void add(std::uint64_t* table, float x) {
    const auto bits = __builtin_bit_cast(std::uint32_t, x);
    table[bits >> 23] += (bits & 0x7f'ffff) | 1ULL << 43;
  }
  static std::uint64_t sum(const std::uint64_t* table, int at, int shift, std::uint64_t mask) {
    std::uint64_t all = 0;
    for (int k = 0; k < 4; ++k) all += table[512 * k + at] >> shift & mask;
    return all;
  }
  static unsigned __int128 fractions(const std::uint64_t* table, int at) { return sum(table, at, 0, (1ULL << 43) - 1); }
  static std::uint64_t numbers(const std::uint64_t* table, int at) { return sum(table, at, 43, ~0ULL); }
  static void clear(std::uint64_t* table, int at) {
    for (int k = 0; k < 4; ++k) table[512 * k + at] = 0;
  }
  static constexpr int fields = 256;
  static constexpr int fraction_bits = 23;
  static constexpr int lowest = -149;
};
