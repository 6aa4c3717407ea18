// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <optional>

#include <fanin/fanin.hpp>
#include <fanin/mpi/over.hpp>

// What does not go over ranks (WRONG), and the nearest that does.

enum number { two = 2 };
struct in_plane {
  double operator()(std::int64_t i, std::int64_t j) const { return static_cast<double>(i + j); }
};
struct on_line {
  double operator()(std::int64_t i) const { return static_cast<double>(i); }
};

struct product {
  double operator()(double x, double y) const { return x * y; }
};

void use(const fanin::mpi& comm) {
  const double plane[3][4] = {};
  const fanin::serial exec;
  const fanin::sum<double> sum;
#if defined(WRONG)
  const double box[2][3][4] = {};
  fanin::value_index<double, fanin::md_index<2>> places[4];
  fanin::parallel_reduce(fanin::over(comm, fanin::rows(exec, 3, 4)), in_plane{}, sum);
  fanin::reduce(exec, fanin::over(comm, fanin::columns(plane)), sum);
  fanin::reduce_into(places, exec, fanin::over(comm, fanin::axes<0, 1>(box)), fanin::min_loc<double>{});
  fanin::over(comm, fanin::runs(exec, plane[0]));
  fanin::over(comm, fanin::over(comm, fanin::range(exec, 3)));
  fanin::over(MPI_COMM_WORLD, plane);
  fanin::over(comm, plane[0], 1.5);
  fanin::over(comm, plane[0], two);
  fanin::over(comm, fanin::columns(plane), std::optional<float>());
  fanin::parallel_for(fanin::over(comm, fanin::range(exec, 3)), on_line{});
  fanin::reduce(exec, fanin::over(comm, plane), fanin::min_loc<double>{});
  fanin::transform_reduce(exec, fanin::over(comm, plane), fanin::over(comm, plane), sum);
  fanin::transform_reduce(exec, fanin::over(comm, plane), plane, product{}, sum);
#else
  const int offsets[] = {0, 1, 3};
  double of_rows[3];
  fanin::value_index<double> places[4];
  fanin::parallel_reduce_into(of_rows, fanin::over(comm, fanin::rows(exec, 3, 4)), in_plane{}, sum);
  fanin::reduce_into(of_rows, exec, fanin::over(comm, fanin::rows(plane)), sum);
  fanin::reduce_into(places, exec, fanin::over(comm, fanin::columns(plane)), fanin::min_loc<double>{});
  fanin::reduce_async(of_rows, exec, fanin::over(comm, fanin::segments(plane[0], offsets)), sum).get();
  fanin::reduce(exec, fanin::over(comm, plane), sum);
  fanin::reduce(exec, fanin::over(comm, plane, std::size_t{3}), sum);
  fanin::reduce(exec, fanin::over(comm, plane, 3U), sum);
  fanin::reduce(exec, fanin::over(comm, plane, std::optional<int>(3)), sum);
  fanin::reduce(exec, fanin::over(comm, plane, std::nullopt), sum);
  fanin::reduce(exec, fanin::over(comm, plane, {}), sum);
  fanin::transform_reduce(exec, fanin::over(comm, plane), fanin::over(comm, plane), product{}, sum);
  fanin::transform_reduce(exec, fanin::over(comm, plane), fanin::over(comm, plane[0]), product{},
                          fanin::min_loc<double>{});
  fanin::parallel_reduce(fanin::over(comm, fanin::md_range(exec, {3, 4})), in_plane{}, sum, fanin::min_loc<double>{});
  fanin::parallel_reduce(fanin::over(comm, fanin::range(exec, 3)), on_line{}, fanin::min_loc<double>{});
#endif
}
