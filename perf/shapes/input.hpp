// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sums along the axes of an array that numpy wrote, and of segments whose offsets are one.

#include <cstdint>
#include <string>

#include "harness/elements.hpp"
#include "npy.hpp"
#include "shapes/shape.hpp"

namespace fanin_perf::shapes {

/// What is summed along an axis of an array: rows, columns, or the middle axis of three, whichever order its elements
/// have. A negative axis counts from the last one, as numpy's. Throws std::invalid_argument with a sentence.
shape shape_along(const input_array& array, std::int64_t axis);

/// Segments whose offsets the array holds: of n segments n + 1 integers, the first of which need not be 0. Throws
/// std::invalid_argument with a sentence.
shape segments_by(const input_array& array, std::string name);

/// Of its elements. Throws std::invalid_argument with a sentence for others than f32 and f64.
element type_of(const input_array& array);

}  // namespace fanin_perf::shapes
