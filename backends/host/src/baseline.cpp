// SPDX-License-Identifier: Apache-2.0
#include "table.hpp"

#define FANIN_HOST_TABLE baseline_table
#define FANIN_HOST_VECTOR_BYTES 16
#include "level.hpp"
