// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <fanin/cuda/reducer/columns/numbers.cuh>
#include <fanin/cuda/reducer/columns/table_sums.cuh>
#include <fanin/detail/exact_limbs.hpp>
#include <fanin/detail/unrolled.hpp>
#include <fanin/device/block.cuh>
#include <fanin/device/warp.cuh>

namespace fanin::detail {

/// Where a state stands in what its launch asked for: behind those of `Before`.
template <class... Before>
__device__ unsigned char* memory_behind() {
  return memory_of_launch() + (std::size_t{0} + ... + Before::bytes(blockDim.x));
}

/// An exact sum in block memory, in a table with columns for lanes or threads, to whose rows a number is added by its
/// exponent. See docs/adr/0011. What the states have in common; `State` is the derived class, and has
///   memory()            its own: a word that says whether there is anything in the spill, and from bytes_beside on the
///                       table
///   bytes_of_row()
///   make_room(numbers)  before a thread adds so many more than a column takes: see most_numbers
///   add_one(x)
///   sum_rows(sums)      by all threads, into the rows' first bytes
template <class State, class Numbers>
class exact_columns {
 public:
  using accumulator = typename Numbers::accumulator;
  using value_type = typename Numbers::value_type;
  using limbs = typename table_sums<Numbers>::limbs;

  __device__ explicit exact_columns(accumulator& spill) : spill_{&spill} {}

  /// Takes the array for its own.
  template <int Count>
  __device__ void add(value_type (&x)[Count]) {
    unsigned largest = 0;
    detail::unrolled<Count>([&](int i) { largest = std::max(largest, Numbers::magnitude(x[i])); });
    if (largest >= Numbers::infinity) take_out_special(x);
    numbers_ += Count;
    if (numbers_ > State::most_numbers) {
      state().make_room();
      numbers_ = Count;
    }
    detail::unrolled<Count>([&](int i) { state().add_one(x[i]); });
  }

  /// All that the block's threads added; thread 0 gets it, and what it does not take is in the spill. Called once, by
  /// all threads. Begins and ends with a barrier.
  __device__ limbs drain() {
    const table_sums<Numbers> sums(State::memory() + bytes_beside, State::bytes_of_row());
    __syncthreads();
    State::sum_rows(sums);
    __syncthreads();
    sums.make_digits();
    __syncthreads();
    limbs sum;
    if (threadIdx.x < warp_size) sum = sums.sum(*spill_);
    if (is_anything_in_spill() != 0) sum.is_in_spill = 1;
    __syncthreads();
    return threadIdx.x == 0 ? sum : limbs{};
  }

  __device__ static void deposit(limbs& held, accumulator& into) { held.deposit(into); }

 protected:
  static constexpr unsigned bytes_beside = 16;

  __device__ static unsigned& is_anything_in_spill() { return *reinterpret_cast<unsigned*>(State::memory()); }

  accumulator* spill_;

 private:
  __device__ State& state() { return static_cast<State&>(*this); }

  /// Infinities and NaN to the spill, of which it is enough to know that there were some.
  template <int Count>
  __device__ void take_out_special(value_type (&x)[Count]) const {
    constexpr std::uint64_t infinity = std::uint64_t{0x7ff} << 52;
    constexpr std::uint64_t sign = std::uint64_t{1} << 63;
    bool is_any_nan = false;
    bool is_any_positive = false;
    bool is_any_negative = false;
    detail::unrolled<Count>([&](int i) {
      if (Numbers::magnitude(x[i]) < Numbers::infinity) return;
      const std::uint64_t bits = Numbers::special(x[i]);
      is_any_nan |= (bits & ~sign) > infinity;
      is_any_positive |= bits == infinity;
      is_any_negative |= bits == (infinity | sign);
      x[i] = value_type{};
    });
    if (is_any_nan) spill_->add_shared(infinity | 1);
    if (is_any_positive) spill_->add_shared(infinity);
    if (is_any_negative) spill_->add_shared(infinity | sign);
    atomicExch(&is_anything_in_spill(), 1U);
  }

  std::int32_t numbers_ = 0;
};

}  // namespace fanin::detail
