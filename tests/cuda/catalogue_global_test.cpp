// SPDX-License-Identifier: Apache-2.0
#include "cuda/catalogue_rows.hpp"
#include "cuda/catalogue_turns.hpp"

/// The rows that combine in global memory.
namespace fanin_test {

INSTANTIATE_TYPED_TEST_SUITE_P(global, catalogue, typed<rows_of_global_memory>::types, row_names);
INSTANTIATE_TYPED_TEST_SUITE_P(global, catalogue_turns, ::testing::Types<rows_of_global_memory>);

}  // namespace fanin_test
