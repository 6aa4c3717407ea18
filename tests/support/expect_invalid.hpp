// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <string>

#include <fanin/error.hpp>

namespace fanin_test {

/// That `call` throws invalid_argument, and that the message speaks of `words`.
template <class Call>
void expect_invalid(const Call& call, const std::string& words) {
  try {
    call();
    ADD_FAILURE() << "nothing was thrown; expected words: " << words;
  } catch (const fanin::invalid_argument& e) {
    EXPECT_NE(std::string(e.what()).find(words), std::string::npos) << e.what() << "\nlacks the words: " << words;
    EXPECT_NE(std::string(e.what()).find("fanin"), std::string::npos) << e.what() << "\ndoes not say which call";
  }
}

}  // namespace fanin_test
