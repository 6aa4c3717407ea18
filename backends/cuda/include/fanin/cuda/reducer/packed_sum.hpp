// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>

#include <fanin/batch.hpp>
#include <fanin/device/packed.hpp>
#include <fanin/macros.hpp>
#include <fanin/reducers.hpp>

namespace fanin::detail {

/// sum<T, Acc> of 8-bit or 16-bit integers: the elements of a 32-bit word are added by one instruction (dp4a, dp2a)
/// instead of two each. Exact: what a row of a tile adds up to fits 32 bits, and Acc wraps as for sum.
template <std::integral T, std::integral Acc>
  requires(sizeof(T) <= 2)
struct packed_sum : sum<T, Acc> {
  template <int Rows, int Columns>
    requires(Columns * sizeof(T) % 4 == 0)
  FANIN_FUNCTION constexpr void fold_batch(Acc& acc, const tile_batch<Rows, Columns, T>& batch) const {
    constexpr int elements = 4 / sizeof(T);
    for (int r = 0; r < Rows; ++r) {
      if (r < batch.rows) {
        word_of_signedness<T> total = 0;
        for (int k = 0; k < Columns; k += elements) total = detail::add_packed(batch.values + r * Columns + k, total);
        this->join(acc, static_cast<Acc>(total));
      }
    }
  }
};

}  // namespace fanin::detail
