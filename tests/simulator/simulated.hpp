// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <fanin/cuda/cuda.hpp>

#include "contract/contract.hpp"
#include "simulator/machine.hpp"

/// The fixture of topics of the contract on the simulated device.
namespace fanin_test {

/// A device as new for each test, whose schedule is that of another seed.
struct new_device {
  new_device() {
    static std::uint64_t seed = 0;
    simulator::begin(simulator::schedule(++seed));
  }
};

struct simulated : new_device {
  using exec_type = fanin::cuda;
  static constexpr const char* name = "simulated";
  static constexpr coverage breadth = coverage::spot;
  static std::string unavailable() { return {}; }
  exec_type& exec() { return exec_; }

 private:
  exec_type exec_;
};
using fixtures = ::testing::Types<simulated>;

}  // namespace fanin_test
