// SPDX-License-Identifier: Apache-2.0
#include "cuda/catalogue_rows.hpp"

/// The rows that unroll their trees, or shuffle.
namespace fanin_test {

INSTANTIATE_TYPED_TEST_SUITE_P(cuda, catalogue, typed<rows_of_unrolled_trees>::types, row_names);

}  // namespace fanin_test
