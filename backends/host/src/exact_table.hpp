// SPDX-License-Identifier: Apache-2.0
// Exact sums of numbers of any range: a part of level.hpp. Each sign and exponent has a sum of its own, of the numbers'
// fractions, and counts them (after Neal, 2015). There are `sums`, of units of 2^lowest, 2^(lowest + 1) and so on;
// denormal numbers have the units of the next exponent, and no leading bit. sum(k) is that of the `at_once` from k on,
// in units of the first. `worth` is how many numbers pay for making a table.

/// How many numbers a table takes before it is emptied.
inline constexpr std::int64_t table_room = 1 << 20;

/// The last of the sums that are taken at once from k on.
template <class Table>
int last_of(int k) {
  return (k + Table::at_once < Table::sums ? k + Table::at_once : Table::sums) - 1;
}

/// Of doubles: two words, of which the first sums the lower halves, the second the rest of the fraction in its first
/// 40 bits, and the numbers behind.
template <class T>
struct exact_table {
  static constexpr std::int64_t words = 2 * 4096;
  static constexpr std::int64_t worth = 4096;
  typedef std::uint64_t pair __attribute__((vector_size(16)));
  typedef std::uint32_t halves __attribute__((vector_size(8)));

  static void add(std::uint64_t* table, double x) {
    const auto bits = __builtin_bit_cast(std::uint64_t, x);
    const pair both = __builtin_convertvector(__builtin_bit_cast(halves, bits), pair);
    auto* const sum = reinterpret_cast<pair*>(reinterpret_cast<char*>(table) + (bits >> 48 & 0xfff0));
    *sum += (both & pair{0xffff'ffff, 0xf'ffff}) | pair{0, 1ULL << 40};
  }
  static std::uint64_t numbers(const std::uint64_t* table, int field) { return table[2 * field + 1] >> 40; }
  static void clear(std::uint64_t* table, int field) { table[2 * field] = table[2 * field + 1] = 0; }

  static __int128 sum(const std::uint64_t* table, int k) {
    const auto low = [&](int field) { return static_cast<std::int64_t>(table[2 * field]); };
    const auto high = [&](int field) { return static_cast<std::int64_t>(table[2 * field + 1] & ((1ULL << 40) - 1)); };
    const auto ones = [&](int field) { return static_cast<std::int64_t>(numbers(table, field) << 20); };
    std::int64_t lower = 0;
    std::int64_t higher = 0;
    for (int field = last_of<exact_table>(k) + 1; field > k; --field) {
      const int negative = field + fields;
      lower = 2 * lower + low(field) - low(negative);
      higher = 2 * higher + high(field) + ones(field) - high(negative) - ones(negative);
    }
    if (k == 0) {
      lower += low(0) - low(fields);
      higher += high(0) - high(fields);
    }
    return (static_cast<__int128>(higher) << 32) + lower;
  }
  static constexpr int fields = 2048;
  static constexpr int sums = fields - 2;
  static constexpr int at_once = 8;
  static constexpr bool takes_specials = true;
  static constexpr int lowest = -1074;
};

/// Of floats: four tables in turn, so that numbers alike need not wait for each other; in each word the sum of
/// fractions in 43 bits, and the numbers behind, which the four together do not fill.
template <>
struct exact_table<float> {
  static constexpr std::int64_t words = 4 * 512;
  static constexpr std::int64_t worth = 512;

  /// What floats add, and to which word, by the bits of each in a lane.
  struct parts {
    exact_bits number;
    exact_bits at;
  };
  static parts split(exact_bits x) { return {(x & 0x7f'ffff) | 1ULL << 43, x >> 23}; }

  static std::uint64_t word(const std::uint64_t* table, int field) {
    std::uint64_t all = 0;
    for (int k = 0; k < 4; ++k) all += table[512 * k + field];
    return all;
  }
  static std::uint64_t numbers(const std::uint64_t* table, int field) { return word(table, field) >> 43; }
  static void clear(std::uint64_t* table, int field) {
    for (int k = 0; k < 4; ++k) table[512 * k + field] = 0;
  }

  static __int128 sum(const std::uint64_t* table, int k) {
    const auto fractions = [](std::uint64_t of) { return static_cast<std::int64_t>(of & ((1ULL << 43) - 1)); };
    const auto ones = [](std::uint64_t of) { return static_cast<std::int64_t>(of >> 43 << 23); };
    std::int64_t all = 0;
    for (int field = last_of<exact_table>(k) + 1; field > k; --field) {
      const std::uint64_t positive = word(table, field);
      const std::uint64_t negative = word(table, field + fields);
      all = 2 * all + fractions(positive) + ones(positive) - fractions(negative) - ones(negative);
    }
    if (k == 0) all += fractions(word(table, 0)) - fractions(word(table, fields));
    return all;
  }
  static constexpr int fields = 256;
  static constexpr int sums = fields - 2;
  static constexpr int at_once = 8;
  static constexpr bool takes_specials = true;
  static constexpr int lowest = -149;
};

/// Of products of doubles, multiplied as integers: in two words their sum.
struct exact_product_table {
  static constexpr std::int64_t words = 2 * 4096;
  static constexpr std::int64_t worth = 2048;

  /// Two vectors' numbers as integers, of which x takes both signs; and which sum their products go to.
  struct factors {
    exact_bits x;
    exact_bits y;
    exact_bits at;
  };
  static factors split(exact_bits x, exact_bits y) {
    constexpr std::uint64_t leading = 1ULL << 52;
    const exact_bits field_x = x >> 52 & 0x7ff;
    const exact_bits field_y = y >> 52 & 0x7ff;
    const auto is_normal_x = reinterpret_cast<exact_bits>(field_x != 0);
    const auto is_normal_y = reinterpret_cast<exact_bits>(field_y != 0);
    const exact_bits sign = 0 - ((x ^ y) >> 63);
    const exact_bits magnitude_x = (x & (leading - 1)) | (is_normal_x & leading);
    const exact_bits magnitude_y = (y & (leading - 1)) | (is_normal_y & leading);
    return {(magnitude_x ^ sign) - sign, magnitude_y, field_x + is_normal_x + field_y + is_normal_y};
  }
  static void add(std::uint64_t* table, std::uint64_t at, std::int64_t x, std::int64_t y) {
    reinterpret_cast<__int128*>(table)[at] += static_cast<__int128>(x) * y;
  }
  static __int128 sum(const std::uint64_t* table, int k) { return reinterpret_cast<const __int128*>(table)[k]; }
  static constexpr int sums = 2 * 2046 - 1;
  static constexpr int at_once = 1;
  static constexpr bool takes_specials = false;
  static constexpr int lowest = -2148;
};
