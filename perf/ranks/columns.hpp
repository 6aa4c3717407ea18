// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <fanin/fanin.hpp>
#include <fanin/mpi/over.hpp>

#include "measure.hpp"

/// Sums of the columns of a matrix whose rows the ranks share: on every rank all of them.
namespace fanin_perf_ranks {

/// What they give is the column's in the middle.
inline std::vector<contender> of_columns(const fanin::serial& exec, const fanin::mpi& comm,
                                         std::span<const double> data, std::int64_t columns) {
  const auto m = static_cast<std::size_t>(columns);
  const fanin::view<const double, 2> matrix(data.data(), {static_cast<std::int64_t>(data.size()) / columns, columns});
  const auto sums = std::make_shared<std::vector<double>>(m);
  const auto exchanged = [sums, m] {
    MPI_Allreduce(MPI_IN_PLACE, sums->data(), static_cast<int>(m), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return (*sums)[m / 2];
  };
  const auto over_ranks = [&exec, &comm, sums, matrix](const auto& reducer) {
    return [=, &exec, &comm] {
      fanin::reduce_into(*sums, exec, fanin::over(comm, fanin::columns(matrix)), reducer);
      return (*sums)[sums->size() / 2];
    };
  };
  return {{"columns: loop, MPI_Allreduce",
           [=] {
             sums->assign(m, 0);
             for (std::size_t row = 0; row < data.size(); row += m) {
               for (std::size_t j = 0; j < m; ++j) (*sums)[j] += data[row + j];
             }
             return exchanged();
           }},
          {"columns: fanin, MPI_Allreduce",
           [=, &exec] {
             fanin::reduce_into(*sums, exec, fanin::columns(matrix), fanin::sum<double>{});
             return exchanged();
           }},
          {"columns: fanin sum", over_ranks(fanin::sum<double>{})},
          {"columns: fanin exact_sum", over_ranks(fanin::exact_sum<double>{})}};
}

}  // namespace fanin_perf_ranks
