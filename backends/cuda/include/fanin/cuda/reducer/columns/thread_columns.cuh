// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <fanin/cuda/reducer/columns/columns.cuh>
#include <fanin/cuda/reducer/columns/numbers.cuh>
#include <fanin/cuda/reducer/columns/table_sums.cuh>
#include <fanin/detail/unrolled.hpp>
#include <fanin/device/arithmetic.hpp>
#include <fanin/device/block.cuh>
#include <fanin/device/memory.cuh>
#include <fanin/device/warp.cuh>

namespace fanin::detail {

/// Floats whose exponents have the upper four bits in common go to one row.
struct floats_by_row : floats {
  static constexpr int rows = 16;
  static constexpr int lowest = -150;
  static constexpr int limbs = 11;
};

/// Of floats: a column is a thread's own, and a place is a double, to which 4095 numbers are added without rounding:
/// each is below 2^39 of its units, and 2^12 of these below 2^51.
template <class... Before>
class thread_columns : public exact_columns<thread_columns<Before...>, floats_by_row> {
  using base = exact_columns<thread_columns, floats_by_row>;
  using base::bytes_beside;
  static constexpr int rows = floats_by_row::rows;
  static constexpr int at_once = 8;

 public:
  static constexpr bool loads_ahead = false;
  static constexpr int most_numbers = 4095;

  static constexpr std::size_t bytes(unsigned threads) {
    return bytes_beside + sizeof(double) * rows * std::bit_ceil(threads);
  }
  __device__ static unsigned char* memory() { return memory_behind<Before...>(); }
  __device__ static unsigned bytes_of_row() { return 1U << log_of_row_bytes(); }

  /// By all threads of the block. Ends with a barrier.
  __device__ explicit thread_columns(exact_accumulator& spill) : base{spill} {
    detail::unrolled<rows>([&](int k) { place(static_cast<unsigned>(k) * bytes_of_row()) = 0; });
    if (threadIdx.x == 0) base::is_anything_in_spill() = 0;
    __syncthreads();
  }

  __device__ void add_one(float x) {
    const unsigned shift = log_of_row_bytes();
    double& held = place(std::bit_cast<std::uint32_t>(x) >> (27 - shift) & (rows - 1) << shift);
    held = rounded_sum(held, converted(x));
  }

  /// What the thread's column holds goes to the spill.
  __device__ void make_room() {
#pragma unroll 1
    for (int k = 0; k < rows; ++k) {
      double& held = place(static_cast<unsigned>(k) * bytes_of_row());
      this->spill_->add_value_shared(units(k, held), floats_by_row::lowest + bits_of_row * k);
      held = 0;
    }
    atomicExch(&base::is_anything_in_spill(), 1U);
    deposits_ += rows;
    if (deposits_ < exact_accumulator::most_between_carries) return;
    this->spill_->carry_shared();
    deposits_ = 0;
  }

  /// A warp each. The loads of some columns are under way together, without a condition: one after the other they took
  /// 1000 cycles more, of 512 threads.
  __device__ static void sum_rows(const table_sums<floats_by_row>& sums) {
    for (unsigned k = threadIdx.x / warp_size; k < rows; k += blockDim.x / warp_size) {
      const auto* const row = reinterpret_cast<const double*>(memory() + bytes_beside + k * bytes_of_row());
      std::int64_t sum = 0;
#pragma unroll 1
      for (unsigned first = threadIdx.x % warp_size; first < blockDim.x; first += at_once * warp_size) {
        double held[at_once];
        detail::unrolled<at_once>([&](int i) {
          const unsigned column = first + static_cast<unsigned>(i) * warp_size;
          held[i] = row[column < blockDim.x ? column : first];
        });
        all_loads_first();
        detail::unrolled<at_once>([&](int i) {
          const bool is_there = first + static_cast<unsigned>(i) * warp_size < blockDim.x;
          sum += is_there ? units(static_cast<int>(k), held[i]) : 0;
        });
      }
      sum = wide_sum_in_warp(sum);
      if (threadIdx.x % warp_size == 0) sums.row(static_cast<int>(k)) = sum;
    }
  }

 private:
  /// A power of two, so that a place is found without a multiplication.
  __device__ static unsigned log_of_row_bytes() {
    return 3 + 32 - static_cast<unsigned>(leading_zeros(blockDim.x - 1));
  }
  __device__ static double& place(unsigned row) {
    return *reinterpret_cast<double*>(memory() + bytes_beside + row + threadIdx.x * sizeof(double));
  }
  /// How many units of its row a place holds.
  __device__ static std::int64_t units(int k, double held) {
    const auto anchor =
        static_cast<std::uint64_t>(floats_by_row::lowest + bits_of_row * k + 52 + 1023) << 52 | 1ULL << 51;
    return static_cast<std::int64_t>(std::bit_cast<std::uint64_t>(rounded_sum(held, std::bit_cast<double>(anchor))) -
                                     anchor);
  }
  /// The sum of all lanes' values, which is within -2^58 .. 2^58; all lanes get it. In three pieces, 32 of which fit a
  /// word.
  __device__ static std::int64_t wide_sum_in_warp(std::int64_t value) {
    constexpr int piece = 26;
    constexpr std::uint32_t mask = (1U << piece) - 1;
    const auto low = static_cast<std::uint32_t>(value) & mask;
    const auto mid = static_cast<std::uint32_t>(value >> piece) & mask;
    const auto high = static_cast<std::uint32_t>(value >> 2 * piece);
    return std::int64_t{sum_in_warp(low)} + std::int64_t{sum_in_warp(mid)} * (std::int64_t{1} << piece) +
           std::int64_t{static_cast<std::int32_t>(sum_in_warp(high))} * (std::int64_t{1} << 2 * piece);
  }

  std::int32_t deposits_ = 0;
};

}  // namespace fanin::detail
