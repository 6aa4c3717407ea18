// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/serial/serial.hpp>

namespace fanin_test {

/// The oracle: from left to right, one element after the other, in loops that no backend has.
inline constexpr fanin::serial in_order(fanin::serial_order::left_to_right);

}  // namespace fanin_test
