// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <vector>

#include "spaces.hpp"
#include "support/their_names.hpp"

/// A library with a value of its own, and functions called like those of the Kokkos backend, which take anything.
namespace theirs {

FANIN_TEST_THEIRS(work_items)
FANIN_TEST_THEIRS(reduce_to_slot)
FANIN_TEST_THEIRS(reduce_through_workspace)
FANIN_TEST_THEIRS(launch_alone)
FANIN_TEST_THEIRS(kokkos_result_of_row)
FANIN_TEST_THEIRS(kokkos_reduce_segments_on_host)
FANIN_TEST_THEIRS(kokkos_reduce_runs_on_host)
FANIN_TEST_THEIRS(kokkos_reduce_runs_on_device)
FANIN_TEST_THEIRS(kokkos_reduce_runs_into)
FANIN_TEST_THEIRS(kokkos_reduce_runs_async)
FANIN_TEST_THEIRS(kokkos_reduce_runs)
FANIN_TEST_THEIRS(kokkos_reduce_rows_on_host)
FANIN_TEST_THEIRS(kokkos_reduce_rows_async)
FANIN_TEST_THEIRS(kokkos_reduce_rows)
FANIN_TEST_THEIRS(kokkos_reduce_into)
FANIN_TEST_THEIRS(kokkos_reduce_finished)
FANIN_TEST_THEIRS(kokkos_reduce_chunks)
FANIN_TEST_THEIRS(kokkos_reduce_async)
FANIN_TEST_THEIRS(kokkos_reduce)
FANIN_TEST_THEIRS(kokkos_join_piece)
FANIN_TEST_THEIRS(kokkos_pending)
FANIN_TEST_THEIRS(instance_mutex)
FANIN_TEST_THEIRS(kokkos_launch_for)
FANIN_TEST_THEIRS(kokkos_items)
FANIN_TEST_THEIRS(kokkos_for_items)
FANIN_TEST_THEIRS(kokkos_for_chunks)
FANIN_TEST_THEIRS(kokkos_fold_piece)
FANIN_TEST_THEIRS(kokkos_dynamic_range)
FANIN_TEST_THEIRS(fold_on_host)
FANIN_TEST_THEIRS(fold_lanes)
FANIN_TEST_THEIRS(chunks_of)
FANIN_TEST_THEIRS(check_kokkos_memory)
FANIN_TEST_THEIRS(refuse_kokkos_capture)

struct value {
  double x = 0;
  friend value operator+(const value& a, const value& b) { return {a.x + b.x}; }
};
struct number {
  value operator()(std::int64_t i) const { return {static_cast<double>(i)}; }
  value operator()(std::int64_t, std::int64_t j) const { return {static_cast<double>(j)}; }
};

}  // namespace theirs

namespace {

template <class Space>
class kokkos_names : public kokkos_case<Space> {};
TYPED_TEST_SUITE(kokkos_names, host_spaces);

TYPED_TEST(kokkos_names, of_an_application_do_not_stand_for_fanins) {
  using theirs::value;
  const fanin::kokkos<TypeParam> exec;
  const theirs::number f;
  const fanin::sum<value> sum;
  std::vector<value> xs(100);
  for (std::size_t i = 0; i < xs.size(); ++i) xs[i].x = static_cast<double>(i);

  EXPECT_EQ(fanin::parallel_reduce(fanin::range(exec, 12), f, sum).x, 66);
  EXPECT_EQ(fanin::parallel_reduce(fanin::range(exec.with({.schedule = fanin::schedule::dynamic}), 12), f, sum).x, 66);
  EXPECT_EQ(fanin::parallel_reduce_async(fanin::range(exec, 12), f, sum).get().x, 66);
  EXPECT_EQ(fanin::reduce(exec, xs, sum).x, 4950);
  const fanin::view<const value, 1> every_second(xs.data(), {50}, {2});
  EXPECT_EQ(fanin::reduce(exec, every_second, sum).x, 2450);

  std::vector<value> out(3);
  fanin::parallel_reduce_into(out, fanin::rows(exec, 3, 5), f, sum);
  EXPECT_EQ(out[2].x, 10);
  fanin::parallel_reduce_into(out.data(), fanin::rows(exec, 1, 100'000), f, sum);
  EXPECT_EQ(out[0].x, 4'999'950'000);
  fanin::parallel_reduce_into(out, fanin::columns(exec, 5, 3), f, sum);
  EXPECT_EQ(out[2].x, 10);
  const std::vector<std::int64_t> offsets{0, 3, 3, 100'000};
  fanin::parallel_reduce_into(out, fanin::segments(exec, offsets), f, sum);
  EXPECT_EQ(out[0].x, 3);
  EXPECT_EQ(out[2].x, 4'999'949'997);
  out.resize(2);
  const std::vector<int> keys{1, 1, 7};
  std::vector<int> found(2);
  EXPECT_EQ(fanin::parallel_reduce(fanin::runs_to(found, out), fanin::runs(exec, keys), f, sum), 2);
  EXPECT_EQ(out[0].x, 1);
  EXPECT_EQ(out[1].x, 2);
}

}  // namespace
