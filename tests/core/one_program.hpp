// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// What a unit of one program sees of Fanin: tests/core/one_program_unit.cpp, compiled several times.
namespace fanin_test {

struct facts {
  const char* default_backend;
  bool has_its_own_default_object;
  const void* rounds_to_nearest;
  std::int64_t sum;
  double exact_sum;
};

namespace serial_unit {
facts look();
}
namespace kokkos_unit {
facts look();
}
namespace avx2_unit {
facts look();
}
namespace nvcc_unit {
facts look();
}

}  // namespace fanin_test
