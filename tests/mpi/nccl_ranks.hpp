// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <chrono>
#include <memory>

#include <fanin/nccl/from_mpi.hpp>
#include <fanin/nccl/over.hpp>

#include "devices.hpp"

/// Reductions over NCCL's ranks, each with a device: every test is run by all ranks, whatever their number; on one,
/// too, messages go through NCCL.
namespace fanin_test {

inline fanin::nccl_options through_nccl{.patience = std::chrono::minutes(1), .exchanges_alone = true};

/// In one launch, where ranks reach each other's memory, and by NCCL's own kernels.
class nccl_ranks : public devices, public ::testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    devices::SetUp();
    through_nccl.one_launch = GetParam();
    if (IsSkipped()) return;
#if !FANIN_TEST_ON_SIMULATOR
    int gpus = 0;
    int ranks = 0;
    cudaGetDeviceCount(&gpus);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks > gpus) {
      GTEST_SKIP() << "NCCL's ranks have a GPU each: there are " << ranks << " ranks, and GPUs here: " << gpus;
    }
#endif
  }
};

inline std::unique_ptr<fanin::nccl> make_comm(const fanin::nccl_options& options = through_nccl) {
  return fanin::nccl_from_mpi(MPI_COMM_WORLD, options);
}

}  // namespace fanin_test
