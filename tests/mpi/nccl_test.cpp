// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <mpi.h>

#include <bit>
#include <chrono>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <fanin/exact_sum.hpp>
#include <fanin/finished.hpp>
#include <fanin/md_range.hpp>
#include <fanin/nccl/over.hpp>
#include <fanin/parallel_reduce.hpp>
#include <fanin/range.hpp>
#include <fanin/reduce.hpp>
#include <fanin/reducers.hpp>
#include <fanin/view.hpp>

#include "nccl_ranks.hpp"

#if FANIN_TEST_ON_SIMULATOR
#include <nccl.h>
#endif

/// Reductions over NCCL's ranks, each with a device: every test is run by all ranks, whatever their number; on one,
/// too, messages go through NCCL.
namespace fanin_test {
namespace {

template <class T>
held<T, fanin::cuda> part_of(const fanin::cuda& gpu, const std::vector<T>& all, const own_part& part) {
  return copy_of<T>(gpu, std::span<const T>(all).subspan(static_cast<std::size_t>(part.begin),
                                                         static_cast<std::size_t>(part.end - part.begin)));
}

struct both_parts {
  FANIN_FUNCTION fanin::tuple<std::complex<double>, double> operator()(std::int64_t i) const {
    return {{{std::complex<double>(-element_at{}(i), element_at{}(i))}, {element_at{}(i)}}};
  }
};

TEST_P(nccl_ranks, exact_sums_have_the_same_bits) {
  const auto comm = make_comm();
  const fanin::cuda gpu;
  const fanin::exact_sum<double> sum;
  held<double, fanin::cuda> out(gpu, 1);
  for (const std::int64_t n : {0, 1, 700, 3'011}) {
    const double expected = fanin::parallel_reduce(fanin::range(exec, n), element_at{}, sum);
    std::vector<double> all;
    for (std::int64_t i = 0; i < n; ++i) all.push_back(element(i));
    for (std::uint64_t draw = 0; draw < 3; ++draw) {
      const own_part part(n, *comm, draw);
      const auto range = fanin::over(*comm, fanin::range(gpu, part.begin, part.end));
      EXPECT_EQ(std::bit_cast<std::uint64_t>(fanin::parallel_reduce("sum", range, element_at{}, sum)),
                std::bit_cast<std::uint64_t>(expected))
          << n;
      auto later = fanin::parallel_reduce_async(range, element_at{}, sum);
      fanin::parallel_reduce_into(out.data(), range, element_at{}, sum);
      EXPECT_EQ(value_of(out), expected);
      EXPECT_EQ(later.get(), expected);
      const auto mine = part_of(gpu, all, part);
      EXPECT_EQ(fanin::reduce(gpu, fanin::over(*comm, mine), sum), expected);
      const double square = fanin::exact_norm2_squared(exec, all);
      EXPECT_EQ(fanin::exact_norm2_squared(gpu, fanin::over(*comm, mine)), square);
      EXPECT_EQ(fanin::exact_dot(gpu, fanin::over(*comm, mine), fanin::over(*comm, mine)), square);
      fanin::exact_norm2_squared_into(out.data(), gpu, fanin::over(*comm, mine));
      EXPECT_EQ(value_of(out), square);
    }
  }
}

/// Several exact sums, complex ones too, of parts some of which are empty.
TEST_P(nccl_ranks, several_exact_sums) {
  const auto comm = make_comm();
  const fanin::cuda gpu;
  const auto f = both_parts{};
  for (const std::int64_t n : {0, 2, 300}) {
    const auto sums = [&](const auto& range) {
      return fanin::parallel_reduce(range, f, fanin::exact_sum<std::complex<double>>{}, fanin::exact_sum<double>{});
    };
    const own_part part(n, *comm, 6);
    const auto [of_complex, of_double] = sums(fanin::over(*comm, fanin::range(gpu, part.begin, part.end)));
    const auto [complex, real] = sums(fanin::range(exec, n));
    EXPECT_EQ(of_complex, complex) << n;
    EXPECT_EQ(of_double, real) << n;
  }
}

/// Negative sums, infinities and NaN, of which words count.
TEST_P(nccl_ranks, exact_sums_of_special_values) {
  const auto comm = make_comm();
  const fanin::cuda gpu;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double largest = std::numeric_limits<double>::max();
  const auto sum = [&](double first, double last) {
    const std::vector<double> elements{comm->rank() == 0 ? first : 0.0, comm->rank() + 1 == comm->size() ? last : 0.0};
    const auto mine = copy_of<double>(gpu, elements);
    return fanin::reduce(gpu, fanin::over(*comm, mine), fanin::exact_sum<double>{});
  };
  EXPECT_EQ(sum(infinity, 1), infinity);
  EXPECT_EQ(sum(1, -infinity), -infinity);
  EXPECT_NE(sum(infinity, -infinity), sum(infinity, -infinity));
  EXPECT_EQ(sum(infinity, infinity), infinity);
  EXPECT_EQ(sum(-3, 1), -2);
  EXPECT_EQ(sum(-0x1p-1074, 0), -0x1p-1074);
  EXPECT_EQ(sum(largest, largest), infinity);
  EXPECT_EQ(sum(largest, -largest), 0);
}

TEST_P(nccl_ranks, every_kind_of_reducer_at_once) {
  const auto comm = make_comm();
  const fanin::cuda gpu;
  const auto all_kinds = [](const auto& range) {
    return fanin::parallel_reduce(range, small_at{}, fanin::sum<std::int64_t>{}, fanin::max_loc<std::int64_t>{},
                                  fanin::min_max_loc<std::int64_t>{}, fanin::bor<std::uint64_t>{}, mean{},
                                  fanin::exact_sum<double>{});
  };
  for (const std::int64_t n : {0, 3, 1'000}) {
    const auto whole = all_kinds(fanin::range(exec, -7, n - 7));
    for (std::uint64_t draw = 0; draw < 3; ++draw) {
      const own_part part(n, *comm, draw + 3);
      EXPECT_TRUE(all_kinds(fanin::over(*comm, fanin::range(gpu, part.begin - 7, part.end - 7))) == whole) << n;
    }
  }
  const own_part rows(40, *comm, 9);
  const auto [sum, most] =
      fanin::parallel_reduce(fanin::over(*comm, fanin::md_range(gpu, {rows.begin, -3}, {rows.end, 20})), in_plane{},
                             fanin::sum<std::int64_t>{}, fanin::max<std::int64_t>{});
  EXPECT_EQ(sum, 780 * (190 - 6));
  EXPECT_EQ(most, 39 + 19);
}

TEST_P(nccl_ranks, data_have_the_indices_of_the_whole) {
  constexpr std::int64_t n = 1'001;
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < n; ++i) all.push_back(small_at{}(i));
  all[n - 5] = -1;
  const auto least = fanin::min_loc<std::int64_t>{};
  const auto whole = fanin::reduce(exec, all, least);
  const auto comm = make_comm();
  const fanin::cuda gpu;
  for (std::uint64_t draw = 0; draw < 3; ++draw) {
    const own_part part(n, *comm, 5 + draw);
    const auto mine = part_of(gpu, all, part);
    EXPECT_TRUE(fanin::reduce(gpu, fanin::over(*comm, mine, part.begin), least) == whole);
    EXPECT_THROW((void)fanin::reduce(gpu, fanin::over(*comm, mine), least), fanin::invalid_argument);
  }
}

struct minus {
  FANIN_FUNCTION std::int64_t operator()(std::int64_t x, std::int64_t y) const { return x - y; }
};
/// Elements of two arrays at one index, of which one stands with gaps.
TEST_P(nccl_ranks, several_arrays_with_strides) {
  const auto comm = make_comm();
  const fanin::cuda gpu;
  const fanin::max_loc<std::int64_t> most;
  const fanin::sum<std::int64_t> sum;
  for (const std::int64_t n : {0, 3, 700}) {
    std::vector<std::int64_t> all;
    for (std::int64_t i = 0; i < 3 * n; ++i) all.push_back(small_at{}(i));
    const own_part part(n, *comm, 4);
    const std::int64_t count = part.end - part.begin;
    const auto held_all = copy_of<std::int64_t>(gpu, std::span<const std::int64_t>(all));
    const fanin::view<const std::int64_t, 1> strided(held_all.data() + 2 * part.begin, {count}, {2});
    const std::span<const std::int64_t> flat(held_all.data() + 2 * n + part.begin, static_cast<std::size_t>(count));
    const auto expected = fanin::transform_reduce(
        exec, fanin::view<const std::int64_t, 1>(all.data(), {n}, {2}),
        std::span<const std::int64_t>(all).subspan(static_cast<std::size_t>(2 * n)), minus{}, most, sum);
    const auto xs = fanin::over(*comm, strided, part.begin);
    const auto ys = fanin::over(*comm, flat, part.begin);
    auto later = fanin::transform_reduce_async(gpu, xs, ys, minus{}, most, sum);
    EXPECT_TRUE(fanin::transform_reduce(gpu, xs, ys, minus{}, most, sum) == expected) << n;
    EXPECT_TRUE(later.get() == expected) << n;
  }
}

TEST_P(nccl_ranks, rounded_sums_are_joined_in_order) {
  const auto comm = make_comm();
  const fanin::cuda gpu;
  for (std::uint64_t draw = 0; draw < 6; ++draw) {
    const own_part part(5'007, *comm, draw);
    const auto range = fanin::range(gpu, part.begin, part.end);
    const double own = fanin::parallel_reduce(range, unit_at{}, fanin::sum<double>{});
    std::vector<double> sums(static_cast<std::size_t>(comm->size()));
    MPI_Allgather(&own, 1, MPI_DOUBLE, sums.data(), 1, MPI_DOUBLE, MPI_COMM_WORLD);
    double expected = sums[0];
    for (std::size_t rank = 1; rank < sums.size(); ++rank) expected += sums[rank];
    const auto all = fanin::over(*comm, range);
    held<double, fanin::cuda> out(gpu, 1);
    fanin::parallel_reduce_into(out.data(), all, unit_at{}, fanin::sum<double>{});
    EXPECT_EQ(value_of(out), expected);
    EXPECT_EQ(fanin::parallel_reduce(all, unit_at{}, fanin::sum<double>{}), expected);
    EXPECT_EQ(fanin::parallel_reduce_async(all, unit_at{}, fanin::sum<double>{}).get(), expected);
  }
}

TEST_P(nccl_ranks, what_finishes) {
  const auto comm = make_comm();
  const fanin::cuda gpu;
  const auto [of_all, most] =
      fanin::parallel_reduce(fanin::range(exec, 900), small_at{}, mean{}, fanin::max<std::int64_t>{});
  const double expected = 2.5 * of_all + static_cast<double>(most);
  const own_part part(900, *comm, 2);
  const auto range = fanin::over(*comm, fanin::range(gpu, part.begin, part.end));
  const std::vector<double> scales{2.5};
  const auto scale = copy_of<double>(gpu, scales);
  const std::vector<std::int64_t> none{0};
  auto calls = copy_of<std::int64_t>(gpu, none);
  const auto finish = fanin::finished(scaled{scale.data(), calls.data()}, mean{}, fanin::max<std::int64_t>{});
  EXPECT_EQ(fanin::parallel_reduce(range, small_at{}, finish), expected);
  auto later = fanin::parallel_reduce_async(range, small_at{}, finish);
  held<double, fanin::cuda> out(gpu, 1);
  fanin::parallel_reduce_into(out.data(), range, small_at{}, finish);
  EXPECT_EQ(value_of(out), expected);
  EXPECT_EQ(later.get(), expected);
  EXPECT_EQ(value_of(calls), 3);
}

/// Looked at, dropped, got in an order of each rank's own, after the objects.
TEST_P(nccl_ranks, results_that_come_later) {
  const auto expected = [](std::int64_t n) {
    return fanin::parallel_reduce(fanin::range(exec, n), small_at{}, fanin::sum<std::int64_t>{});
  };
  for (std::uint64_t draw = first_seed(); draw < first_seed() + 4; ++draw) {
    begin(draw);
    auto comm = make_comm();
    std::optional<fanin::cuda> gpu(std::in_place);
    std::vector<fanin::pending<std::int64_t>> pendings;
    for (std::int64_t n = 0; n < 15; ++n) {
      const own_part part(n * 20, *comm, static_cast<std::uint64_t>(n) + draw);
      const auto range = fanin::over(*comm, fanin::range(*gpu, part.begin, part.end));
      pendings.push_back(fanin::parallel_reduce_async(range, small_at{}, fanin::sum<std::int64_t>{}));
      if (n % 5 == 4) (void)fanin::parallel_reduce_async(range, small_at{}, fanin::exact_sum<double>{});
      if (n % 7 == 6) {
        EXPECT_EQ(fanin::parallel_reduce(range, small_at{}, fanin::sum<std::int64_t>{}), expected(n * 20));
      }
    }
    if (draw % 2 == 1) gpu.reset();
    comm.reset();
    const auto shift = static_cast<std::size_t>(rank_of_world());
    for (std::size_t k = 0; k < pendings.size(); ++k) {
      const std::size_t at = (shift + k * 7) % pendings.size();
      if (mix(k * 64 + shift) % 2 == 0) (void)pendings[at].ready();
      EXPECT_EQ(pendings[at].get(), expected(static_cast<std::int64_t>(at) * 20));
    }
  }
}

/// An _into form is captured, and each replay exchanges anew; forms that wait are refused.
TEST_P(nccl_ranks, graphs) {
  const auto comm = make_comm();
  const fanin::cuda gpu;
  std::vector<double> elements{1.0 + comm->rank(), -0x1p-40};
  auto mine = copy_of<double>(gpu, elements);
  const auto data = fanin::over(*comm, mine);
  held<double, fanin::cuda> exact(gpu, 1);
  held<double, fanin::cuda> rounded(gpu, 1);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  cudaStreamBeginCapture(gpu.stream(), cudaStreamCaptureModeThreadLocal);
  fanin::reduce_into(exact.data(), gpu, data, fanin::exact_sum<double>{});
  fanin::reduce_into(rounded.data(), gpu, data, fanin::sum<double>{});
  EXPECT_THROW((void)fanin::reduce(gpu, data, fanin::sum<double>{}), fanin::state_error);
  EXPECT_THROW((void)fanin::reduce_async(gpu, data, fanin::sum<double>{}), fanin::state_error);
  ASSERT_EQ(cudaStreamEndCapture(gpu.stream(), &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
  const int ranks = comm->size();
  for (int round = 0; round < 3; ++round) {
    elements[0] = round + 1.0 + comm->rank();
    mine.copy_from(elements);
    cudaGraphLaunch(executable, gpu.stream());
    const double expected = ranks * (round + 1.0) + ranks * (ranks - 1) / 2.0;
    EXPECT_EQ(fanin::reduce(gpu, data, fanin::sum<double>{}), expected - ranks * 0x1p-40);
    EXPECT_EQ(value_of(exact), expected - ranks * 0x1p-40);
    EXPECT_EQ(value_of(rounded), expected - ranks * 0x1p-40);
  }
  gpu.synchronize();
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
}

struct counting {
  std::int64_t* calls;
  FANIN_FUNCTION double operator()(double sum) const {
    ++*calls;
    return sum;
  }
};

/// A part that is refused, of all forms; an _into form leaves its destination, and check() tells.
TEST_P(nccl_ranks, a_part_that_fails) {
  const auto comm = make_comm();
  const fanin::cuda gpu;
  const bool fails = comm->rank() + 1 == comm->size();
  const std::vector<double> three{1, 2, 3};
  const auto mine = copy_of<double>(gpu, three);
  const auto data = fanin::over(*comm, std::span<const double>(fails ? nullptr : mine.data(), 3), 3 * comm->rank());
  const auto refused = [&](const auto& call) {
    try {
      call();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const fanin::invalid_argument&) {
      EXPECT_TRUE(fails);
    } catch (const fanin::rank_error& error) {
      EXPECT_FALSE(fails);
      EXPECT_NE(std::string(error.what()).find("over NCCL's ranks: a rank has failed"), std::string::npos)
          << error.what();
    }
  };
  for (int round = 0; round < 2; ++round) {
    refused([&] { (void)fanin::reduce(gpu, data, fanin::sum<double>{}); });
    refused([&] { (void)fanin::reduce(gpu, data, fanin::exact_sum<double>{}); });
    auto later = fanin::reduce_async(gpu, data, fanin::exact_sum<double>{});
    refused([&] { (void)fanin::reduce(gpu, data, fanin::min_loc<double>{}); });
    refused([&] { (void)later.get(); });
    const std::vector<double> before{7};
    const auto out = copy_of<double>(gpu, before);
    EXPECT_NO_THROW(comm->check());
    double* const to = const_cast<double*>(out.data());
    const auto into = [&] { fanin::reduce_into(to, gpu, data, fanin::sum<double>{}); };
    if (fails) {
      EXPECT_THROW(into(), fanin::invalid_argument);
    } else {
      EXPECT_NO_THROW(into());
    }
    gpu.synchronize();
    EXPECT_EQ(value_of(out), 7);
    if (!fails) {
      EXPECT_THROW(comm->check(), fanin::rank_error);
    }
    EXPECT_NO_THROW(comm->check());  // it has been told

    // What finishes is not called.
    const std::vector<std::int64_t> none{0};
    auto calls = copy_of<std::int64_t>(gpu, none);
    const auto finish = fanin::finished(counting{calls.data()}, fanin::sum<double>{});
    refused([&] { (void)fanin::reduce(gpu, data, finish); });
    auto finished_later = fanin::reduce_async(gpu, data, finish);
    refused([&] { (void)finished_later.get(); });
    try {
      fanin::reduce_into(to, gpu, data, finish);
    } catch (const fanin::invalid_argument&) {
      EXPECT_TRUE(fails);
    }
    gpu.synchronize();
    EXPECT_EQ(value_of(calls), 0);
    EXPECT_EQ(value_of(out), 7);
    if (!fails) {
      EXPECT_THROW(comm->check(), fanin::rank_error);
    }
    EXPECT_EQ(fanin::reduce(gpu, fanin::over(*comm, mine), fanin::sum<double>{}), 6.0 * comm->size());
    EXPECT_EQ(fanin::reduce(gpu, fanin::over(*comm, mine), fanin::exact_sum<double>{}), 6.0 * comm->size());
  }
}

/// All but the first rank's: those that fail are as many as there are, and no other thing.
TEST_P(nccl_ranks, parts_that_fail_together) {
  const auto comm = make_comm();
  const fanin::cuda gpu;
  const bool fails = comm->rank() > 0;
  const auto mine = copy_of<double>(gpu, std::vector<double>{1, 2, 3});
  const auto data = fanin::over(*comm, std::span<const double>(fails ? nullptr : mine.data(), 3));
  for (int round = 0; round < 2 && comm->size() > 1; ++round) {
    const auto call = [&] { (void)fanin::reduce(gpu, data, fanin::exact_sum<double>{}); };
    if (fails) {
      EXPECT_THROW(call(), fanin::invalid_argument);
    } else {
      EXPECT_THROW(call(), fanin::rank_error);
    }
    EXPECT_EQ(fanin::reduce(gpu, fanin::over(*comm, mine), fanin::exact_sum<double>{}), 6.0 * comm->size());
  }
}

/// A reducer of one's own is joined by its join, whatever its accumulators are.
TEST_P(nccl_ranks, reducers_with_exact_accumulators) {
  const auto comm = make_comm();
  const fanin::cuda gpu;
  const auto range = fanin::over(*comm, fanin::range(gpu, 3 * comm->rank(), 3 * comm->rank() + 3));
  EXPECT_EQ(fanin::parallel_reduce(range, unit_at{}, greatest_exactly{}),
            fanin::parallel_reduce(fanin::range(exec, 3 * comm->size()), unit_at{}, fanin::max<double>{}));
}

TEST_P(nccl_ranks, wrong_arguments) {
  EXPECT_THROW(fanin::nccl(ncclComm_t{}), fanin::invalid_argument);
  EXPECT_THROW(fanin::nccl(fanin::nccl::make_id(), 2, 2), fanin::invalid_argument);
  const auto comm = make_comm();
  const fanin::cuda gpu;
  const auto range = fanin::over(*comm, fanin::range(gpu, 10));
  EXPECT_THROW(fanin::parallel_reduce_into(static_cast<double*>(nullptr), range, unit_at{}, fanin::sum<double>{}),
               fanin::invalid_argument);
  const fanin::nccl borrowed(comm->get(), through_nccl);
  EXPECT_EQ(borrowed.size(), comm->size());
  EXPECT_EQ(borrowed.rank(), rank_of_world());
  EXPECT_EQ(fanin::parallel_reduce(fanin::over(borrowed, fanin::range(gpu, 10)), small_at{}, mean{}),
            fanin::parallel_reduce(fanin::range(exec, 10), small_at{}, mean{}));
}

/// Without others nothing goes through NCCL, unless it is asked for.
TEST_P(nccl_ranks, of_one_rank) {
  const fanin::nccl comm(fanin::nccl::make_id(), 0, 1);
  const fanin::cuda gpu;
  const auto range = fanin::over(comm, fanin::range(gpu, 3'000));
  const double expected = fanin::parallel_reduce(fanin::range(gpu, 3'000), unit_at{}, fanin::sum<double>{});
  const fanin::cuda_launch launch = gpu.last_launch();
  EXPECT_EQ(fanin::parallel_reduce(range, unit_at{}, fanin::sum<double>{}), expected);
  EXPECT_TRUE(gpu.last_launch() == launch);
  EXPECT_EQ(fanin::parallel_reduce_async(range, unit_at{}, fanin::sum<double>{}).get(), expected);
  held<double, fanin::cuda> out(gpu, 1);
  fanin::parallel_reduce_into(out.data(), range, unit_at{}, fanin::sum<double>{});
  EXPECT_EQ(value_of(out), expected);
}

#if FANIN_TEST_ON_SIMULATOR

/// What NCCL says on its own ends a wait, and the communicator.
TEST_P(nccl_ranks, asynchronous_errors) {
  const auto comm = make_comm();
  const fanin::cuda gpu;
  const auto range = fanin::over(*comm, fanin::range(gpu, 100));
  const std::int64_t expected =
      comm->size() * fanin::parallel_reduce(fanin::range(exec, 100), small_at{}, fanin::sum<std::int64_t>{});
  simulated_nccl::delay(comm->get());
  EXPECT_EQ(fanin::parallel_reduce(range, small_at{}, fanin::sum<std::int64_t>{}), expected);
  auto later = fanin::parallel_reduce_async(range, small_at{}, fanin::sum<std::int64_t>{});
  gpu.synchronize();
  simulated_nccl::set_error(comm->get(), ncclRemoteError);
  EXPECT_EQ(later.get(), expected);  // it had come
  const int before = simulated_nccl::aborts();
  try {
    comm->check();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const fanin::nccl_error& error) {
    EXPECT_EQ(error.code(), static_cast<int>(ncclRemoteError));
    EXPECT_NE(std::string(error.what()).find("remote error"), std::string::npos) << error.what();
  }
  EXPECT_EQ(simulated_nccl::aborts(), before + 1);
  EXPECT_THROW((void)fanin::parallel_reduce(range, small_at{}, fanin::sum<std::int64_t>{}), fanin::state_error);
}

/// Device memory of which there is none for a while.
struct memory_of_call {
  bool is_out = false;
  void* allocate(std::size_t bytes, std::size_t, cudaStream_t) const {
    void* memory = nullptr;
    if (is_out || cudaMalloc(&memory, bytes) != cudaSuccess) throw std::bad_alloc();
    return memory;
  }
  void deallocate(void* memory, std::size_t, std::size_t, cudaStream_t) const { cudaFree(memory); }
};
TEST_P(nccl_ranks, a_rank_without_memory_makes_no_other_call) {
  const auto comm = make_comm({.exchanges_alone = true, .one_launch = GetParam()});
  fanin::cuda whose_stream;
  memory_of_call memory;
  const fanin::cuda gpu(whose_stream.stream(), &memory);
  fanin::buffer<std::int64_t, fanin::cuda> out(whose_stream, 1);
  const auto call = [&] {
    fanin::parallel_reduce_into(out.data(), fanin::over(*comm, fanin::range(gpu, 10)), small_at{},
                                fanin::sum<std::int64_t>{});
  };
  memory.is_out = true;
  EXPECT_THROW(call(), std::bad_alloc);  // on all ranks, so that none waits
  memory.is_out = false;
  if (comm->is_one_launch()) {  // where it is the part that has none, of which the others learn
    call();
    gpu.synchronize();
    EXPECT_NO_THROW(comm->check());
    std::int64_t expected = 0;
    for (std::int64_t i = 0; i < 10; ++i) expected += comm->size() * small_at{}(i);
    EXPECT_EQ(*out.data(), expected);  // memory of a simulated device
  } else {
    EXPECT_THROW(call(), fanin::state_error);
  }
}

/// A result that never comes.
class never final : public fanin::detail::pending_slot {
 public:
  bool is_ready() noexcept override { return false; }
  void take(void*, std::size_t) override { ADD_FAILURE() << "it has not come"; }
  void release() noexcept override { delete this; }
};
TEST_P(nccl_ranks, results_that_do_not_come) {
  const auto comm =
      make_comm({.patience = std::chrono::milliseconds(30), .exchanges_alone = true, .one_launch = GetParam()});
  const int before = simulated_nccl::aborts();
  for (int round = 0; round < 2; ++round) {
    fanin::pending<double> result(fanin::detail::watched(state_of(*comm), fanin::detail::pending_handle(new never)));
    if (round == 0) {
      EXPECT_FALSE(result.ready());
      try {
        (void)result.get();
        ADD_FAILURE() << "nothing was thrown";
      } catch (const fanin::nccl_error& error) {
        EXPECT_NE(std::string(error.what()).find("after 30 ms the result of all ranks had not come"), std::string::npos)
            << error.what();
      }
    } else {
      EXPECT_TRUE(result.ready());
      EXPECT_THROW((void)result.get(), fanin::state_error);
    }
  }
  EXPECT_EQ(simulated_nccl::aborts(), before + 1);
}

#endif

// --- Where ranks reach each other's memory

/// A state of which no slot has room.
struct long_sum {
  struct many {
    double of[400];
  };
  using value_type = double;
  using accumulator_type = many;
  using result_type = double;
  FANIN_FUNCTION many identity() const { return {}; }
  FANIN_FUNCTION void fold(many& into, double value, std::int64_t i) const { into.of[i % 400] += value; }
  FANIN_FUNCTION void join(many& into, const many& from) const {
    for (int k = 0; k < 400; ++k) into.of[k] += from.of[k];
  }
  FANIN_FUNCTION double result(const many& all) const {
    double sum = 0;
    for (const double one : all.of) sum += one;
    return sum;
  }
};

TEST_P(nccl_ranks, messages_of_any_length) {
  const auto comm = make_comm();
  const fanin::cuda gpu;
  if (!GetParam()) {
    EXPECT_FALSE(comm->is_one_launch());
  }
  const own_part part(3'000, *comm, 1);
  const auto range = fanin::over(*comm, fanin::range(gpu, part.begin, part.end));
  const auto expected = fanin::parallel_reduce(fanin::range(exec, 3'000), small_at{}, fanin::sum<std::int64_t>{});
  EXPECT_EQ(fanin::parallel_reduce(range, small_at{}, fanin::sum<std::int64_t>{}), expected);
  EXPECT_EQ(fanin::parallel_reduce(range, small_at{}, long_sum{}), static_cast<double>(expected));
}

/// Numbers begin anew, and slots are cleared, with messages of one unit and of many.
TEST_P(nccl_ranks, numbers_of_calls) {
  const auto comm = make_comm();
  if (!comm->is_one_launch()) GTEST_SKIP() << "calls take several launches here: they have no numbers";
  const fanin::cuda gpu;
  const fanin::detail::nccl_peers& peers = peers_of(state_of(*comm));
  for (const std::uint32_t number : {UINT32_MAX - 5, (1U << 20) - 5, 3 * (1U << 20) - 4}) {
    gpu.synchronize();
    MPI_Barrier(MPI_COMM_WORLD);
    ASSERT_EQ(cudaMemcpyAsync(peers.control, &number, sizeof(number), cudaMemcpyHostToDevice, gpu.stream()),
              cudaSuccess);
    gpu.synchronize();
    for (std::int64_t round = 0; round < 12; ++round) {
      const auto range = fanin::over(*comm, fanin::range(gpu, round * comm->rank(), round * (comm->rank() + 1)));
      const auto whole = fanin::range(exec, 0, round * comm->size());
      if (round % 3 == 1) {
        EXPECT_EQ(fanin::parallel_reduce(range, element_at{}, fanin::exact_sum<double>{}),
                  fanin::parallel_reduce(whole, element_at{}, fanin::exact_sum<double>{}));
      } else {
        EXPECT_EQ(fanin::parallel_reduce(range, small_at{}, fanin::sum<std::int64_t>{}),
                  fanin::parallel_reduce(whole, small_at{}, fanin::sum<std::int64_t>{}));
      }
    }
  }
}

/// Objects with streams of their own take turns, which are not the same on all ranks.
TEST_P(nccl_ranks, several_objects) {
  const auto comm = make_comm();
  std::vector<std::optional<fanin::cuda>> gpus(3);
  for (auto& gpu : gpus) gpu.emplace();
  std::vector<fanin::pending<std::int64_t>> pendings;
  std::vector<std::int64_t> expected;
  for (std::uint64_t round = 0; round < 60; ++round) {
    auto& gpu = gpus[mix(round * 8 + static_cast<std::uint64_t>(comm->rank())) % gpus.size()];
    const auto n = static_cast<std::int64_t>(mix(round) % 2'000);
    const own_part part(n, *comm, round);
    const auto range = fanin::over(*comm, fanin::range(*gpu, part.begin, part.end));
    pendings.push_back(fanin::parallel_reduce_async(range, small_at{}, fanin::sum<std::int64_t>{}));
    expected.push_back(fanin::parallel_reduce(fanin::range(exec, n), small_at{}, fanin::sum<std::int64_t>{}));
    if (round % 2 == 1) gpu.emplace();  // the old one waits for its work
  }
  for (std::size_t k = 0; k < pendings.size(); ++k) EXPECT_EQ(pendings[k].get(), expected[k]) << k;
}

/// A rank comes too late: the others' calls end with what they were to give, and so does its next one.
TEST_P(nccl_ranks, a_rank_that_comes_too_late) {
  if (!GetParam()) GTEST_SKIP() << "NCCL's kernels wait without end: hosts give the communicator up";
  const auto comm =
      make_comm({.patience = std::chrono::milliseconds(200), .exchanges_alone = true, .one_launch = true});
  if (comm->size() == 1) GTEST_SKIP() << "there is no other rank";
  if (!comm->is_one_launch()) GTEST_SKIP() << "calls take several launches here";
  // One block, or one that waits for others, too.
  for (const auto& [into, n] : {std::pair{false, 1}, std::pair{true, 1}, std::pair{true, 3'000}}) {
    const auto own = make_comm(comm->options());
    const fanin::cuda gpu;
    const std::vector<std::int64_t> before{7};
    auto out = copy_of<std::int64_t>(gpu, before);
    const bool is_late = own->rank() + 1 == own->size();
    const auto range = fanin::over(*own, fanin::range(gpu, own->rank() * n, (own->rank() + 1) * n));
    const auto call = [&] { return fanin::parallel_reduce(range, small_at{}, fanin::sum<std::int64_t>{}); };
    const auto gives_up = [&](const auto& attempt) {
      try {
        attempt();
        ADD_FAILURE() << "nothing was thrown";
      } catch (const fanin::nccl_error& error) {
        EXPECT_NE(std::string(error.what()).find("after 200 ms the result of all ranks had not come"),
                  std::string::npos)
            << error.what();
      }
    };
    if (is_late) {
      MPI_Barrier(MPI_COMM_WORLD);
      EXPECT_EQ(call(),
                fanin::parallel_reduce(fanin::range(exec, own->size() * n), small_at{}, fanin::sum<std::int64_t>{}));
      gives_up(call);
    } else {
      if (into) {
        const auto begin = std::chrono::steady_clock::now();
        for (int k = 0; k < 20; ++k) {
          fanin::parallel_reduce_into(const_cast<std::int64_t*>(out.data()), range, small_at{},
                                      fanin::sum<std::int64_t>{});
        }
        gpu.synchronize();
        EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));  // the first waits, no other one
        EXPECT_EQ(value_of(out), 7);
        gives_up([&] { own->check(); });
      } else {
        gives_up(call);
      }
      MPI_Barrier(MPI_COMM_WORLD);
    }
    EXPECT_THROW((void)call(), fanin::state_error);
    EXPECT_THROW(own->check(), fanin::state_error);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

#if !FANIN_TEST_ON_SIMULATOR

/// A test of the build, too: with another NCCL than the one that is loaded all that stands here would be skipped.
TEST_P(nccl_ranks, where_devices_reach_each_other_calls_are_one_launch) {
  if (!GetParam()) GTEST_SKIP() << "it was not asked for";
  const auto comm = make_comm();
  for (int peer = 0; peer < comm->size(); ++peer) {
    int reaches = peer == comm->device() ? 1 : 0;
    if (reaches == 0) cudaDeviceCanAccessPeer(&reaches, comm->device(), peer);
    if (reaches == 0) GTEST_SKIP() << "device " << comm->device() << " does not reach device " << peer;
  }
  EXPECT_TRUE(comm->is_one_launch());
}

#else

/// A message that is longer than a rank's own call has them ends the communicator there, and nothing else does.
TEST_P(nccl_ranks, a_rank_that_makes_another_call) {
  const auto comm =
      make_comm({.patience = std::chrono::seconds(20), .exchanges_alone = true, .one_launch = GetParam()});
  if (!comm->is_one_launch()) GTEST_SKIP() << "NCCL's kernels do not tell";
  if (comm->size() == 1) GTEST_SKIP() << "there is no other rank";
  const fanin::cuda gpu;
  const auto range = fanin::over(*comm, fanin::range(gpu, 10));
  if (comm->rank() == 0) {
    EXPECT_THROW((void)fanin::parallel_reduce(range, small_at{}, fanin::sum<std::int64_t>{}), fanin::nccl_error);
    EXPECT_THROW(comm->check(), fanin::state_error);
  } else {  // rank 0's message is short, and no number
    EXPECT_NO_THROW((void)fanin::parallel_reduce(range, element_at{}, fanin::exact_sum<double>{}));
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/// All ranks take one launch, or none does.
TEST_P(nccl_ranks, where_ranks_do_not_reach_each_other) {
  if (!GetParam()) GTEST_SKIP() << "it was not asked for";
  const fanin::cuda gpu;
  const auto expected = fanin::parallel_reduce(fanin::range(exec, 100), small_at{}, fanin::sum<std::int64_t>{});
  const auto sum = [&](const fanin::nccl& comm) {
    const own_part part(100, comm, 4);
    return fanin::parallel_reduce(fanin::over(comm, fanin::range(gpu, part.begin, part.end)), small_at{},
                                  fanin::sum<std::int64_t>{});
  };
  const bool is_last = rank_of_world() + 1 == make_comm()->size();
  if (is_last) simulated_nccl::set_version(NCCL_VERSION_CODE + 1);
  auto comm = make_comm();
  simulated_nccl::set_version(NCCL_VERSION_CODE);
  EXPECT_FALSE(comm->is_one_launch());
  EXPECT_EQ(sum(*comm), expected);
  simulated_nccl::set_reach(false);
  comm = make_comm();
  simulated_nccl::set_reach(true);
  EXPECT_EQ(comm->is_one_launch(), comm->size() == 1);
  EXPECT_EQ(sum(*comm), expected);
  comm = make_comm();
  EXPECT_TRUE(comm->is_one_launch());
  EXPECT_EQ(sum(*comm), expected);
}

#endif

/// Forms, reducers, splits and failures drawn from a seed; more rounds, where the environment says so.
TEST_P(nccl_ranks, many_rounds) {
  const auto comm = make_comm();
  const fanin::cuda gpu;
  std::vector<std::function<void()>> later;
  const char* const asked = std::getenv("FANIN_RANKS_ROUNDS");
  const std::uint64_t rounds = asked == nullptr ? 200 : std::strtoull(asked, nullptr, 10);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const std::uint64_t draw = mix(round + 977 + first_seed() * 1'000);
    const auto n = static_cast<std::int64_t>(draw / 3 % 400);
    const own_part part(n, *comm, draw % 1'000'000);
    const bool is_to_fail = draw / 10'000 % 8 == 0;
    const bool fails = is_to_fail && static_cast<int>(draw / 100'000 % 97) % comm->size() == comm->rank();
    std::vector<std::int64_t> all;
    for (std::int64_t i = 0; i < n; ++i) all.push_back(small_at{}(i));
    const auto mine = std::make_shared<held<std::int64_t, fanin::cuda>>(part_of(gpu, all, part));
    const auto reduce = [&](const auto& reducer) {
      const auto expected = fanin::reduce(exec, all, reducer);
      using result = std::remove_const_t<decltype(expected)>;
      const std::int64_t* const elements = fails ? nullptr : mine->data();
      const std::span<const std::int64_t> span(elements, fails ? 3 : static_cast<std::size_t>(mine->size()));
      const auto data = fanin::over(*comm, span, part.begin);
      const auto check = [=](const auto& call) {
        try {
          const result got = call();
          EXPECT_TRUE(got == expected && !is_to_fail) << round;
        } catch (const fanin::invalid_argument&) {
          EXPECT_TRUE(fails) << round;
        } catch (const fanin::rank_error&) {
          EXPECT_TRUE(is_to_fail && !fails) << round;
        }
      };
      switch (draw / 1'000 % 4) {
        case 0: check([&] { return fanin::reduce(gpu, data, reducer); }); break;
        case 1:
          check([&] {
            held<result, fanin::cuda> out(gpu, 1);
            fanin::reduce_into(out.data(), gpu, data, reducer);
            gpu.synchronize();
            comm->check();
            return value_of(out);
          });
          break;
        default: {
          const auto pending = std::make_shared<fanin::pending<result>>(fanin::reduce_async(gpu, data, reducer));
          if (draw / 77 % 3 == 0) break;  // dropped
          later.push_back([pending, mine, check] { check([&] { return pending->get(); }); });
        }
      }
    };
    switch (draw / 300 % 3) {
      case 0: reduce(fanin::sum<std::int64_t>{}); break;
      case 1: reduce(fanin::max_loc<std::int64_t>{}); break;
      default: reduce(mean{}); break;
    }
    if (later.size() > 10) {
      for (std::size_t k = 0; k < later.size(); ++k) later[(k * 7 + round) % later.size()]();
      later.clear();
    }
  }
}

std::string name_of_way(const testing::TestParamInfo<bool>& way) { return way.param ? "one_launch" : "by_nccl"; }
INSTANTIATE_TEST_SUITE_P(ways, nccl_ranks, ::testing::Bool(), name_of_way);

}  // namespace
}  // namespace fanin_test

int main(int argc, char** argv) { return fanin_test::run_on_ranks(argc, argv); }
