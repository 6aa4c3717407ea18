// SPDX-License-Identifier: Apache-2.0
#include "cuda/catalogue_rows.hpp"
#include "cuda/catalogue_turns.hpp"

/// The rows beyond the documents: one launch.
namespace fanin_test {

INSTANTIATE_TYPED_TEST_SUITE_P(one_launch, catalogue, typed<rows_of_one_launch>::types, row_names);
INSTANTIATE_TYPED_TEST_SUITE_P(one_launch, catalogue_turns, ::testing::Types<rows_of_one_launch>);

}  // namespace fanin_test
