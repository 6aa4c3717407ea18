// SPDX-License-Identifier: Apache-2.0
#include "exact/many.hpp"

#include <gtest/gtest.h>

#include <fanin/serial/serial.hpp>

namespace fanin_test {
namespace {

TEST(exact_sums_of_many, on_serial) {
  for (const auto order :
       {fanin::serial_order::lanes, fanin::serial_order::left_to_right, fanin::serial_order::recursive_halving}) {
    check_exact_sums_of_many<double>(fanin::serial(order));
    check_exact_sums_of_many<float>(fanin::serial(order));
  }
}

}  // namespace
}  // namespace fanin_test
