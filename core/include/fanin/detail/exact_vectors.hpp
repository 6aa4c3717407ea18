// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include <fanin/detail/exact_bins.hpp>
#include <fanin/detail/variant.hpp>

/// Bins of exact sums in vectors of AVX2, on x86 hosts.
namespace fanin::detail {

inline namespace FANIN_DETAIL_VARIANT {

// nvcc reads no vectors of GNU C.
#if defined(__GNUC__) && defined(__x86_64__) && !defined(__CUDACC__)
#define FANIN_DETAIL_HAS_EXACT_VECTORS 1

/// While it lives, this thread rounds to nearest and keeps denormals: linking with -ffast-math turns on flush-to-zero.
class standard_arithmetic {
 public:
  standard_arithmetic() : before_{__builtin_ia32_stmxcsr()} { __builtin_ia32_ldmxcsr(0x1f80); }
  standard_arithmetic(const standard_arithmetic&) = delete;
  standard_arithmetic& operator=(const standard_arithmetic&) = delete;
  ~standard_arithmetic() { __builtin_ia32_ldmxcsr(before_); }

 private:
  unsigned before_;
};

/// exact_bins in vectors: every lane has bins of its own, all with one top. A block of elements is folded at once, and
/// is as if it had not been where an element was too large or left a rest.
template <class Accumulator, class T, int Bins>
class exact_vectors {
 public:
  static constexpr std::int64_t block = 256;
  static constexpr int bins = Bins;

  exact_vectors(Accumulator& into, int top) : into_{into} { move_to(top); }

  /// For elements below 2^top. To be flushed before.
  void move_to(int top) {
    top_ = top;
    limit_ = 2 * exact_bins::upper_half_of_power(top);
    for (int k = 0; k < Bins; ++k) std::fill_n(bin_[k], lanes, exact_bins::anchor(top, k));
  }

  /// How many blocks went in of `blocks`, which is at most room(): it stops before the first that does not fit.
  __attribute__((target("avx2"), noinline)) std::int64_t fold(const T* values, std::int64_t blocks) {
    vector bin[Bins][vectors];
    std::memcpy(&bin, &bin_, sizeof(bin));
    std::int64_t done = 0;
    for (; done < blocks; ++done) {
      const T* const from = values + done * block;
      if constexpr (leaves_no_rests) {
        if (!add_whole(bin[0], from)) {
          std::memcpy(&bin, &bin_, sizeof(bin));
          if (!add_split(bin, from)) break;
        }
      } else {
        if (!add_split(bin, from)) break;
      }
      std::memcpy(&bin_, &bin, sizeof(bin));
    }
    numbers_ += static_cast<int>(done) * of_block;
    return done;
  }

  int top() const { return top_; }
  /// The top for a block that begins as high as numbers of the biased exponent `field`; and whether one that was
  /// refused should be tried again with it. Without room for larger ones where low bits count.
  static int top_for(int field) { return exact_bins::top_for(field, Bins) - (leaves_no_rests ? exact_bins::room : 0); }
  bool stands_far_from(int top) const { return top > top_ || top < top_ - 4; }

  /// How many blocks fit before the next flush.
  std::int64_t room() const { return (exact_bins::capacity - numbers_) / of_block; }

  /// The bins, in integers of their unit, to the accumulator. How many numbers that were.
  int flush() {
    if (numbers_ == 0) return 0;
    for (int k = 0; k < Bins; ++k) {
      const double empty = exact_bins::anchor(top_, k);
      std::int64_t held = 0;
      for (double& lane : bin_[k]) {
        held += std::bit_cast<std::int64_t>(lane) - std::bit_cast<std::int64_t>(empty);
        lane = empty;
      }
      into_.add_shared(static_cast<std::uint64_t>(held < 0 ? -held : held), exact_bins::unit(top_, k), held < 0);
    }
    numbers_ = 0;
    return Bins;
  }

 private:
  static constexpr int vectors = sizeof(T) == 4 ? 4 : 2;  ///< of each bin: as many additions wait for each other's end
  static constexpr int lanes = 4 * vectors;
  static constexpr int of_block = static_cast<int>(block / lanes);  ///< numbers that a lane takes of one
  /// Whether most elements that fit the only bin's range have no bit below it.
  static constexpr bool leaves_no_rests = sizeof(T) == 4 && Bins == 1;

  typedef double vector __attribute__((vector_size(32)));
  typedef long long bits __attribute__((vector_size(32)));
  typedef unsigned halves __attribute__((vector_size(32)));

  typedef T loaded __attribute__((vector_size(4 * sizeof(T))));
  __attribute__((target("avx2"), always_inline)) static vector as_doubles(loaded x) {
#if !defined(__clang__)
    if constexpr (sizeof(T) == 4) return __builtin_ia32_cvtps2pd256(x);  // g++ 12 takes the other by way of memory
#endif
    return __builtin_convertvector(x, vector);
  }

  /// A block of elements through the bins. Whether it fitted; if not, the bins are lost.
  __attribute__((target("avx2"), always_inline)) bool add_split(vector (&bin)[Bins][vectors], const T* from) const {
    halves largest = {};
    bits rest = {};
    for (std::int64_t i = 0; i < block; i += lanes) {
      for (int v = 0; v < vectors; ++v) {
        loaded element;
        std::memcpy(&element, from + i + 4 * v, sizeof(element));
        vector x = as_doubles(element);
        const halves twice = reinterpret_cast<halves>(x) << 1;  // without the sign; the lower halves do not count
        largest = twice > largest ? twice : largest;
        vector taken = {};
        for (int k = 0; k < Bins; ++k) {
          if (k > 0) x -= taken;
          const vector sum = bin[k][v] + x;
          taken = sum - bin[k][v];
          bin[k][v] = sum;
        }
        rest |= reinterpret_cast<bits>(x) ^ reinterpret_cast<bits>(taken);
      }
    }
    rest <<= 1;  // -0 is taken as +0
    const halves bad = largest >= limit_;
    return (rest[0] | rest[1] | rest[2] | rest[3]) == 0 && (bad[1] | bad[3] | bad[5] | bad[7]) == 0;
  }

  /// The same of floats that are 0, or below the bin's top and 24 bits above its unit: those are added whole, and their
  /// bits tell.
  __attribute__((target("avx2"), always_inline)) bool add_whole(vector (&bin)[vectors], const T* from) const {
    constexpr unsigned no_sign = 0x7fffffff;
    halves largest = {};
    halves least_less_one = ~largest;  // of 0 nothing is smaller
    for (std::int64_t i = 0; i < block; i += lanes) {
      for (int k = 0; k < lanes; k += 8) {
        halves word;
        std::memcpy(&word, from + i + k, sizeof(word));
        word &= no_sign;
        largest = word > largest ? word : largest;
        word -= 1;
        least_less_one = word < least_less_one ? word : least_less_one;
      }
      for (int v = 0; v < vectors; ++v) {
        loaded element;
        std::memcpy(&element, from + i + 4 * v, sizeof(element));
        bin[v] += as_doubles(element);
      }
    }
    const unsigned least = std::max(bits_of_power(exact_bins::unit(top_, 0) + 23), 1U);
    const halves bad = (largest >= bits_of_power(top_)) | (least_less_one < least - 1);
    unsigned any = 0;
    for (int k = 0; k < 8; ++k) any |= bad[k];
    return any == 0;
  }
  /// Of a float; 0 below the normal ones, infinity's above the largest.
  static constexpr unsigned bits_of_power(int exponent) {
    return static_cast<unsigned>(std::clamp(exponent + 127, 0, 255)) << 23;
  }

  Accumulator& into_;
  alignas(32) double bin_[Bins][lanes] = {};
  std::uint32_t limit_ = 0;  ///< twice the upper half of 2^top
  int top_ = 0;
  int numbers_ = 0;  ///< of every lane since the last flush
};
#endif

}  // namespace FANIN_DETAIL_VARIANT

}  // namespace fanin::detail
