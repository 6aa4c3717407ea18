// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include <fanin/fanin.hpp>
#include <fanin/nccl/over.hpp>

// What does not go over NCCL's ranks (WRONG, or in a unit that no CUDA compiler reads), and the nearest that does.

struct on_line {
  FANIN_FUNCTION double operator()(std::int64_t i) const { return static_cast<double>(i); }
};

struct in_plane {
  FANIN_FUNCTION double operator()(std::int64_t i, std::int64_t j) const { return static_cast<double>(i + j); }
};

struct in_box {
  FANIN_FUNCTION double operator()(std::int64_t i, std::int64_t j, std::int64_t k) const {
    return static_cast<double>(i + j + k);
  }
};

void use(const fanin::nccl& comm) {
  const fanin::sum<double> sum;
#if defined(WRONG)
  const fanin::serial exec;
#else
  const fanin::cuda exec;
#endif
  fanin::parallel_reduce(fanin::over(comm, fanin::range(exec, 3)), on_line{}, sum);
#if !defined(WRONG)
  double* const of_rows = nullptr;
  fanin::parallel_reduce_into(of_rows, fanin::over(comm, fanin::rows(exec, 3, 4)), in_plane{}, sum);
#endif
#if defined(WRONG)
  const int keys[] = {1, 1, 2};
  fanin::over(comm, fanin::runs(exec, keys));
  fanin::over(comm, keys, 1.5);
  const fanin::cuda gpu;
  fanin::parallel_reduce(fanin::over(comm, fanin::md_range(gpu, {3, 4})), in_plane{}, fanin::min_loc<double>{});
  fanin::value_index<double, fanin::md_index<2>>* const places = nullptr;
  fanin::parallel_reduce_into(places, fanin::over(comm, fanin::axes<0, 2>(fanin::md_range(gpu, {2, 3, 4}))), in_box{},
                              fanin::min_loc<double>{});
#endif
}
