// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

#include <fanin/detail/exact_window.hpp>

/// Exact sums of contiguous elements on x86 hosts that have AVX2, which is asked for when the program runs.
namespace fanin::detail {

// nvcc reads no vectors of GNU C.
#if defined(__GNUC__) && defined(__x86_64__) && !defined(__CUDACC__)
#define FANIN_DETAIL_HAS_EXACT_SPAN 1

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

  explicit exact_vectors(Accumulator& into) : into_{into} {}

  /// For elements below 2^top. To be flushed before.
  void move_to(int top) {
    top_ = top;
    limit_ = 2 * exact_bins::upper_half_of_power(top);
    for (int k = 0; k < Bins; ++k) std::fill_n(bin_[k], lanes, exact_bins::anchor(top, k));
  }

  /// How many blocks went in of `blocks`, which is at most room(): it stops before the first that does not fit.
  __attribute__((target("avx2"), noinline)) std::int64_t fold(const T* values, std::int64_t blocks) {
    typedef double vector __attribute__((vector_size(32)));
    typedef long long bits __attribute__((vector_size(32)));
    typedef unsigned halves __attribute__((vector_size(32)));
    typedef T loaded __attribute__((vector_size(4 * sizeof(T))));
    vector bin[Bins][vectors];
    std::memcpy(&bin, &bin_, sizeof(bin));
    std::int64_t done = 0;
    for (; done < blocks; ++done) {
      halves largest = {};
      bits rest = {};
      const T* const from = values + done * block;
      for (std::int64_t i = 0; i < block; i += lanes) {
        for (int v = 0; v < vectors; ++v) {
          loaded element;
          std::memcpy(&element, from + i + 4 * v, sizeof(element));
          vector x = __builtin_convertvector(element, vector);
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
      if ((rest[0] | rest[1] | rest[2] | rest[3]) != 0 || (bad[1] | bad[3] | bad[5] | bad[7]) != 0) break;
      std::memcpy(&bin_, &bin, sizeof(bin));
    }
    numbers_ += static_cast<int>(done) * of_block;
    return done;
  }

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
  static constexpr int vectors = 2;
  static constexpr int lanes = 4 * vectors;
  static constexpr int of_block = static_cast<int>(block / lanes);  ///< numbers that a lane takes of one

  Accumulator& into_;
  alignas(32) double bin_[Bins][lanes] = {};
  std::uint32_t limit_ = 0;  ///< twice the upper half of 2^top
  int top_ = 0;
  int numbers_ = 0;  ///< of every lane since the last flush
};

/// 53 bits and 24 exponents, or 24 bits and 13.
template <class Accumulator, class T>
using narrow_vectors = exact_vectors<Accumulator, T, sizeof(T) == 8 ? 2 : 1>;
/// 64 exponents, or 53.
template <class Accumulator, class T>
using wide_vectors = exact_vectors<Accumulator, T, sizeof(T) == 8 ? 3 : 2>;

/// Blocks of an array by the fastest way that takes them: vectors with few bins, vectors with more, or one element
/// after the other straight to the accumulator. One that does not take a block hands over to the next for a while.
template <class Accumulator, class T>
class exact_blocks {
 public:
  static constexpr std::int64_t size = narrow_vectors<Accumulator, T>::block;

  explicit exact_blocks(Accumulator& into) : narrow_(into), wide_(into), into_{into} {}

  template <int Bins>
  __attribute__((noinline)) void fold(exact_window<Accumulator, Bins>& window, const T* values, std::int64_t blocks) {
    const standard_arithmetic arithmetic;
    while (blocks > 0) {
      std::int64_t wanted = blocks;
      if (way_ > 0) wanted = std::min(wanted, left_);
      const std::int64_t done = way_ == 0   ? take(narrow_, values, wanted)
                                : way_ == 1 ? take(wide_, values, wanted)
                                            : take_singly(values, wanted);
      window.count_deposits(deposits_);
      deposits_ = 0;
      values += done * size;
      blocks -= done;
      left_ -= done;
      if (done < wanted) {
        ++way_;
        left_ = stay_;
        stay_ = std::min<std::int64_t>(2 * stay_, 64);
      } else if (way_ == 0) {
        stay_ = 1;
      } else if (left_ == 0) {
        --way_;
        left_ = stay_;
      }
    }
    deposits_ += narrow_.flush() + wide_.flush();
    window.count_deposits(deposits_);
  }

 private:
  /// As many as fit one filling of the bins. Less than `wanted` only where a block was refused.
  template <class Vectors>
  std::int64_t take(Vectors& vectors, const T* values, std::int64_t& wanted) {
    if (vectors.room() == 0) deposits_ += vectors.flush();
    wanted = std::min(wanted, vectors.room());
    std::int64_t done = vectors.fold(values, wanted);
    if (done < wanted) {
      // Perhaps only because the bins stand too low or too high for it.
      const T* const refused = values + done * size;
      deposits_ += vectors.flush();
      vectors.move_to(top_for_block(refused, Vectors::bins));
      if (vectors.fold(refused, 1) == 1) wanted = ++done;
    }
    return done;
  }

  std::int64_t take_singly(const T* values, std::int64_t& wanted) {
    wanted = std::min<std::int64_t>(wanted, 16);
    for (std::int64_t i = 0; i < wanted * size; ++i) into_.add_shared(double_bits(values[i]));
    deposits_ += static_cast<int>(wanted * size);
    return wanted;
  }

  static int top_for_block(const T* values, int bins) {
    int largest = 0;
    for (std::int64_t i = 0; i < size; ++i) {
      const int field = static_cast<int>(double_bits(values[i]) >> 52 & 0x7ff);
      if (field < exact_bins::highest + 1023) largest = std::max(largest, field);
    }
    return exact_bins::top_for(largest, bins);
  }

  narrow_vectors<Accumulator, T> narrow_;
  wide_vectors<Accumulator, T> wide_;
  Accumulator& into_;
  int way_ = 0;
  std::int64_t left_ = 0;  ///< how many blocks more this way goes
  std::int64_t stay_ = 1;
  int deposits_ = 0;
};

inline bool has_avx2() {
  static const bool has = __builtin_cpu_supports("avx2") != 0;
  return has;
}
#endif

/// Adds `count` elements to the window, on a host.
template <class Accumulator, class T, int Bins>
void fold_exact_span(exact_window<Accumulator, Bins>& window, const T* values, std::int64_t count) {
  std::int64_t done = 0;
#if defined(FANIN_DETAIL_HAS_EXACT_SPAN)
  using in_blocks = exact_blocks<Accumulator, T>;
  if (count >= in_blocks::size && has_avx2()) {
    in_blocks(window.accumulator()).fold(window, values, count / in_blocks::size);
    done = count / in_blocks::size * in_blocks::size;
  }
#endif
  for (; done < count; ++done) window.add(values[done]);
}

}  // namespace fanin::detail
