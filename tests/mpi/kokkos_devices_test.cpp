// SPDX-License-Identifier: Apache-2.0
#include "devices.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fanin/axes.hpp>
#include <fanin/error.hpp>
#include <fanin/exact_sum.hpp>
#include <fanin/finished.hpp>
#include <fanin/md_range.hpp>
#include <fanin/mpi/over.hpp>
#include <fanin/parallel_reduce.hpp>
#include <fanin/range.hpp>
#include <fanin/reduce.hpp>
#include <fanin/reducers.hpp>
#include <fanin/runs.hpp>

#include "mpi/shapes.hpp"

/// Reductions over ranks of which some have their part on a device of Kokkos's, and others on every other backend that
/// there is. (On a GPU mpi_kokkos_devices_test has the tests of fanin::cuda, too.)
namespace fanin_test {
namespace {

/// An instance of its own, or the default one.
device device_of(bool has_own_instance) {
  if (!has_own_instance) return device();
  const device of_default;
  return device(Kokkos::Experimental::partition_space(of_default.space(), 1).front());
}

/// Calls use(object) on a backend that differs from rank to rank, and over the draws goes through all of them.
template <class Use>
void on_any_backend(std::uint64_t draw, const Use& use) {
  switch ((draw + static_cast<std::uint64_t>(rank_of_world())) % 4) {
    case 0: use(device_of(draw % 2 == 0)); break;
    case 1: use(fanin::kokkos<Kokkos::DefaultHostExecutionSpace>()); break;
#if !FANIN_TEST_ON_PRETENDED_DEVICE
    case 2: use(fanin::cuda()); break;
#endif
    default: use(exec);
  }
}

constexpr std::uint64_t draws = 4;

/// What a call over a range gives, by what form(f, reducers...) makes of it.
template <class Form>
auto by_form(const Form& form) {
  return form(small_at{}, fanin::exact_sum<double>{}, fanin::max_loc<std::int64_t>{}, mean{});
}

TEST_F(devices, every_form_on_every_backend) {
  for (const auto& options : {fanin::mpi_options{}, fanin::mpi_options{.gather_up_to = 2, .check_calls = true}}) {
    const fanin::mpi comm(MPI_COMM_WORLD, options);
    for (const std::int64_t n : {0, 2, 3'001}) {
      const auto expected =
          by_form([&](const auto&... what) { return fanin::parallel_reduce(fanin::range(exec, -9, n - 9), what...); });
      using result = std::remove_const_t<decltype(expected)>;
      for (std::uint64_t draw = 0; draw < draws; ++draw) {
        on_any_backend(draw, [&]<class Exec>(const Exec& object) {
          const own_part part(n, comm, draw);
          const auto range = fanin::over(comm, fanin::range(object, part.begin - 9, part.end - 9));
          auto later = by_form([&](const auto&... what) { return fanin::parallel_reduce_async(range, what...); });
          EXPECT_TRUE(by_form([&](const auto&... what) { return fanin::parallel_reduce(range, what...); }) == expected);
          held<result, Exec> out(object, 1);
          by_form([&](const auto&... what) { fanin::parallel_reduce_into(out.data(), range, what...); });
          EXPECT_TRUE(value_of(out) == expected) << n;
          EXPECT_TRUE(later.get() == expected) << n;
        });
      }
    }
  }
}

/// Of numbers of any magnitude.
TEST_F(devices, exact_sums_and_products_of_data_on_every_backend) {
  constexpr std::int64_t n = 1'201;
  std::vector<double> x;
  for (std::int64_t i = 0; i < n; ++i) x.push_back(element(i));
  const std::span<const double> all(x);
  const fanin::exact_sum<double> sum;
  const double of_all = fanin::reduce(exec, all, sum);
  const double square = fanin::exact_norm2_squared(exec, all);
  const auto least = fanin::reduce(exec, all, fanin::min_loc<double>{});
  const fanin::mpi comm(MPI_COMM_WORLD);
  for (std::uint64_t draw = 0; draw < draws; ++draw) {
    on_any_backend(draw, [&](const auto& object) {
      const own_part part(n, comm, draw);
      const auto mine = copy_of<double>(
          object, all.subspan(static_cast<std::size_t>(part.begin), static_cast<std::size_t>(part.end - part.begin)));
      const auto data = fanin::over(comm, mine);
      auto later = fanin::reduce_async(object, data, sum);
      EXPECT_EQ(fanin::exact_dot(object, data, data), square);
      EXPECT_TRUE(fanin::reduce(object, data, fanin::min_loc<double>{}) == least);
      EXPECT_EQ(later.get(), of_all);
    });
  }
}

/// Once a rank, where its memory is, of an _async form also when the object has gone; and places in a box.
TEST_F(devices, what_finishes_on_every_backend) {
  const fanin::mpi comm(MPI_COMM_WORLD);
  const auto [of_all, most] =
      fanin::parallel_reduce(fanin::range(exec, 900), small_at{}, mean{}, fanin::max<std::int64_t>{});
  const double expected = 2.5 * of_all + static_cast<double>(most);
  const auto in_box = [](const auto& range) {
    return fanin::parallel_reduce(range, height_at{}, fanin::min_loc<std::int64_t>{});
  };
  const auto place = in_box(fanin::md_range(exec, {0, -3}, {40, 20}));
  for (std::uint64_t draw = 0; draw < draws; ++draw) {
    std::optional<fanin::pending<double>> beyond;
    std::function<std::int64_t()> calls_in_all;
    on_any_backend(draw, [&]<class Exec>(const Exec& object) {
      const own_part part(900, comm, draw);
      const auto range = fanin::over(comm, fanin::range(object, part.begin, part.end));
      const auto scale = std::make_shared<held<double, Exec>>(copy_of<double>(object, std::vector<double>{2.5}));
      const auto calls =
          std::make_shared<held<std::int64_t, Exec>>(copy_of<std::int64_t>(object, std::vector<std::int64_t>{0}));
      calls_in_all = [calls, scale] { return value_of(*calls); };
      const auto finish = fanin::finished(scaled{scale->data(), calls->data()}, mean{}, fanin::max<std::int64_t>{});
      beyond = fanin::parallel_reduce_async(range, small_at{}, finish);
      held<double, Exec> out(object, 1);
      fanin::parallel_reduce_into(out.data(), range, small_at{}, finish);
      EXPECT_EQ(value_of(out), expected);
      EXPECT_EQ(fanin::parallel_reduce(range, small_at{}, finish), expected);
      const own_part rows(40, comm, draw);
      EXPECT_TRUE(in_box(fanin::over(comm, fanin::md_range(object, {rows.begin, -3}, {rows.end, 20}))) == place);
    });
    EXPECT_EQ(beyond->get(), expected);
    EXPECT_EQ(calls_in_all(), 3);
  }
}

/// A tuning goes along, where it means something and where it does not.
TEST_F(devices, tunings) {
  const fanin::mpi comm(MPI_COMM_WORLD);
  const auto sum = fanin::exact_sum<double>{};
  const double expected = fanin::parallel_reduce(fanin::range(exec, 2'000), unit_at{}, sum);
  const auto check = [&](const auto& object) {
    const auto tuned = object.with({.schedule = fanin::schedule::dynamic, .chunk = 64});
    const own_part part(2'000, comm, 1);
    const auto range = fanin::over(comm, fanin::range(tuned, part.begin, part.end));
    const auto half = fanin::finished(halved{}, sum);
    auto later = fanin::parallel_reduce_async(range, unit_at{}, half);
    EXPECT_EQ(fanin::parallel_reduce(range, unit_at{}, sum), expected);
    EXPECT_EQ(later.get(), expected / 2);
  };
  if (comm.rank() % 2 == 0) {
    check(device());
  } else {
    check(fanin::kokkos<Kokkos::DefaultHostExecutionSpace>());
  }
}

/// Its rank throws what it threw, whatever its backend; the others learn that it has failed.
TEST_F(devices, a_part_that_fails_on_every_backend) {
  const fanin::mpi comm(MPI_COMM_WORLD);
  const bool fails = comm.rank() + 1 == comm.size();
  for (std::uint64_t draw = 0; draw < draws; ++draw) {
    on_any_backend(draw, [&](const auto& object) {
      const std::vector<double> three{1, 2, 3};
      const auto mine = copy_of<double>(object, three);
      const auto data = fanin::over(comm, std::span<const double>(fails ? nullptr : mine.data(), 3));
      const auto refused = [&](const auto& call) {
        try {
          call();
          ADD_FAILURE() << "nothing was thrown";
        } catch (const fanin::invalid_argument&) {
          EXPECT_TRUE(fails);
        } catch (const fanin::rank_error&) {
          EXPECT_FALSE(fails);
        }
      };
      const auto half = fanin::finished(halved{}, fanin::exact_sum<double>{});
      auto later = fanin::reduce_async(object, data, half);
      refused([&] { (void)fanin::reduce(object, data, fanin::exact_sum<double>{}); });
      refused([&] { (void)later.get(); });
      EXPECT_EQ(fanin::reduce(object, fanin::over(comm, mine), half), 3.0 * comm.size());
    });
  }
}

#if !FANIN_TEST_ON_PRETENDED_DEVICE

void expect_words(const std::function<void()>& call, const std::string& words) {
  try {
    call();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const fanin::state_error& error) {
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
  }
}

struct one_each {
  FANIN_FUNCTION double operator()(std::int64_t, std::int64_t) const { return 1; }
};

/// By every form, of every number of ranks, and without ranks by those that wait; what was begun before can be got, and
/// finished on the device, meanwhile.
TEST_F(devices, a_capture_on_an_instance_of_its_own) {
  const fanin::mpi comm(MPI_COMM_WORLD);
  const auto finish = fanin::finished(halved{}, fanin::exact_sum<double>{});
  const double expected = comm.size() * fanin::parallel_reduce(fanin::range(exec, 100), small_at{}, finish);
  for (const cudaStreamCaptureMode mode : {cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeRelaxed}) {
    const device gpu = device_of(true);
    const auto range = fanin::over(comm, fanin::range(gpu, 100));
    held<double, device> out(gpu, 1);
    const auto keys = copy_of<std::int32_t>(gpu, std::vector<std::int32_t>{7});
    held<std::int32_t, device> to_keys(gpu, 1);
    const fanin::sum<double> sum;
    auto before = fanin::parallel_reduce_async(range, small_at{}, finish);
    EXPECT_EQ(cudaStreamBeginCapture(stream_of(gpu), mode), cudaSuccess);
    const std::string of_ranks = "over ranks: the host waits for the other ranks in this call, and";
    expect_words([&] { (void)fanin::parallel_reduce(range, small_at{}, finish); }, of_ranks);
    expect_words([&] { fanin::parallel_reduce_into(out.data(), range, small_at{}, finish); }, of_ranks);
    expect_words([&] { (void)fanin::parallel_reduce_async(range, small_at{}, finish).get(); }, of_ranks);
    expect_words([&] { (void)fanin::parallel_reduce(range, unit_at{}, sum); }, of_ranks);
    expect_words([&] { (void)fanin::parallel_reduce(fanin::range(gpu, 100), unit_at{}, sum); },
                 "fanin::parallel_reduce: the host waits for this call's work");
    const fanin::runs_to to(to_keys, out.data());
    expect_words([&] { (void)fanin::parallel_reduce(to, fanin::runs(gpu, keys), unit_at{}, sum); },
                 "fanin::parallel_reduce: the host waits for this call's work");
    const std::string of_async = "fanin::parallel_reduce_async: the host waits for this call's work";
    expect_words([&] { (void)fanin::parallel_reduce_async(to, fanin::runs(gpu, keys), unit_at{}, sum); }, of_async);
    expect_words([&] { (void)fanin::parallel_reduce_async(out.data(), fanin::rows(gpu, 1, 9), one_each{}, sum); },
                 of_async);
    EXPECT_EQ(before.get(), expected);
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(stream_of(gpu), &graph), cudaSuccess);
    std::size_t nodes = 1;
    cudaGraphGetNodes(graph, nullptr, &nodes);
    EXPECT_EQ(nodes, 0u);
    cudaGraphDestroy(graph);
    EXPECT_EQ(fanin::parallel_reduce(range, small_at{}, finish), expected);
  }
}

#endif

}  // namespace
}  // namespace fanin_test

#if !FANIN_TEST_BESIDE_OTHERS  // devices_test.cpp has it
int main(int argc, char** argv) { return fanin_test::run_on_ranks(argc, argv); }
#endif
