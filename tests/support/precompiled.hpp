// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a test's unit reads before its first line (cmake/FaninTest.cmake). Nothing of Fanin: a unit includes what it
// uses of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <vector>
