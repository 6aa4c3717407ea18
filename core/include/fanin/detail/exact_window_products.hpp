// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>

#include <fanin/batch.hpp>
#include <fanin/detail/exact_numbers.hpp>
#include <fanin/detail/exact_parts.hpp>
#include <fanin/detail/exact_window.hpp>
#include <fanin/detail/unrolled.hpp>
#include <fanin/device/arithmetic.hpp>
#include <fanin/macros.hpp>

/// How an exact sum's window takes products.
namespace fanin::detail {

template <class Accumulator, int Bins>
FANIN_FUNCTION inline void exact_window<Accumulator, Bins>::add_product(double value_x, double value_y) {
  const double x = opaque(value_x);
  const double y = opaque(value_y);
  if (!has_normal_product(x, y) || bound() == 0) {
    *this = after_adding_odd_product(*this, double_bits(x), double_bits(y));
    return;
  }
  const double product = rounded_product(x, y);
  const std::uint64_t bits = double_bits(product);
  if (!is_inside(bits)) *this = moved(*this, upper_of(bits));
  const double error = std::fma(x, y, -product);
  add_to_bins<0>(product);
  add_to_bins<1>(error);
  count_numbers(1);
}

template <class Accumulator, int Bins>
template <int Rows, int Columns, class Factors>
FANIN_FUNCTION inline void exact_window<Accumulator, Bins>::add_product_tile(
    const tile_batch<Rows, Columns, Factors>& batch) {
  constexpr int count = Rows * Columns;
  constexpr int part = count < most_at_once / 2 ? count : most_at_once / 2;
  detail::unrolled<(count + part - 1) / part>([&](int p) {
    some_numbers<part> product;
    some_numbers<part> error;
    bool are_normal = bound() != 0;
    detail::unrolled<part>([&](int i) {
      const int at = p * part + i;
      const double x = batch.values[at < count ? at : 0].x;
      const double y = batch.values[at < count ? at : 0].y;
      const bool counts = at < count && batch.counts(at);
      are_normal = are_normal & has_normal_product(x, y);
      product.of[i] = counts ? rounded_product(x, y) : 0.0;
      error.of[i] = counts ? std::fma(x, y, -product.of[i]) : 0.0;
    });
    if (are_normal) {
      if (const std::uint32_t largest = product.largest_upper_half(); largest >= limit_) {
        *this = moved(*this, largest);
      }
      fold_tile<0>(product);
      fold_tile<1>(error);
      count_numbers(part);
    } else {
      detail::unrolled<part>([&](int i) {
        const int at = p * part + i;
        if (at < count && batch.counts(at)) {
          *this = after_adding_product(*this, batch.values[at].x, batch.values[at].y);
        }
      });
    }
  });
}

template <class Accumulator, int Bins>
FANIN_DETAIL_NOINLINE FANIN_FUNCTION auto exact_window<Accumulator, Bins>::after_adding_product(
    exact_window window, double x, double y) -> exact_window {
  window.add_product(x, y);
  return window;
}
template <class Accumulator, int Bins>
FANIN_DETAIL_NOINLINE FANIN_FUNCTION auto exact_window<Accumulator, Bins>::after_adding_odd_product(
    exact_window window, std::uint64_t x, std::uint64_t y) -> exact_window {
  if ((x << 1 == 0 && is_finite(y)) || (y << 1 == 0 && is_finite(x))) return window;
  window.into_->add_product_shared(x, y);
  window.count_deposits(3);
  return window;
}

}  // namespace fanin::detail
