// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <fanin/cuda/reducer/columns/columns.cuh>
#include <fanin/cuda/reducer/columns/numbers.cuh>
#include <fanin/cuda/reducer/columns/table_sums.cuh>
#include <fanin/detail/unrolled.hpp>
#include <fanin/device/warp.cuh>

namespace fanin::detail {

/// A column for each lane, which the lanes of that number in all of a block's warps share: lanes meet in no bank. A
/// word takes pieces of 16 bits by atomics that return nothing.
template <class Numbers, class... Before>
class lane_columns : public exact_columns<lane_columns<Numbers, Before...>, Numbers> {
  using base = exact_columns<lane_columns, Numbers>;
  using base::bytes_beside;

 public:
  static constexpr bool loads_ahead = Numbers::loads_ahead;
  static constexpr int most_numbers = Numbers::most_numbers;

  static constexpr std::size_t bytes(unsigned threads) {
    return bytes_beside + sizeof(unsigned) * words_of_table * tables(threads);
  }
  __device__ static unsigned char* memory() { return memory_behind<Before...>(); }
  __device__ static unsigned bytes_of_row() { return sizeof(unsigned) * words_of_row; }

  /// By all threads of the block. Ends with a barrier.
  __device__ explicit lane_columns(typename base::accumulator& spill)
      : base{spill},
        column_{first_word() + threadIdx.x / warp_size / Numbers::warps_of_table * words_of_table +
                threadIdx.x % warp_size} {
    auto* const words = reinterpret_cast<uint4*>(memory());
    const auto count = static_cast<unsigned>(bytes(blockDim.x) / sizeof(uint4));
    for (unsigned at = threadIdx.x; at < count; at += blockDim.x) words[at] = uint4{0, 0, 0, 0};
    __syncthreads();
  }

  __device__ void add_one(const typename base::value_type& x) { Numbers::add(column_, x); }

  /// A word is taken out before a part of it goes on, so that no two threads hand on the same carry.
  __device__ void make_room() const {
    constexpr unsigned large = Numbers::large;
#pragma unroll 1
    for (int k = 0; k < Numbers::rows - 1; ++k) {
      unsigned* const at = column_ + static_cast<unsigned>(k) * words_of_row;
      if (atomicAdd(at, 0U) + large < 2 * large) continue;
      const unsigned taken = atomicExch(at, 0U);
      atomicAdd(at, taken & 0xffff);
      atomicAdd(at + words_of_row, static_cast<unsigned>(static_cast<int>(taken) >> bits_of_row));
    }
  }

  /// Some lanes each, by words of 16 bytes. A lane begins at a place of its own, so that those of a warp meet in no
  /// bank.
  __device__ static void sum_rows(const table_sums<Numbers>& sums) {
    constexpr unsigned lanes = Numbers::lanes_of_row;
    constexpr unsigned places = words_of_row * sizeof(unsigned) / sizeof(uint4);
    static_assert(places % lanes == 0);
    const unsigned groups = blockDim.x / lanes;
    const unsigned lane = threadIdx.x % lanes;
    for (unsigned first = 0; first < Numbers::rows; first += groups) {
      const unsigned k = first + threadIdx.x / lanes;
      std::int64_t sum = 0;
      for (unsigned t = 0; k < Numbers::rows && t < tables(blockDim.x); ++t) {
        const auto* const row = reinterpret_cast<const uint4*>(first_word() + t * words_of_table + k * words_of_row);
        detail::unrolled<places / lanes>([&](int j) {
          const uint4 words = row[(static_cast<unsigned>(j) * lanes + threadIdx.x) % places];
          sum += std::int64_t{static_cast<int>(words.x)} + static_cast<int>(words.y);
          sum += std::int64_t{static_cast<int>(words.z)} + static_cast<int>(words.w);
        });
      }
      for (unsigned delta = lanes / 2; delta > 0; delta /= 2) sum += shuffle_down(sum, delta);
      if (k < Numbers::rows && lane == 0) sums.row(static_cast<int>(k)) = sum;
    }
  }

 private:
  static constexpr unsigned words_of_table = static_cast<unsigned>(Numbers::rows) * words_of_row;

  static constexpr unsigned tables(unsigned threads) {
    constexpr unsigned threads_of_table = warp_size * Numbers::warps_of_table;
    return (threads + threads_of_table - 1) / threads_of_table;
  }
  __device__ static unsigned* first_word() { return reinterpret_cast<unsigned*>(memory() + bytes_beside); }

  unsigned* column_;
};

}  // namespace fanin::detail
