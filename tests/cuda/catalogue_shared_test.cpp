// SPDX-License-Identifier: Apache-2.0
#include "cuda/catalogue_rows.hpp"
#include "cuda/catalogue_turns.hpp"

/// The rows that combine in shared memory by a loop.
namespace fanin_test {

INSTANTIATE_TYPED_TEST_SUITE_P(shared, catalogue, typed<rows_of_shared_memory>::types, row_names);
INSTANTIATE_TYPED_TEST_SUITE_P(shared, catalogue_turns, ::testing::Types<rows_of_shared_memory>);

}  // namespace fanin_test
