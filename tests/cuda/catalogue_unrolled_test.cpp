// SPDX-License-Identifier: Apache-2.0
#include "cuda/catalogue_rows.hpp"
#include "cuda/catalogue_turns.hpp"

/// The rows that unroll their trees, or shuffle.
namespace fanin_test {

INSTANTIATE_TYPED_TEST_SUITE_P(unrolled, catalogue, typed<rows_of_unrolled_trees>::types, row_names);
INSTANTIATE_TYPED_TEST_SUITE_P(unrolled, catalogue_turns, ::testing::Types<rows_of_unrolled_trees>);

}  // namespace fanin_test
