// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdint>

#include <fanin/mpi/over.hpp>

#include "devices.hpp"
#include "mpi/shapes.hpp"

/// Boxes, arrays with strides and functors of several arrays over ranks, of which every other one has its part on a
/// device.
namespace fanin_test {
namespace {

TEST_F(devices, boxes_views_and_several_arrays) {
  for (const auto& options : {fanin::mpi_options{}, fanin::mpi_options{.gather_up_to = 2, .check_calls = true}}) {
    const fanin::mpi comm(MPI_COMM_WORLD, options);
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      begin(seed);
      const auto check = [&](const auto& object) {
        check_places<3, fanin::iterate::left>(comm, object, seed);
        check_views(comm, object, seed);
        check_transforms(comm, object, seed);
        check_misfits(comm, object);
      };
      if ((seed + static_cast<std::uint64_t>(comm.rank())) % 2 == 0) {
        check(device());
      } else {
        check(exec);
      }
    }
  }
}

}  // namespace
}  // namespace fanin_test
