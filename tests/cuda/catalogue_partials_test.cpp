// SPDX-License-Identifier: Apache-2.0
#include "cuda/catalogue_rows.hpp"
#include "cuda/catalogue_turns.hpp"

/// The rows that leave partial results to the host.
namespace fanin_test {

INSTANTIATE_TYPED_TEST_SUITE_P(partials, catalogue, typed<rows_of_partials>::types, row_names);
INSTANTIATE_TYPED_TEST_SUITE_P(partials, catalogue_turns, ::testing::Types<rows_of_partials>);

}  // namespace fanin_test
