// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <exception>
#include <vector>

#include <fanin/buffer.hpp>
#include <fanin/cuda/backend.hpp>
#include <fanin/parallel_reduce.hpp>
#include <fanin/range.hpp>
#include <fanin/reduce.hpp>
#include <fanin/reducers.hpp>

/// A library of which a program loads several: see plugins_test.cpp. Its kernel needs more shared memory than a kernel
/// has unasked.
extern "C" int fanin_test_sum_of_ones(std::int64_t n, std::int64_t* sum) {
  try {
    fanin::cuda gpu;
    const fanin::buffer<std::int64_t, fanin::cuda> ones(gpu, std::vector<std::int64_t>(static_cast<std::size_t>(n), 1));
    *sum = fanin::reduce(gpu.with<fanin::cuda_strategy::one_pass_bulk>(), ones, fanin::sum<std::int64_t>{});
    return 0;
  } catch (const std::exception&) {
    return 1;
  }
}
