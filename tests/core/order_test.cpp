// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "support/data.hpp"

#define FANIN_TEST_UNIT plain
#include "core/order_unit.hpp"

/// Serial's order is that of every flag: a unit compiled with others gives the same bytes.
namespace fanin_test {

std::vector<unsigned char> bytes_by_fast_unit(fanin::serial_order order, const std::vector<double>& x,
                                              const std::vector<double>& y);

TEST(order, is_that_of_every_flag) {
  std::vector<double> x;
  std::vector<double> y;
  for (std::uint64_t i = 0; i < 1'500; ++i) {
    x.push_back(static_cast<double>(static_cast<std::int64_t>(mix(2 * i))) * 0x1p-63);
    y.push_back((static_cast<double>(mix(2 * i + 1) >> 12) * 0x1p-52 + 0.5) * 1.001);
  }
  for (const auto order :
       {fanin::serial_order::lanes, fanin::serial_order::left_to_right, fanin::serial_order::recursive_halving}) {
    const auto expected = plain::bytes_of(order, x, y);
    const auto found = bytes_by_fast_unit(order, x, y);
    ASSERT_EQ(found.size(), expected.size());
    std::size_t wrong = 0;
    for (std::size_t k = 0; k < found.size(); ++k) wrong += found[k] != expected[k] ? 1U : 0U;
    EXPECT_EQ(wrong, 0U) << "of " << found.size() << " bytes, order " << static_cast<int>(order);
  }
}

}  // namespace fanin_test
