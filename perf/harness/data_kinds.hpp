// SPDX-License-Identifier: Apache-2.0
#pragma once

// What synthetic floating-point numbers look like. Each is computed from its position by integers and by operations
// that round the same everywhere, so that host, device and oracle have the same bits.

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "harness/elements.hpp"

namespace fanin_perf {

/// In the order of data_shape_names. z is normal, u uniform in 0 .. 1, b and k are uniform integers; those that have
/// a sign have either with the same chance, unless it is said.
enum class data_shape : std::uint8_t {
  uniform,     ///< in -0.25 .. 0.75, multiples of 2^-53 or 2^-24
  normal,      ///< z: twelve uniform numbers less 6, to 2^-48
  loguniform,  ///< (1 + u) 2^b, b in B binades around 1: loguniform:B, B in 1 .. 2000 (floats: no more than 250)
  lognormal,   ///< exp(S z) with straight lines between powers of two, above 0: lognormal:S, S in 0.1 .. 100
  scaled,      ///< (u - 1/2) 2^k, k in -16 .. 15
  outliers,    ///< uniform, and one in P of any bits: outliers:P, P in 1 .. 2^40
  sparse,      ///< 0, and one in P uniform: sparse:P
  anybits,     ///< every finite number with the same chance; those in 1 .. 2 with twice that
  sorted,      ///< (position + u) 2^-32, rising through all arrays of the pool
  cancelling,  ///< of each 1024 numbers half are the others' negatives; one pair in 64 leaves 2^-20 of itself
  denormals,   ///< every number below the least normal one with the same chance
};

inline constexpr std::array<std::string_view, 11> data_shape_names{"uniform", "normal",     "loguniform", "lognormal",
                                                                   "scaled",  "outliers",   "sparse",     "anybits",
                                                                   "sorted",  "cancelling", "denormals"};

struct data_part {
  data_shape shape = data_shape::uniform;
  std::int64_t number = 0;   ///< B, P; of lognormal S log2(e) 2^16
  double parameter = 0;      ///< B, S or P as it was given; 0 where there is none
  std::uint32_t weight = 1;  ///< in a mixture

  friend bool operator==(const data_part&, const data_part&) = default;
};

/// Numbers of one shape; or of several, each run of 2^run_bits neighbours of one of them, drawn by their weights.
struct data_kind {
  static constexpr int most_parts = 4;
  static constexpr std::uint32_t most_weight = 1000;
  static constexpr int most_run_bits = 24;

  data_part part[most_parts]{};
  int parts = 1;
  int run_bits = 0;

  friend bool operator==(const data_kind&, const data_kind&) = default;
};

/// Of loguniform, in floats.
inline constexpr std::int64_t most_binades_of_f32 = 250;

/// Of a shape with its B, S or P. Throws std::invalid_argument with a sentence where that is outside of its range.
data_part make_data_part(data_shape shape, double parameter = 0);
/// The least and the greatest B, S or P of a shape; nothing where it has none.
std::optional<std::pair<double, double>> parameters_of(data_shape shape);

/// "loguniform:64"; "mixture:5:3*uniform+1*anybits" has runs of 2^5 numbers. Throws std::invalid_argument with a
/// sentence.
data_kind parse_data_kind(std::string_view text);
std::string to_text(const data_kind& kind);

/// Whether an element of this type can be of another kind than uniform: numbers of 32 and 64 bits, and what consists of
/// them.
template <class T>
inline constexpr bool takes_data_kinds =
    std::is_same_v<component_type<T>, float> || std::is_same_v<component_type<T>, double>;
template <>
inline constexpr bool takes_data_kinds<float16> = false;
template <>
inline constexpr bool takes_data_kinds<bfloat16> = false;

namespace detail {

template <class T>
struct number_format;
template <>
struct number_format<double> {
  using word = std::uint64_t;
  static constexpr int fraction = 52;
  static constexpr int bias = 1023;
};
template <>
struct number_format<float> {
  using word = std::uint32_t;
  static constexpr int fraction = 23;
  static constexpr int bias = 127;
};

/// (1 + fraction / 2^64) 2^exponent, cut off, with the sign of the lowest bit; the exponent within the format's.
template <class T>
FANIN_PERF_FUNCTION constexpr T make_number(std::uint64_t sign, std::int64_t exponent, std::uint64_t fraction) {
  using format = number_format<T>;
  using word = typename format::word;
  const std::int64_t least = 1 - format::bias;
  const std::int64_t most = format::bias;
  const std::int64_t kept = exponent < least ? least : exponent > most ? most : exponent;
  return std::bit_cast<T>(static_cast<word>((static_cast<word>(sign & 1) << (sizeof(T) * 8 - 1)) |
                                            (static_cast<word>(kept + format::bias) << format::fraction) |
                                            static_cast<word>(fraction >> (64 - format::fraction))));
}

/// Of a word whose bits are random.
template <class T>
FANIN_PERF_FUNCTION constexpr T any_number(std::uint64_t random) {
  using format = number_format<T>;
  using word = typename format::word;
  constexpr word exponents = static_cast<word>(2 * format::bias + 1) << format::fraction;
  const auto bits = static_cast<word>(random >> (64 - 8 * sizeof(T)));
  // Infinities and NaN become numbers with another exponent, of as many as there are.
  return std::bit_cast<T>((bits & exponents) == exponents ? static_cast<word>(bits ^ (word{1} << (8 * sizeof(T) - 2)))
                                                          : bits);
}

}  // namespace detail

}  // namespace fanin_perf
