// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <fanin/exact_sum.hpp>
#include <fanin/finished.hpp>
#include <fanin/md_range.hpp>
#include <fanin/mpi/over.hpp>
#include <fanin/parallel_reduce.hpp>
#include <fanin/range.hpp>
#include <fanin/reduce.hpp>
#include <fanin/reducers.hpp>

#include "devices.hpp"

/// Reductions over ranks of which some have their part on a device, CUDA's or Kokkos's, and others on serial: every
/// test is run by all ranks, whatever their number.
namespace fanin_test {
namespace {

std::vector<fanin::mpi_options> all_options() { return {{}, {.gather_up_to = 2, .check_calls = true}}; }

/// On which ranks a draw has devices; draw 0 on all.
bool has_device(std::uint64_t draw, int rank) {
  return draw == 0 || mix(draw * 64 + static_cast<std::uint64_t>(rank)) % 2 == 0;
}
/// Calls use(object) with the device, or with serial.
template <class Use>
void on_some_backend(std::uint64_t draw, const Use& use) {
  if (has_device(draw, rank_of_world())) {
    const device gpu;
    use(gpu);
  } else {
    use(exec);
  }
}

TEST_F(devices, exact_sums_have_the_same_bits) {
  const fanin::exact_sum<double> sum;
  for (const auto& options : all_options()) {
    const fanin::mpi comm(MPI_COMM_WORLD, options);
    for (const std::int64_t n : {0, 1, 700, 3'011}) {
      const double expected = fanin::parallel_reduce(fanin::range(exec, n), element_at{}, sum);
      std::vector<double> all;
      for (std::int64_t i = 0; i < n; ++i) all.push_back(element(i));
      for (std::uint64_t draw = 0; draw < 3; ++draw) {
        on_some_backend(draw, [&]<class Exec>(const Exec& object) {
          const own_part part(n, comm, draw);
          const auto range = fanin::over(comm, fanin::range(object, part.begin, part.end));
          EXPECT_EQ(std::bit_cast<std::uint64_t>(fanin::parallel_reduce("sum", range, element_at{}, sum)),
                    std::bit_cast<std::uint64_t>(expected))
              << n;
          held<double, Exec> out(object, 1);
          fanin::parallel_reduce_into(out.data(), range, element_at{}, sum);
          EXPECT_EQ(value_of(out), expected);
          auto later = fanin::parallel_reduce_async(range, element_at{}, sum);
          const auto mine =
              copy_of<double>(object, std::span(all).subspan(static_cast<std::size_t>(part.begin),
                                                             static_cast<std::size_t>(part.end - part.begin)));
          EXPECT_EQ(fanin::reduce(object, fanin::over(comm, mine), sum), expected);
          EXPECT_EQ(later.get(), expected);
        });
      }
    }
  }
}

void check_products(std::span<const double> x, std::span<const double> y) {
  const double dot = fanin::exact_dot(exec, x, y);
  const double square = fanin::exact_norm2_squared(exec, x);
  const fanin::mpi comm(MPI_COMM_WORLD);
  for (std::uint64_t draw = 0; draw < 3; ++draw) {
    on_some_backend(draw, [&]<class Exec>(const Exec& object) {
      const own_part part(static_cast<std::int64_t>(x.size()), comm, draw);
      const auto mine = [&](const auto& of) {
        return copy_of<double>(
            object, of.subspan(static_cast<std::size_t>(part.begin), static_cast<std::size_t>(part.end - part.begin)));
      };
      const auto my_x = mine(x);
      const auto my_y = mine(y);
      EXPECT_EQ(fanin::exact_dot(object, fanin::over(comm, my_x), fanin::over(comm, my_y)), dot);
      EXPECT_EQ(fanin::exact_norm2_squared(object, fanin::over(comm, my_x)), square);
      held<double, Exec> out(object, 1);
      fanin::exact_dot_into(out.data(), object, fanin::over(comm, my_x), fanin::over(comm, my_y));
      EXPECT_EQ(value_of(out), dot);
    });
  }
}

/// Of numbers of any magnitude, and of one, which threads hold without an accumulator.
TEST_F(devices, exact_products_have_the_same_bits) {
  constexpr std::int64_t n = 1'501;
  std::vector<double> x;
  std::vector<double> y;
  for (std::int64_t i = 0; i < n; ++i) {
    x.push_back(i < 500 ? unit_at{}(i) : element(i));
    y.push_back(i < 500 ? unit_at{}(-i) : element(n - i / 2));
  }
  for (const std::int64_t some : {std::int64_t{0}, std::int64_t{500}, n}) {
    check_products(std::span(x).first(static_cast<std::size_t>(some)),
                   std::span(y).first(static_cast<std::size_t>(some)));
  }
}

/// A functor that adds to what threads hold of an exact sum.
struct add_unit {
  FANIN_FUNCTION void operator()(std::int64_t i, fanin::exact_sum<double>::thread_state& state) const {
    state += unit_at{}(i);
  }
};
TEST_F(devices, exact_sums_of_states) {
  const fanin::mpi comm(MPI_COMM_WORLD);
  const fanin::exact_sum<double> sum;
  const double expected = fanin::parallel_reduce(fanin::range(exec, 900), unit_at{}, sum);
  for (std::uint64_t draw = 0; draw < 3; ++draw) {
    on_some_backend(draw, [&](const auto& object) {
      const own_part part(900, comm, draw);
      const auto range = fanin::over(comm, fanin::range(object, part.begin, part.end));
      EXPECT_EQ(fanin::parallel_reduce(range, add_unit{}, sum), expected);
      EXPECT_EQ(fanin::parallel_reduce_async(range, add_unit{}, sum).get(), expected);
    });
  }
}

/// What a call with every kind of reducer gives over a range.
template <class Range>
auto by_all_kinds(const Range& range) {
  return fanin::parallel_reduce(range, small_at{}, fanin::sum<std::int64_t>{}, fanin::prod<std::uint64_t>{},
                                fanin::min<std::int64_t>{}, fanin::max_loc<std::int64_t>{},
                                fanin::min_max_loc<std::int64_t>{}, fanin::lor<std::int64_t>{},
                                fanin::bor<std::uint64_t>{}, mean{}, fanin::exact_sum<double>{});
}

TEST_F(devices, every_kind_of_reducer_at_once) {
  for (const auto& options : all_options()) {
    const fanin::mpi comm(MPI_COMM_WORLD, options);
    for (const std::int64_t n : {0, 3, 1'000}) {
      const auto whole = by_all_kinds(fanin::range(exec, -7, n - 7));
      for (std::uint64_t draw = 0; draw < 3; ++draw) {
        on_some_backend(draw, [&](const auto& object) {
          const own_part part(n, comm, draw + 3);
          EXPECT_TRUE(by_all_kinds(fanin::over(comm, fanin::range(object, part.begin - 7, part.end - 7))) == whole)
              << n;
        });
      }
    }
  }
}

TEST_F(devices, boxes) {
  const fanin::mpi comm(MPI_COMM_WORLD);
  const own_part rows(40, comm, 9);
  on_some_backend(5, [&](const auto& object) {
    const auto range = fanin::over(comm, fanin::md_range(object, {rows.begin, -3}, {rows.end, 20}));
    const auto [sum, most] =
        fanin::parallel_reduce(range, in_plane{}, fanin::sum<std::int64_t>{}, fanin::max<std::int64_t>{});
    EXPECT_EQ(sum, 780 * (190 - 6));
    EXPECT_EQ(most, 39 + 19);
  });
}

TEST_F(devices, data_have_the_indices_of_the_whole) {
  constexpr std::int64_t n = 1'001;
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < n; ++i) all.push_back(small_at{}(i));
  all[n - 5] = -1;  // the least, of the last of the ranks that have any
  const auto least = fanin::min_loc<std::int64_t>{};
  const auto sum = fanin::sum<std::int64_t>{};
  const auto whole = fanin::reduce(exec, all, least, sum);
  for (const auto& options : all_options()) {
    const fanin::mpi comm(MPI_COMM_WORLD, options);
    for (std::uint64_t draw = 0; draw < 3; ++draw) {
      on_some_backend(draw, [&]<class Exec>(const Exec& object) {
        const own_part part(n, comm, 5 + draw);
        const auto mine = copy_of<std::int64_t>(
            object, std::span<const std::int64_t>(all).subspan(static_cast<std::size_t>(part.begin),
                                                               static_cast<std::size_t>(part.end - part.begin)));
        auto later = fanin::reduce_async("later", object, fanin::over(comm, mine), least, sum);
        // The indices of the second call are told before the first one's exchange has begun.
        EXPECT_TRUE(fanin::reduce(object, fanin::over(comm, mine), least, sum) == whole);
        EXPECT_TRUE(later.get() == whole);
        auto shifted = fanin::get<0>(whole);
        shifted.index += 1'000'000;
        held<fanin::value_index<std::int64_t>, Exec> into(object, 1);
        fanin::reduce_into(into.data(), object, fanin::over(comm, mine, 1'000'000 + part.begin), least);
        EXPECT_TRUE(value_of(into) == shifted);
        held<std::int64_t, Exec> into_sum(object, 1);
        fanin::reduce_into(into_sum.data(), object, fanin::over(comm, mine), sum);
        EXPECT_EQ(value_of(into_sum), fanin::get<1>(whole));
        EXPECT_EQ(fanin::reduce_async(object, fanin::over(comm, mine), sum).get(), fanin::get<1>(whole));
      });
    }
  }
}

/// A part without elements has no place that could win, though its value be that of all.
TEST_F(devices, places_of_parts_without_elements) {
  const fanin::mpi comm(MPI_COMM_WORLD);
  const int last = comm.size() - 1;
  const std::vector<std::int64_t> all(50, std::numeric_limits<std::int64_t>::max());
  for (std::uint64_t draw = 0; draw < 3; ++draw) {
    on_some_backend(draw, [&](const auto& object) {
      const auto mine = copy_of<std::int64_t>(object, all);
      const std::span elements(mine.data(), comm.rank() == last ? mine.size() : 0);
      const auto data = fanin::over(comm, elements, comm.rank() == last ? 7 : 0);
      const auto [least, both] =
          fanin::reduce(object, data, fanin::min_loc<std::int64_t>{}, fanin::min_max_loc<std::int64_t>{});
      EXPECT_EQ(least.index, 7);
      EXPECT_EQ(both.min_index, 7);
      EXPECT_EQ(both.max_index, 7);
    });
  }
}

/// Joined in the order of the ranks, whose parts have the bits that they have without others, in all forms.
TEST_F(devices, rounded_sums_are_joined_in_order) {
  const fanin::mpi comm(MPI_COMM_WORLD);
  constexpr std::int64_t n = 5'007;
  for (std::uint64_t draw = 0; draw < 6; ++draw) {
    on_some_backend(draw, [&]<class Exec>(const Exec& object) {
      const own_part part(n, comm, draw);
      const auto range = fanin::range(object, part.begin, part.end);
      const double own = fanin::parallel_reduce(range, unit_at{}, fanin::sum<double>{});
      std::vector<double> sums(static_cast<std::size_t>(comm.size()));
      MPI_Allgather(&own, 1, MPI_DOUBLE, sums.data(), 1, MPI_DOUBLE, MPI_COMM_WORLD);
      double expected = sums[0];
      for (std::size_t rank = 1; rank < sums.size(); ++rank) expected += sums[rank];
      const auto all = fanin::over(comm, range);
      held<double, Exec> out(object, 1);
      fanin::parallel_reduce_into(out.data(), all, unit_at{}, fanin::sum<double>{});
      EXPECT_EQ(value_of(out), expected);
      EXPECT_EQ(fanin::parallel_reduce(all, unit_at{}, fanin::sum<double>{}), expected);
      EXPECT_EQ(fanin::parallel_reduce_async(all, unit_at{}, fanin::sum<double>{}).get(), expected);
    });
  }
}

/// Once a rank, of the results of all, where the rank's memory is; also after the object has gone.
TEST_F(devices, what_finishes) {
  for (const auto& options : all_options()) {
    const fanin::mpi comm(MPI_COMM_WORLD, options);
    for (const std::int64_t n : {0, 900}) {
      const auto [of_all, most] =
          fanin::parallel_reduce(fanin::range(exec, n), small_at{}, mean{}, fanin::max<std::int64_t>{});
      const double expected = 2.5 * of_all + static_cast<double>(most);
      for (std::uint64_t draw = 0; draw < 3; ++draw) {
        std::optional<fanin::pending<double>> beyond;
        std::function<std::int64_t()> calls_in_all;
        on_some_backend(draw, [&]<class Exec>(const Exec& object) {
          const own_part part(n, comm, draw);
          const auto range = fanin::over(comm, fanin::range(object, part.begin, part.end));
          const std::vector<double> scales{2.5};
          const auto scale = std::make_shared<held<double, Exec>>(copy_of<double>(object, scales));
          const std::vector<std::int64_t> none{0};
          const auto calls = std::make_shared<held<std::int64_t, Exec>>(copy_of<std::int64_t>(object, none));
          calls_in_all = [calls, scale] { return value_of(*calls); };
          const auto finish = fanin::finished(scaled{scale->data(), calls->data()}, mean{}, fanin::max<std::int64_t>{});
          EXPECT_EQ(fanin::parallel_reduce(range, small_at{}, finish), expected);
          auto later = fanin::parallel_reduce_async(range, small_at{}, finish);
          beyond = fanin::parallel_reduce_async(range, small_at{}, finish);
          held<double, Exec> out(object, 1);
          fanin::parallel_reduce_into(out.data(), range, small_at{}, finish);
          EXPECT_EQ(value_of(out), expected);
          EXPECT_EQ(later.get(), expected);
        });
        EXPECT_EQ(beyond->get(), expected);
        EXPECT_EQ(calls_in_all(), 4);
      }
    }
  }
}

/// Got in another order on each rank, looked at, dropped, beside calls that wait, over two communicators in turn.
TEST_F(devices, results_that_come_later) {
  for (const auto& options : all_options()) {
    for (std::uint64_t draw = first_seed(); draw < first_seed() + 4; ++draw) {
      begin(draw);
      std::optional<fanin::mpi> comm(std::in_place, MPI_COMM_WORLD, options);
      const fanin::mpi other(MPI_COMM_WORLD, options);
      std::optional<fanin::pending<std::int64_t>> last;
      const auto expected = [](std::int64_t n) {
        return fanin::parallel_reduce(fanin::range(exec, n), small_at{}, fanin::sum<std::int64_t>{});
      };
      on_some_backend(draw, [&](const auto& object) {
        std::vector<fanin::pending<std::int64_t>> pendings;
        const auto part_of = [&](const fanin::mpi& over, std::int64_t n) {
          const own_part part(n, over, static_cast<std::uint64_t>(n));
          return fanin::over(over, fanin::range(object, part.begin, part.end));
        };
        for (std::int64_t n = 0; n < 20; ++n) {
          const fanin::mpi& over = n % 3 == 0 ? other : *comm;
          pendings.push_back(
              fanin::parallel_reduce_async(part_of(over, n * 20), small_at{}, fanin::sum<std::int64_t>{}));
          if (n % 5 == 4) {  // which nobody gets
            (void)fanin::parallel_reduce_async(part_of(*comm, 1'000 + n), small_at{}, fanin::sum<std::int64_t>{});
          }
          if (n % 7 == 6) {
            EXPECT_EQ(fanin::parallel_reduce(part_of(*comm, 500 + n), small_at{}, fanin::sum<std::int64_t>{}),
                      expected(500 + n));
          }
        }
        last.emplace(std::move(pendings.back()));
        pendings.pop_back();
        const auto shift = static_cast<std::size_t>(rank_of_world());
        for (std::size_t k = 0; k < pendings.size(); ++k) {
          const std::size_t at = (shift + k * 7) % pendings.size();
          if (mix(k * 64 + shift) % 2 == 0) (void)pendings[at].ready();
          EXPECT_EQ(pendings[at].get(), expected(static_cast<std::int64_t>(at) * 20));
        }
      });
      comm.reset();
      EXPECT_EQ(last->get(), expected(19 * 20));
    }
  }
}

/// Ranks that wait for a call's result, and ranks that are in the next call, over another communicator, and have yet to
/// begin that one's exchange.
TEST_F(devices, a_call_that_waits_while_another_one_is_under_way) {
  const fanin::mpi comm(MPI_COMM_WORLD);
  const fanin::mpi other(MPI_COMM_WORLD);
  for (std::uint64_t draw = first_seed(); draw < first_seed() + 10; ++draw) {
    begin(draw);
    const device gpu;
    const own_part part(10'000, comm, draw);
    auto later = fanin::parallel_reduce_async(fanin::over(comm, fanin::range(gpu, part.begin, part.end)), small_at{},
                                              fanin::sum<std::int64_t>{});
    const bool gets_first = mix(draw * 64 + static_cast<std::uint64_t>(comm.rank())) % 2 == 0;
    const std::int64_t expected =
        fanin::parallel_reduce(fanin::range(exec, 10'000), small_at{}, fanin::sum<std::int64_t>{});
    if (gets_first) {
      EXPECT_EQ(later.get(), expected);
    }
    EXPECT_EQ(fanin::parallel_reduce(fanin::over(other, fanin::range(exec, part.begin, part.end)), small_at{},
                                     fanin::sum<std::int64_t>{}),
              expected);
    if (!gets_first) {
      EXPECT_EQ(later.get(), expected);
    }
  }
}

/// Looks alone bring it on, on all ranks.
TEST_F(devices, looks_are_enough) {
  const fanin::mpi comm(MPI_COMM_WORLD);
  on_some_backend(0, [&](const auto& object) {
    auto first = fanin::parallel_reduce_async(fanin::over(comm, fanin::range(object, 300)), small_at{},
                                              fanin::exact_sum<double>{});
    auto second = fanin::parallel_reduce_async(fanin::over(comm, fanin::range(object, 100)), small_at{},
                                               fanin::max<std::int64_t>{});
    while (!second.ready() || !first.ready()) continue;
    const auto one = fanin::parallel_reduce(fanin::range(exec, 300), small_at{}, fanin::sum<double>{});
    EXPECT_EQ(first.get(), one * comm.size());
    EXPECT_EQ(second.get(), fanin::parallel_reduce(fanin::range(exec, 100), small_at{}, fanin::max<std::int64_t>{}));
  });
}

/// Of a captured stream: in words, on its rank; the others learn that it has failed, and the capture stays valid.
TEST_F(devices, a_stream_that_captures_is_refused) {
  const fanin::mpi comm(MPI_COMM_WORLD);
  const device gpu;
  const bool captures = comm.rank() == 0;
  const auto range = fanin::over(comm, fanin::range(gpu, 100));
  held<std::int64_t, device> out(gpu, 1);
  auto before = fanin::parallel_reduce_async(range, small_at{}, fanin::sum<std::int64_t>{});
  if (captures) cudaStreamBeginCapture(stream_of(gpu), cudaStreamCaptureModeThreadLocal);
  const auto refused = [&](const auto& call) {
    try {
      call();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const fanin::state_error& error) {
      EXPECT_TRUE(captures);
      EXPECT_NE(std::string(error.what()).find("over ranks: the host waits for the other ranks in this call, and"),
                std::string::npos)
          << error.what();
    } catch (const fanin::rank_error& error) {
      EXPECT_FALSE(captures);
      EXPECT_NE(std::string(error.what()).find("1 rank has failed"), std::string::npos) << error.what();
    }
  };
  const fanin::sum<std::int64_t> sum;
  if (captures || comm.size() > 1) {
    refused([&] { fanin::parallel_reduce_into(out.data(), range, small_at{}, sum); });
    refused([&] { (void)fanin::parallel_reduce(range, small_at{}, sum); });
    refused([&] { (void)fanin::parallel_reduce_async(range, small_at{}, sum).get(); });
  }
  const std::int64_t expected =
      comm.size() * fanin::parallel_reduce(fanin::range(exec, 100), small_at{}, fanin::sum<std::int64_t>{});
  EXPECT_EQ(before.get(), expected);
  if (captures) {
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(stream_of(gpu), &graph), cudaSuccess);
#if !FANIN_TEST_ON_SIMULATOR
    std::size_t nodes = 1;
    cudaGraphGetNodes(graph, nullptr, &nodes);
    EXPECT_EQ(nodes, 0u);
#endif
    cudaGraphDestroy(graph);
  }
  EXPECT_EQ(fanin::parallel_reduce(range, small_at{}, sum), expected);
}

/// A rank's part that is refused, of all forms; and a destination that one rank's backend does not reach.
TEST_F(devices, a_part_that_fails) {
  for (const auto& options : all_options()) {
    const fanin::mpi comm(MPI_COMM_WORLD, options);
    const bool fails = comm.rank() + 1 == comm.size();
    const std::uint64_t draw = options.check_calls ? 2 : 0;
    on_some_backend(draw, [&]<class Exec>(const Exec& object) {
      const std::vector<double> three{1, 2, 3};
      const auto mine = copy_of<double>(object, three);
      const auto data = fanin::over(comm, std::span<const double>(fails ? nullptr : mine.data(), 3), 3 * comm.rank());
      held<double, Exec> out(object, 1);
      const auto refused = [&](const auto& call) {
        try {
          call();
          ADD_FAILURE() << "nothing was thrown";
        } catch (const fanin::invalid_argument&) {
          EXPECT_TRUE(fails);
        } catch (const fanin::rank_error& error) {
          EXPECT_FALSE(fails);
          EXPECT_NE(std::string(error.what()).find("1 rank has failed"), std::string::npos) << error.what();
        }
      };
      refused([&] { (void)fanin::reduce(object, data, fanin::sum<double>{}); });
      refused([&] { (void)fanin::reduce(object, data, fanin::exact_sum<double>{}); });
      refused([&] { fanin::reduce_into(out.data(), object, data, fanin::sum<double>{}); });
      auto later = fanin::reduce_async(object, data, fanin::exact_sum<double>{});
      refused([&] { (void)fanin::reduce(object, data, fanin::min_loc<double>{}); });
      refused([&] { (void)later.get(); });
#if !FANIN_TEST_ON_SIMULATOR  // whose device reaches all memory
      if (has_device(draw, comm.size() - 1)) {
        double on_host = 0;
        double* const to = fails ? &on_host : out.data();
        const auto range = fanin::over(comm, fanin::range(object, 10));
        refused([&] { fanin::parallel_reduce_into(to, range, unit_at{}, fanin::sum<double>{}); });
        refused([&] { fanin::reduce_into(to, object, fanin::over(comm, mine), fanin::sum<double>{}); });
      }
#endif
      EXPECT_EQ(fanin::reduce(object, fanin::over(comm, mine), fanin::sum<double>{}), 6.0 * comm.size());
    });
  }
}

#if FANIN_TEST_ON_SIMULATOR

/// One thread waits where no other comes to.
struct stuck {
  bool is;
  FANIN_FUNCTION std::int64_t operator()(std::int64_t i) const {
    if (is && i == 3) __syncthreads();
    return i;
  }
};

/// A kernel that fails, at a call or later: its rank throws what CUDA says, the others are told.
TEST_F(devices, a_kernel_that_fails) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    begin(seed);
    const fanin::mpi comm(MPI_COMM_WORLD);
    const bool fails = comm.rank() == 0;
    {
      const fanin::cuda gpu;
      const auto range = fanin::over(comm, fanin::range(gpu.with({.block_size = 32, .grid_size = 2}), 64));
      const auto expect_failure = [&](const auto& call) {
        if (fails) {
          EXPECT_THROW(call(), fanin::cuda_error);
        } else {
          EXPECT_THROW(call(), fanin::rank_error);
        }
      };
      auto before = fanin::parallel_reduce_async(range, stuck{false}, fanin::sum<std::int64_t>{});
      EXPECT_EQ(before.get(), 63 * 32 * comm.size());
      auto later = fanin::parallel_reduce_async(range, stuck{fails}, fanin::sum<std::int64_t>{});
      auto behind = fanin::parallel_reduce_async(range, stuck{false}, fanin::exact_sum<double>{});
      expect_failure([&] { (void)fanin::parallel_reduce(range, stuck{fails}, fanin::sum<std::int64_t>{}); });
      expect_failure([&] { (void)behind.get(); });
      expect_failure([&] { (void)later.get(); });
    }
    begin(seed);
    on_some_backend(seed, [&](const auto& object) {
      EXPECT_EQ(
          fanin::parallel_reduce(fanin::over(comm, fanin::range(object, 64)), stuck{false}, fanin::sum<std::int64_t>{}),
          63 * 32 * comm.size());
    });
  }
}

/// A context that goes before the exchange has begun takes its rank's part with it.
TEST_F(devices, a_context_that_is_gone) {
  const fanin::mpi comm(MPI_COMM_WORLD);
  const bool fails = comm.rank() == 0;
  std::optional<fanin::cuda> gpu(std::in_place);
  const auto range = fanin::over(comm, fanin::range(*gpu, 3'000));
  std::vector<fanin::pending<std::int64_t>> later;
  for (int k = 0; k < 8; ++k) {  // in the last one's turn the device has come to the first ones
    later.push_back(fanin::parallel_reduce_async(range, stuck{false}, fanin::sum<std::int64_t>{}));
  }
  if (fails) begin(9);
  if (fails) {
    EXPECT_THROW((void)later.back().get(), fanin::state_error);
  } else {
    EXPECT_THROW((void)later.back().get(), fanin::rank_error);
  }
  gpu.reset();
}

#endif

/// Forms, reducers, communicators, splits, backends and failures drawn from a seed; results got in any order.
TEST_F(devices, many_rounds) {
  const fanin::mpi flat(MPI_COMM_WORLD);
  const fanin::mpi grouped(MPI_COMM_WORLD, {.gather_up_to = 2});
  const fanin::mpi checked(MPI_COMM_WORLD, {.check_calls = true});
  const device gpu;
  struct outstanding {
    std::function<bool()> ready;
    std::function<void()> get;
  };
  std::vector<outstanding> later;
  const auto get_all = [&] {
    std::rotate(later.begin(), later.begin() + static_cast<std::ptrdiff_t>(later.size()) * flat.rank() / flat.size(),
                later.end());
    for (const outstanding& one : later) {
      if (mix(static_cast<std::uint64_t>(flat.rank()) * 7 + later.size()) % 2 == 0) one.ready();
      one.get();
    }
    later.clear();
  };
  for (std::uint64_t round = 0; round < 400; ++round) {
    const std::uint64_t draw = mix(round + 77 + first_seed() * 1'000);
    const fanin::mpi& comm = draw % 3 == 0 ? flat : draw % 3 == 1 ? grouped : checked;
    const auto n = static_cast<std::int64_t>(draw / 3 % 400);
    const own_part part(n, comm, draw % 1'000'000);
    const std::uint64_t form = draw / 1'000 % 5;
    const bool is_to_fail = draw / 10'000 % 8 == 0;
    const bool fails = is_to_fail && static_cast<int>(draw / 100'000 % 97) % comm.size() == comm.rank();
    std::vector<std::int64_t> all;
    for (std::int64_t i = 0; i < n; ++i) all.push_back(small_at{}(i));
    const auto reduce = [&]<class Exec>(const Exec& object, const auto& reducer) {
      const auto expected = fanin::reduce(exec, all, reducer);
      using result = std::remove_const_t<decltype(expected)>;
      const auto mine = std::make_shared<held<std::int64_t, Exec>>(copy_of<std::int64_t>(
          object, std::span<const std::int64_t>(all).subspan(static_cast<std::size_t>(part.begin),
                                                             static_cast<std::size_t>(part.end - part.begin))));
      const std::int64_t* const elements = fails ? nullptr : mine->data();
      const auto data = fanin::over(comm, std::span(elements, fails ? 3 : static_cast<std::size_t>(mine->size())));
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
      switch (form) {
        case 0: check([&] { return fanin::reduce(object, data, reducer); }); break;
        case 1:
          check([&] {
            held<result, Exec> out(object, 1);
            fanin::reduce_into(out.data(), object, data, reducer);
            return value_of(out);
          });
          break;
        case 2: (void)fanin::reduce_async(object, data, reducer); break;
        default: {
          const auto pending = std::make_shared<fanin::pending<result>>(fanin::reduce_async(object, data, reducer));
          later.push_back({[pending, mine] { return pending->ready(); },
                           [pending, mine, check] { check([&] { return pending->get(); }); }});
        }
      }
    };
    const auto reduce_on = [&](const auto& object) {
      switch (draw / 300 % 3) {
        case 0: reduce(object, fanin::sum<std::int64_t>{}); break;
        case 1: reduce(object, fanin::max_loc<std::int64_t>{}); break;
        default: reduce(object, mean{}); break;
      }
    };
    if (mix(draw + static_cast<std::uint64_t>(comm.rank())) % 2 == 0) {
      reduce_on(gpu);
    } else {
      reduce_on(exec);
    }
    if (later.size() > 10) get_all();
  }
  get_all();
}

/// One rank's calls are the plain ones: nothing is exchanged, and the stream goes on behind an _into form.
TEST_F(devices, of_one_rank) {
  const fanin::mpi comm(MPI_COMM_SELF);
  const device gpu;
  const auto range = fanin::range(gpu, 5'000);
  const fanin::exact_sum<double> sum;
  const double expected = fanin::parallel_reduce(range, element_at{}, sum);
#if !FANIN_TEST_ON_KOKKOS
  const fanin::cuda_launch launch = gpu.last_launch();
#endif
  const auto over = fanin::over(comm, range);
  EXPECT_EQ(fanin::parallel_reduce(over, element_at{}, sum), expected);
#if !FANIN_TEST_ON_KOKKOS
  EXPECT_TRUE(gpu.last_launch() == launch);
#endif
  held<double, device> out(gpu, 1);
  fanin::parallel_reduce_into(out.data(), over, element_at{}, sum);
  EXPECT_EQ(value_of(out), expected);
  EXPECT_EQ(fanin::parallel_reduce_async(over, element_at{}, sum).get(), expected);

  // What works on one rank shall work on many.
  cudaStreamBeginCapture(stream_of(gpu), cudaStreamCaptureModeThreadLocal);
  EXPECT_THROW(fanin::parallel_reduce_into(out.data(), over, element_at{}, sum), fanin::state_error);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream_of(gpu), &graph), cudaSuccess);
  cudaGraphDestroy(graph);
}

}  // namespace
}  // namespace fanin_test

int main(int argc, char** argv) { return fanin_test::run_on_ranks(argc, argv); }
