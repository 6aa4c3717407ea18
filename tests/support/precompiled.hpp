// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a test's unit reads before its first line (cmake/FaninTest.cmake). Nothing of Fanin: a unit includes what it
// uses of it.
#include <gtest/gtest.h>

#include "support/standard.hpp"
