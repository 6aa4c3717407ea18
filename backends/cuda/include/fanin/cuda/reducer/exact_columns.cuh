// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <fanin/batch.hpp>
#include <fanin/cuda/partial/kinds.hpp>
#include <fanin/cuda/recipe.hpp>
#include <fanin/detail/composite.hpp>
#include <fanin/detail/exact_gathering.hpp>
#include <fanin/detail/exact_limbs.hpp>
#include <fanin/detail/exact_numbers.hpp>
#include <fanin/detail/unrolled.hpp>
#include <fanin/device/arithmetic.hpp>
#include <fanin/device/block.cuh>
#include <fanin/device/warp.cuh>
#include <fanin/exact_accumulator.hpp>
#include <fanin/exact_sum.hpp>

/// Exact sums in block memory: each number is added, by its exponent, to the rows of a table that has a column for each
/// thread or each lane, so that lanes meet in no bank and no number is slower than another. See docs/adr/0011.
namespace fanin::detail {

/// A table whose row k counts in units of 2^(lowest + 16 k).
inline constexpr int bits_of_row = 16;

/// The sum of all lanes' values, which is within -2^58 .. 2^58; all lanes get it. In three pieces, 32 of which fit a
/// word.
__device__ inline std::int64_t wide_sum_in_warp(std::int64_t value) {
  constexpr int piece = 26;
  constexpr std::uint32_t mask = (1U << piece) - 1;
  const auto low = static_cast<std::uint32_t>(value) & mask;
  const auto mid = static_cast<std::uint32_t>(value >> piece) & mask;
  const auto high = static_cast<std::uint32_t>(value >> 2 * piece);
  return std::int64_t{sum_in_warp(low)} + std::int64_t{sum_in_warp(mid)} * (std::int64_t{1} << piece) +
         std::int64_t{static_cast<std::int32_t>(sum_in_warp(high))} * (std::int64_t{1} << 2 * piece);
}

/// The sums of a table's rows, each of which stands in the row's first 8 bytes, as a number of 32-bit digits.
template <int Rows, int Lowest>
class table_sums {
 public:
  /// Digits that a sum of rows can have.
  static constexpr int digits = Rows / 2 + 2;

  __device__ explicit table_sums(unsigned bytes_of_row) : bytes_of_row_{bytes_of_row} {}

  __device__ std::int64_t& row(int k) const { return word(static_cast<unsigned>(k) * bytes_of_row_); }

  /// By one warp, of which lane 0 gets it; what does not fit goes to the spill.
  template <int Limbs>
  __device__ exact_limbs<Limbs> sum(exact_accumulator& spill) const {
    unsigned lowest = digits;
    unsigned end = 0;
#pragma unroll 1
    for (unsigned j = threadIdx.x; j < digits; j += warp_size) {
      const std::int64_t found = digit(static_cast<int>(j));
      of_digit(static_cast<int>(j)) = found;
      if (found == 0) continue;
      lowest = lowest < j ? lowest : j;
      end = j + 1;
    }
    __syncwarp();
    lowest = least_in_warp(lowest);
    end = most_in_warp(end);
    exact_limbs<Limbs> sum;
    if (end == 0 || take(sum, static_cast<int>(lowest), static_cast<int>(end))) return sum;
#pragma unroll 1
    for (unsigned j = lowest + threadIdx.x; j < end; j += warp_size) {
      spill.add_value_shared(of_digit(static_cast<int>(j)), Lowest + bits_of_digit * static_cast<int>(j));
    }
    sum = {};
    sum.is_in_spill = 1;
    return sum;
  }
  /// A word that is nobody else's.
  __device__ std::int64_t& beside() const { return word(2 * static_cast<unsigned>(sizeof(std::int64_t))); }

 private:
  __device__ static std::int64_t& word(unsigned at) {
    return *reinterpret_cast<std::int64_t*>(memory_of_launch() + at);
  }
  /// In what the warp leaves of a row.
  __device__ std::int64_t& of_digit(int j) const {
    return word(static_cast<unsigned>(j) * bytes_of_row_ + static_cast<unsigned>(sizeof(std::int64_t)));
  }

  /// What rows leave in one digit: 32 bits of each, of which the uppermost have a sign.
  __device__ std::int64_t digit(int j) const {
    const auto sum_of = [&](int k) { return k >= 0 && k < Rows ? row(k) : 0; };
    constexpr std::int64_t half = 0xffff;
    constexpr std::int64_t whole = 0xffff'ffff;
    return (sum_of(2 * j) & whole) + (sum_of(2 * j - 2) >> 32) + ((sum_of(2 * j + 1) & half) << 16) +
           (sum_of(2 * j - 1) >> 16 & whole) + (sum_of(2 * j - 3) >> 48);
  }

  /// The digits lowest, ..., end - 1; false where the last limb does not take those above it.
  template <int Limbs>
  __device__ bool take(exact_limbs<Limbs>& sum, int lowest, int end) const {
    constexpr std::int64_t mask = 0xffff'ffff;
    constexpr std::int64_t most_above = 1 << 19;
    constexpr int above = 3;  // where there is but the sign of a sum
    const auto found = [&](int k) { return lowest + k < end ? of_digit(lowest + k) : 0; };
    std::int64_t last = 0;
    bool fits = end - lowest <= Limbs + above;
    unrolled<above + 1>([&](int k) {
      fits = fits && last < most_above && last >= -most_above;
      last =
          static_cast<std::int64_t>(static_cast<std::uint64_t>(last) << bits_of_digit) + found(Limbs - 1 + above - k);
    });
    std::int64_t carried = 0;
    unrolled<Limbs - 1>([&](int k) {
      carried += found(k);
      sum.limb[k] = carried & mask;
      carried >>= bits_of_digit;
    });
    sum.limb[Limbs - 1] = last + carried;
    sum.unit = Lowest + bits_of_digit * lowest;
    return fits;
  }

  unsigned bytes_of_row_;
};

/// What both tables' states do. `Table` has rows, lowest, limbs, bytes_of_row() and sum_rows(sums), which all threads
/// call.
template <class Table>
class exact_columns {
 public:
  __device__ explicit exact_columns(exact_accumulator& spill) : spill_{&spill} {}

  /// All that the block's threads added; thread 0 gets it, and what it does not take is in the spill. Called once, by
  /// all threads. Begins and ends with a barrier.
  __device__ auto drain() {
    const Table& table = static_cast<const Table&>(*this);
    const table_sums<Table::rows, Table::lowest> sums(Table::bytes_of_row());
    __syncthreads();
    table.sum_rows(sums);
    const unsigned last_warp = (blockDim.x - 1) / warp_size * warp_size;
    const bool is_spilled = threadIdx.x >= last_warp && is_anything_in_spill();
    __syncthreads();
    exact_limbs<Table::limbs> sum;
    if (threadIdx.x == last_warp) sums.beside() = is_spilled ? 1 : 0;
    if (threadIdx.x < warp_size) sum = sums.template sum<Table::limbs>(*spill_);
    __syncthreads();
    if (threadIdx.x != 0) return exact_limbs<Table::limbs>{};
    if (sums.beside() != 0) sum.is_in_spill = 1;
    return sum;
  }

  template <int Limbs>
  __device__ static void deposit(exact_limbs<Limbs>& held, exact_accumulator& into) {
    held.deposit(into);
  }

 protected:
  /// Infinities and NaN to the spill, of which it is enough to know that there were some.
  template <int Count, class Word>
  __device__ void count_special(const Word (&bits)[Count], Word infinity, Word sign) const {
    bool is_any_nan = false;
    bool is_any_positive = false;
    bool is_any_negative = false;
    unrolled<Count>([&](int i) {
      is_any_nan |= (bits[i] & ~sign) > infinity;
      is_any_positive |= bits[i] == infinity;
      is_any_negative |= bits[i] == (infinity | sign);
    });
    constexpr std::uint64_t of_double = std::uint64_t{0x7ff} << 52;
    if (is_any_nan) spill_->add_shared(of_double | 1);
    if (is_any_positive) spill_->add_shared(of_double);
    if (is_any_negative) spill_->add_shared(of_double | std::uint64_t{1} << 63);
  }

  exact_accumulator* spill_;

 private:
  /// By one warp.
  __device__ bool is_anything_in_spill() const {
    std::uint32_t any = 0;
    for (unsigned k = threadIdx.x % warp_size; k < sizeof(exact_accumulator) / sizeof(std::uint32_t); k += warp_size) {
      any |= reinterpret_cast<const std::uint32_t*>(spill_)[k];
    }
    return most_in_warp(any) != 0;
  }
};

/// Of floats: a row takes 16 exponents, a column is a thread's own, and a place is a double, to which 4095 numbers are
/// added without rounding: each is below 2^39 of its units, and 2^12 of these below 2^51.
class float_columns : public exact_columns<float_columns> {
 public:
  static constexpr int rows = 16;
  static constexpr int lowest = -150;
  static constexpr int limbs = 4;
  static constexpr std::size_t bytes(int threads) {
    return rows * sizeof(double) * std::bit_ceil(static_cast<unsigned>(threads));
  }

  __device__ explicit float_columns(exact_accumulator& spill) : exact_columns{spill} {
    unrolled<rows>([&](int k) { place(static_cast<unsigned>(k) * bytes_of_row()) = 0; });
  }

  template <int Count>
  __device__ void add(float (&x)[Count]) {
    constexpr std::uint32_t infinity = 0x7f80'0000;
    constexpr std::uint32_t sign = 0x8000'0000;
    std::uint32_t bits[Count];
    std::uint32_t largest = 0;
    unrolled<Count>([&](int i) {
      bits[i] = std::bit_cast<std::uint32_t>(x[i]);
      largest = largest > (bits[i] & ~sign) ? largest : bits[i] & ~sign;
    });
    if (largest >= infinity) {
      count_special(bits, infinity, sign);
      unrolled<Count>([&](int i) { bits[i] = (bits[i] & ~sign) >= infinity ? 0 : bits[i]; });
    }
    numbers_ += Count;
    if (numbers_ > capacity) settle(Count);
    const unsigned shift = log_of_row_bytes();
    unrolled<Count>([&](int i) {
      double& held = place(bits[i] >> (27 - shift) & (rows - 1) << shift);  // the upper four bits of the exponent
      held = rounded_sum(held, converted(std::bit_cast<float>(bits[i])));
    });
  }

  __device__ static unsigned bytes_of_row() { return 1U << log_of_row_bytes(); }
  /// A warp each.
  template <class Sums>
  __device__ void sum_rows(const Sums& sums) const {
    for (unsigned k = threadIdx.x / warp_size; k < rows; k += blockDim.x / warp_size) {
      std::int64_t sum = 0;
      for (unsigned column = threadIdx.x % warp_size; column < blockDim.x; column += warp_size) {
        sum += units(static_cast<int>(k), *reinterpret_cast<const double*>(memory_of_launch() + k * bytes_of_row() +
                                                                           column * sizeof(double)));
      }
      sum = wide_sum_in_warp(sum);
      if (threadIdx.x % warp_size == 0) sums.row(static_cast<int>(k)) = sum;
    }
  }

 private:
  static constexpr int capacity = 4095;

  /// A power of two, so that a place is found without a multiplication.
  __device__ static unsigned log_of_row_bytes() {
    return 3 + 32 - static_cast<unsigned>(leading_zeros(blockDim.x - 1));
  }
  __device__ static double& place(unsigned row) {
    return *reinterpret_cast<double*>(memory_of_launch() + row + threadIdx.x * sizeof(double));
  }
  /// How many units of its row a place holds.
  __device__ static std::int64_t units(int k, double held) {
    const auto anchor = static_cast<std::uint64_t>(lowest + bits_of_row * k + 52 + 1023) << 52 | 1ULL << 51;
    return static_cast<std::int64_t>(std::bit_cast<std::uint64_t>(rounded_sum(held, std::bit_cast<double>(anchor))) -
                                     anchor);
  }
  /// What the thread's column holds goes to the spill, before so many numbers more are added.
  __device__ void settle(int numbers) {
#pragma unroll 1
    for (int k = 0; k < rows; ++k) {
      double& held = place(static_cast<unsigned>(k) * bytes_of_row());
      spill_->add_value_shared(units(k, held), lowest + bits_of_row * k);
      held = 0;
    }
    numbers_ = numbers;
    deposits_ += rows;
    if (deposits_ < exact_accumulator::most_between_carries) return;
    spill_->carry_shared();
    deposits_ = 0;
  }

  std::int32_t numbers_ = 0;
  std::int32_t deposits_ = 0;
};

/// Of doubles: a number is five pieces of 16 bits in as many rows, of which the last has the sign. A column is that of
/// all lanes of one number in the block's warps, and a place is a word to which they add by atomics. A warp hands the
/// carries of its columns on before it has added more than 1000 numbers to each: of 32 warps no word goes beyond
/// 2^25 + 32 * 1000 * 65535, which is below 2^31.
class double_columns : public exact_columns<double_columns> {
 public:
  static constexpr int rows = 134;  ///< 2046 exponents in 128, four more that the largest reach, and two for carries
  static constexpr int lowest = -1074;
  static constexpr int limbs = 5;
  static constexpr std::size_t bytes(int) { return rows * row_bytes; }

  __device__ explicit double_columns(exact_accumulator& spill) : exact_columns{spill} {
    static_assert(bytes(0) % sizeof(uint4) == 0);
    for (unsigned at = threadIdx.x; at < bytes(0) / sizeof(uint4); at += blockDim.x) {
      reinterpret_cast<uint4*>(memory_of_launch())[at] = uint4{0, 0, 0, 0};
    }
    __syncthreads();
  }

  template <int Count>
  __device__ void add(double (&x)[Count]) {
    constexpr std::uint64_t infinity = 0x7ffULL << 52;
    constexpr std::uint64_t sign = 1ULL << 63;
    constexpr auto upper = [](std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32); };
    std::uint64_t bits[Count];
    std::uint32_t largest = 0;
    unrolled<Count>([&](int i) {
      bits[i] = std::bit_cast<std::uint64_t>(x[i]);
      const std::uint32_t rest = upper(bits[i] & ~sign);
      largest = largest > rest ? largest : rest;
    });
    if (largest >= upper(infinity)) {
      count_special(bits, infinity, sign);
      unrolled<Count>([&](int i) { bits[i] = upper(bits[i] & ~sign) >= upper(infinity) ? 0 : bits[i]; });
    }
    numbers_ += Count;
    if (numbers_ > numbers_between_carries) hand_carries_on(Count);
    unrolled<Count>([&](int i) { add_pieces(bits[i]); });
  }

  __device__ static unsigned bytes_of_row() { return row_bytes; }
  /// A thread each: lanes begin in columns of their own, so that they meet in no bank.
  template <class Sums>
  __device__ void sum_rows(const Sums& sums) const {
    for (unsigned k = threadIdx.x; k < rows; k += blockDim.x) {
      const auto* const row = reinterpret_cast<const std::int32_t*>(memory_of_launch() + k * row_bytes);
      std::int64_t sum = 0;
#pragma unroll 4
      for (unsigned column = 0; column < warp_size; ++column) sum += row[(threadIdx.x + column) % warp_size];
      sums.row(static_cast<int>(k)) = sum;
    }
  }

 private:
  static constexpr unsigned row_bytes = warp_size * sizeof(unsigned);
  static constexpr int numbers_between_carries = 1000;
  static constexpr int large = 1 << 25;

  /// In the column of the thread's lane.
  __device__ static unsigned& place(unsigned row) {
    return *reinterpret_cast<unsigned*>(memory_of_launch() + row + threadIdx.x % warp_size * sizeof(unsigned));
  }
  __device__ static void add_pieces(std::uint64_t bits) {
    const auto field = static_cast<unsigned>(bits >> 52 & 0x7ff);
    const unsigned is_normal = field != 0 ? 1 : 0;
    const std::uint64_t magnitude = (bits & 0xf'ffff'ffff'ffffULL) | std::uint64_t{is_normal} << 52;
    const std::uint64_t sign = 0 - (bits >> 63);
    const std::uint64_t number = (magnitude ^ sign) - sign;
    const unsigned exponent = field - is_normal;
    const unsigned shift = exponent % bits_of_row;
    const std::uint64_t low = number << shift;
    const std::int32_t high = static_cast<std::int32_t>(static_cast<std::int64_t>(number) >> 48) >> (16 - shift);
    unsigned* const at = &place(exponent / bits_of_row * row_bytes);
    atomicAdd(at, static_cast<unsigned>(low) & 0xffff);
    atomicAdd(at + warp_size, static_cast<unsigned>(low) >> 16);
    atomicAdd(at + 2 * warp_size, static_cast<unsigned>(low >> 32) & 0xffff);
    atomicAdd(at + 3 * warp_size, static_cast<unsigned>(low >> 48));
    atomicAdd(at + 4 * warp_size, static_cast<unsigned>(high));
  }
  /// A word is taken out before a part of it goes on, so that no two threads hand on the same carry. Before so many
  /// numbers more are added.
  __device__ void hand_carries_on(int numbers) {
#pragma unroll 1
    for (int k = 0; k < rows - 1; ++k) {
      unsigned* const at = &place(static_cast<unsigned>(k) * row_bytes);
      if (static_cast<std::int32_t>(atomicAdd(at, 0U)) < large)
        continue;  // below 0 in the uppermost row alone, and small
      const unsigned taken = atomicExch(at, 0U);
      atomicAdd(at, taken & 0xffff);
      atomicAdd(at + warp_size, taken >> 16);
    }
    numbers_ = numbers;
  }

  std::int32_t numbers_ = 0;
};

template <exact_element T>
using columns_of = std::conditional_t<std::same_as<T, float>, float_columns, double_columns>;

template <exact_element T>
struct exact_gathering_in_columns
    : exact_gathering_by<exact_accumulator, columns_of<T>, exact_limbs<columns_of<T>::limbs>> {
  static constexpr bool drains_block = true;
  template <class R>
  FANIN_FUNCTION static auto result(const R& r, const exact_limbs<columns_of<T>::limbs>& held) {
    if constexpr (std::same_as<typename R::result_type, exact_accumulator>) {
      exact_accumulator own;
      held.add_to(own);
      return r.result(own);
    } else {
      return held.template rounded<typename R::result_type>();
    }
  }
  static constexpr std::size_t bytes_of_columns(int threads) { return columns_of<T>::bytes(threads); }
};

/// exact_sum<T, Result> of values that no functor adds to a thread_state itself.
template <class T, class Result>
struct exact_sum_in_columns : exact_sum<T, Result> {
  using gathering = exact_gathering_in_columns<T>;
  using thread_state = columns_of<T>;

  FANIN_FUNCTION void fold(thread_state& state, const T& value, std::int64_t) const {
    T x[] = {value};
    state.add(x);
  }
  template <int Rows, int Columns>
  FANIN_FUNCTION void fold_batch(thread_state& state, const tile_batch<Rows, Columns, T>& batch) const {
    T x[Rows * Columns];
    unrolled<Rows * Columns>([&](int i) { x[i] = batch.counts(i) ? batch.values[i] : T{0}; });
    state.add(x);
  }
};

template <class R>
inline constexpr bool gathers_in_columns = false;
template <class T, class Result>
inline constexpr bool gathers_in_columns<exact_sum_in_columns<T, Result>> = true;

template <class R>
struct in_columns {
  using type = R;
};
template <exact_element T, class Result>
struct in_columns<exact_sum<T, Result>> {
  using type = exact_sum_in_columns<T, Result>;
};

/// Whether a reducer is one that has columns where it is the only one of a call.
template <class R>
inline constexpr bool may_have_columns = !std::is_same_v<typename in_columns<R>::type, R>;

template <class Composite, std::size_t... I>
constexpr int count_in_columns(std::index_sequence<I...>) {
  return (0 + ... + (gathers_in_columns<typename Composite::template reducer_type<I>> ? 1 : 0));
}
template <class Composite, std::size_t... I>
constexpr int count_that_may(std::index_sequence<I...>) {
  return (0 + ... + (may_have_columns<typename Composite::template reducer_type<I>> ? 1 : 0));
}

/// Whether this is a call with columns.
template <class Composite>
inline constexpr bool has_columns = count_in_columns<Composite>(typename Composite::indices{}) == 1;

/// What they take of a block's memory.
template <class Composite>
constexpr std::size_t columns_bytes(int threads) {
  return []<std::size_t... I>(std::index_sequence<I...>, int of_block) {
    const auto bytes_of = [&]<class R>(std::type_identity<R>) -> std::size_t {
      if constexpr (gathers_in_columns<R>) {
        return gathering_t<R>::bytes_of_columns(of_block);
      } else {
        return 0;
      }
    };
    return (std::size_t{0} + ... + bytes_of(std::type_identity<typename Composite::template reducer_type<I>>{}));
  }(typename Composite::indices{}, threads);
}

/// The composite with its exact sum in columns, if it has one alone and its blocks hand over parcels.
template <class Strategy, class Composite>
constexpr auto with_columns(const Composite& c) {
  constexpr bool by_tiles = Strategy::recipe.thread == cuda_stage::thread::vectorised &&
                            Strategy::recipe.block == cuda_stage::block::warp_shuffle;
  if constexpr (by_tiles && hands_over_parcels<Strategy, Composite> &&
                count_that_may<Composite>(typename Composite::indices{}) == 1) {
    return c.changed([]<class R>(const R& reducer) {
      if constexpr (may_have_columns<R>) {
        return typename in_columns<R>::type{};
      } else {
        return reducer;
      }
    });
  } else {
    return c;
  }
}

/// The same for a functor, but where it adds to a thread_state itself.
template <class Strategy, class F, class Composite>
constexpr auto with_columns_for(const Composite& c) {
  if constexpr (Composite::template takes_accumulator<F>) {
    return c;
  } else {
    return with_columns<Strategy>(c);
  }
}

}  // namespace fanin::detail
