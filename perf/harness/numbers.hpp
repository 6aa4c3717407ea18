// SPDX-License-Identifier: Apache-2.0
#pragma once

// Small helpers on lists of numbers.

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <string_view>
#include <vector>

namespace fanin_perf {

/// 0 for an empty list.
inline double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

/// 0 for an empty list.
inline double smallest(const std::vector<double>& values) {
  return values.empty() ? 0 : *std::min_element(values.begin(), values.end());
}

/// The finite `value` with so many significant digits, or more where these end in 5: rounding it again, to fewer, gives
/// what rounding `value` gives.
inline double rounded(double value, int digits) {
  constexpr int all_digits = 17;
  std::array<char, 32> text{};
  for (;; ++digits) {
    const auto written =
        std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::scientific, digits - 1);
    const std::string_view all(text.data(), static_cast<std::size_t>(written.ptr - text.data()));
    const std::string_view mantissa = all.substr(0, all.find('e'));
    const std::size_t last = mantissa.find_last_not_of("0.");  // of 0 there is none
    if (digits < all_digits && last != std::string_view::npos && mantissa[last] == '5') continue;
    std::from_chars(all.data(), all.data() + all.size(), value);
    return value;
  }
}

}  // namespace fanin_perf
