// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sparse matrices as compressed rows.

#include <string_view>

#include "shapes/shape.hpp"

namespace fanin_perf::shapes {

/// y = A x of a square matrix of N rows: "stencil7:N" and "stencil27:N", a point of a box of N points and its
/// neighbours within the box, by faces or by corners, too; "powerlaw:N", rows of 16 elements on average, their lengths
/// by a power law, their columns anywhere; "denserow:N", one whole row in a matrix of three diagonals. Throws
/// std::invalid_argument with a sentence.
shape sparse_matrix(std::string_view name);

}  // namespace fanin_perf::shapes
