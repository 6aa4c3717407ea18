// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "spaces.hpp"
#include "support/expect_invalid.hpp"
#include "support/in_order.hpp"

namespace {

/// Three different types: floats gathered in {double, count}, of which the mean comes out.
struct mean {
  using value_type = float;
  struct accumulator_type {
    double sum;
    std::int64_t count;
  };
  using result_type = double;
  FANIN_FUNCTION accumulator_type identity() const { return {0.0, 0}; }
  FANIN_FUNCTION void fold(accumulator_type& acc, float value, std::int64_t) const {
    acc.sum += static_cast<double>(value);
    ++acc.count;
  }
  FANIN_FUNCTION void join(accumulator_type& into, const accumulator_type& from) const {
    into.sum += from.sum;
    into.count += from.count;
  }
  FANIN_FUNCTION double result(const accumulator_type& acc) const {
    return acc.count == 0 ? 0.0 : acc.sum / static_cast<double>(acc.count);
  }
};

template <int Bins>
struct counts {
  std::int64_t of[Bins];
};
template <int Bins>
[[maybe_unused]] bool operator==(const counts<Bins>& a, const counts<Bins>& b) {
  return std::equal(a.of, a.of + Bins, b.of);
}

/// An accumulator of 8 * Bins bytes.
template <int Bins>
struct histogram {
  using value_type = std::int32_t;
  using accumulator_type = counts<Bins>;
  FANIN_FUNCTION accumulator_type identity() const { return {}; }
  FANIN_FUNCTION void fold(accumulator_type& acc, std::int32_t value, std::int64_t) const { ++acc.of[value % Bins]; }
  FANIN_FUNCTION void join(accumulator_type& into, const accumulator_type& from) const {
    for (int i = 0; i < Bins; ++i) into.of[i] += from.of[i];
  }
};

/// The same with a spill, and a state that keeps bin 0 to itself.
template <int Bins>
struct spilling_histogram {
  using value_type = std::int32_t;
  using accumulator_type = counts<Bins>;
  struct state {
    accumulator_type* spill;
    std::int64_t zeros;
  };
  struct gathering : fanin::gathering_in_spill<state> {
    FANIN_FUNCTION static state begin(const spilling_histogram&, accumulator_type& spill) { return {&spill, 0}; }
    FANIN_FUNCTION static void finish(const spilling_histogram&, state& of, accumulator_type& spill) {
      fanin::atomic_fetch_add(spill.of[0], of.zeros);
    }
  };
  FANIN_FUNCTION accumulator_type identity() const { return {}; }
  FANIN_FUNCTION void join(accumulator_type& into, const accumulator_type& from) const {
    for (int i = 0; i < Bins; ++i) into.of[i] += from.of[i];
  }
  FANIN_FUNCTION void fold(state& of, std::int32_t value, std::int64_t) const {
    if (value % Bins == 0) {
      ++of.zeros;
    } else {
      fanin::atomic_fetch_add(of.spill->of[value % Bins], std::int64_t{1});
    }
  }
};

/// An accumulator whose size is no multiple of 4 (Kokkos's CUDA reductions move words).
struct three_bits {
  using value_type = std::int32_t;
  struct accumulator_type {
    std::int16_t seen[3];
    friend bool operator==(const accumulator_type&, const accumulator_type&) = default;
  };
  FANIN_FUNCTION accumulator_type identity() const { return {}; }
  FANIN_FUNCTION void fold(accumulator_type& acc, std::int32_t value, std::int64_t) const {
    acc.seen[value % 3] = static_cast<std::int16_t>(acc.seen[value % 3] | (1 << (value % 15)));
  }
  FANIN_FUNCTION void join(accumulator_type& into, const accumulator_type& from) const {
    for (int i = 0; i < 3; ++i) into.seen[i] = static_cast<std::int16_t>(into.seen[i] | from.seen[i]);
  }
};

struct scrambled_index {
  FANIN_FUNCTION std::int32_t operator()(std::int64_t i) const {
    return static_cast<std::int32_t>((static_cast<std::uint64_t>(i) * 2654435761u) >> 12 & 0xfffff);
  }
};

struct store_index {
  std::int64_t* to;
  FANIN_FUNCTION void operator()(std::int64_t i) const { to[i] = i * i; }
};

template <class Space>
using kokkos_space = kokkos_case<Space>;
TYPED_TEST_SUITE(kokkos_space, all_spaces);

template <class Space, class Reducer>
void compare_scrambled(Reducer reducer, std::int64_t n) {
  fanin::kokkos<Space> exec;
  const auto oracle = fanin::parallel_reduce(fanin::range(fanin_test::in_order, n), scrambled_index{}, reducer);
  using result = std::remove_cv_t<decltype(oracle)>;
  EXPECT_EQ(fanin::parallel_reduce(fanin::range(exec, n), scrambled_index{}, reducer), oracle) << n;
  fanin::buffer<result, fanin::kokkos<Space>> out(exec, 1);
  fanin::parallel_reduce_into(out.data(), fanin::range(exec, n), scrambled_index{}, reducer);
  EXPECT_EQ(value_of(out), oracle) << n;
}

TYPED_TEST(kokkos_space, three_types_in_one_reducer) {
  fanin::kokkos<TypeParam> exec;
  const auto data = to_space(exec, std::vector<float>{1, 2, 4, 9});
  EXPECT_EQ(fanin::reduce(exec, data, mean{}), 4.0);
  EXPECT_EQ(fanin::parallel_reduce(fanin::range(exec, 0), load<float>{nullptr}, mean{}), 0.0);
}

TYPED_TEST(kokkos_space, accumulators_of_600_bytes_and_more) {
  static_assert(sizeof(histogram<75>::accumulator_type) == 600);
  for (const std::int64_t n : {0, 1, 33, 100003}) {
    compare_scrambled<TypeParam>(histogram<75>{}, n);
    compare_scrambled<TypeParam>(histogram<750>{}, n);
    compare_scrambled<TypeParam>(three_bits{}, n);
  }
}

TYPED_TEST(kokkos_space, spills) {
  for (const std::int64_t n : {0, 1, 31, 33, 65, 100003}) {
    compare_scrambled<TypeParam>(spilling_histogram<75>{}, n);
    compare_scrambled<TypeParam>(spilling_histogram<750>{}, n);
    fanin::kokkos<TypeParam> exec;
    const auto [flushed, plain, largest] =
        fanin::parallel_reduce(fanin::range(exec, n), scrambled_index{}, spilling_histogram<16>{}, histogram<16>{},
                               fanin::max<std::int32_t>{});
    const auto serial_range = fanin::range(fanin_test::in_order, n);
    EXPECT_EQ(flushed, plain);
    EXPECT_EQ(plain, fanin::parallel_reduce(serial_range, scrambled_index{}, histogram<16>{}));
    EXPECT_EQ(largest, fanin::parallel_reduce(serial_range, scrambled_index{}, fanin::max<std::int32_t>{}));
  }
}

TYPED_TEST(kokkos_space, ranges_may_start_anywhere_in_64_bits) {
  fanin::kokkos<TypeParam> exec;
  const std::int64_t high = std::int64_t{1} << 40;
  EXPECT_EQ(fanin::parallel_reduce(fanin::range(exec, high, high + 1000), index_itself{}, fanin::sum<std::int64_t>{}),
            1000 * high + 999 * 500);
  EXPECT_EQ(fanin::parallel_reduce(fanin::range(exec, -1000, 10), index_itself{}, fanin::min<std::int64_t>{}), -1000);
}

TYPED_TEST(kokkos_space, parallel_for_and_buffers) {
  fanin::kokkos<TypeParam> exec;
  fanin::buffer<std::int64_t, fanin::kokkos<TypeParam>> squares(exec, 1000);
  fanin::parallel_for("squares", fanin::range(exec, 1000), store_index{squares.data()});
  exec.synchronize();
  std::vector<std::int64_t> host(1000);
  squares.copy_to(host);
  for (std::int64_t i = 0; i < 1000; ++i) ASSERT_EQ(host[static_cast<std::size_t>(i)], i * i);
  fanin::buffer<std::int64_t, fanin::kokkos<TypeParam>> none(exec, 0);
  EXPECT_EQ(none.data(), nullptr);
}

/// Functors that a host alone can call, also in units that nvcc compiles.
TYPED_TEST(kokkos_space, functors_of_the_host) {
  if constexpr (std::is_same_v<typename TypeParam::memory_space, Kokkos::HostSpace>) {
    const fanin::kokkos<TypeParam> exec;
    std::vector<std::int64_t> squares(1000, 0);
    fanin::parallel_for(fanin::range(exec, 1000),
                        [&](std::int64_t i) { squares[static_cast<std::size_t>(i)] = i * i; });
    exec.synchronize();
    const auto square = [&](std::int64_t i) { return squares[static_cast<std::size_t>(i)]; };
    EXPECT_EQ(fanin::parallel_reduce(fanin::range(exec, 1000), square, fanin::sum<std::int64_t>{}), 332'833'500);
  }
}

TYPED_TEST(kokkos_space, buffers_and_ranges_survive_a_move_of_the_object) {
  using object = fanin::kokkos<TypeParam>;
  static_assert(!std::is_copy_constructible_v<object> && !std::is_copy_assignable_v<object>);
  fanin::kokkos<TypeParam> moved;
  fanin::kokkos<TypeParam> exec;
  const auto data = to_space(exec, std::vector<int>{3, 4});
  const auto range = fanin::range(exec, 2);
  moved = std::move(exec);
  EXPECT_EQ(fanin::parallel_reduce(range, load<int>{data.data()}, fanin::sum<int>{}), 7);
  EXPECT_EQ(fanin::reduce(moved, data, fanin::prod<int>{}), 12);
  EXPECT_THROW(fanin::range(exec, 2), fanin::state_error);  // NOLINT(bugprone-use-after-move)
  EXPECT_THROW(exec.synchronize(), fanin::state_error);     // NOLINT(bugprone-use-after-move)
}

TYPED_TEST(kokkos_space, takes_the_callers_instance) {
  fanin::kokkos<TypeParam> whole;
  if (fanin::detail::is_kokkos_threads<TypeParam>) GTEST_SKIP() << "Kokkos::Threads has one instance";
  if (whole.space().concurrency() < 2 && fanin::detail::is_kokkos_openmp<TypeParam>) {
    GTEST_SKIP() << "a space of one thread cannot be partitioned";
  }
  const auto parts = Kokkos::Experimental::partition_space(whole.space(), 1, 1);
  fanin::kokkos first{parts[0]};
  fanin::kokkos second{parts[1]};
  static_assert(std::is_same_v<decltype(first), fanin::kokkos<TypeParam>>);
  EXPECT_TRUE(first.space() == parts[0]);
  EXPECT_FALSE(first.space() == second.space());
  EXPECT_FALSE(first.space() == whole.space());
  for (auto* exec : {&first, &second, &whole}) {
    EXPECT_EQ(fanin::parallel_reduce(fanin::range(*exec, 100001), index_itself{}, fanin::sum<std::int64_t>{}),
              5000050000);
  }
}

std::string last_kernel;
void note_kernel(const char* name, const std::uint32_t, std::uint64_t*) { last_kernel = name; }

TYPED_TEST(kokkos_space, labels_reach_kokkoss_tools) {
  fanin::kokkos<TypeParam> exec;
  namespace tools = Kokkos::Tools::Experimental;
  tools::set_begin_parallel_reduce_callback(note_kernel);
  const auto range = fanin::range(exec, 10);
  last_kernel.clear();
  fanin::parallel_reduce("norm2", range, index_itself{}, fanin::sum<std::int64_t>{});
  EXPECT_EQ(last_kernel, "norm2");
  fanin::parallel_reduce(range, index_itself{}, fanin::sum<std::int64_t>{});
  EXPECT_EQ(last_kernel, "fanin::parallel_reduce");
  tools::set_begin_parallel_reduce_callback(nullptr);
}

TYPED_TEST(kokkos_space, no_memory_is_an_error) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers end the process when there is no memory";
#endif
  fanin::kokkos<TypeParam> exec;
  using buffer = fanin::buffer<double, fanin::kokkos<TypeParam>>;
  constexpr std::int64_t too_many = std::int64_t{1} << 58;
  if constexpr (fanin::detail::is_host_space<TypeParam>) {
    EXPECT_THROW(buffer(exec, too_many), std::bad_alloc);
  } else {
    EXPECT_THROW(buffer(exec, too_many), fanin::error);
  }
}

TYPED_TEST(kokkos_space, host_memory_is_refused_where_it_cannot_be_reached) {
  if (fanin::detail::is_host_space<TypeParam>) GTEST_SKIP() << "this space reaches host memory";
  fanin::kokkos<TypeParam> exec;
  const std::vector<double> host(10);
  EXPECT_THROW(fanin::reduce(exec, host, fanin::sum<double>{}), fanin::invalid_argument);
  std::int64_t out = 0;
  EXPECT_THROW(fanin::parallel_reduce_into(&out, fanin::range(exec, 10), index_itself{}, fanin::sum<std::int64_t>{}),
               fanin::invalid_argument);
}

/// The element at (i, j) is 100 * i + j, so that no two parts have one sum.
template <class View>
void number_elements(const View& view) {
  const auto host = Kokkos::create_mirror(view);
  for (std::size_t i = 0; i < host.extent(0); ++i) {
    for (std::size_t j = 0; j < host.extent(1); ++j) host(i, j) = static_cast<double>(100 * i + j);
  }
  Kokkos::deep_copy(view, host);
}

/// All forms; `beside` holds ones.
template <class Exec, class View>
void expect_sum(Exec& exec, const View& view, double expected, fanin::buffer<double, Exec>& beside) {
  const fanin::sum<double> sum;
  static_assert(std::is_same_v<decltype(fanin::reduce(exec, view, sum)), double>);
  EXPECT_EQ(fanin::reduce(exec, view, sum), expected);
  fanin::reduce_into(beside.data(), exec, view, sum);
  double written = 0;
  beside.copy_to(std::span(&written, 1));
  EXPECT_EQ(written, expected);
}

/// Views are arrays, whatever their layout and rank.
template <class Space, class Exec>
void check_views(Exec& exec) {
  const fanin::sum<double> sum;
  using matrix = Kokkos::View<double**, Space>;
  using columns = Kokkos::View<double**, Kokkos::LayoutLeft, Space>;
  using rows = Kokkos::View<double**, Kokkos::LayoutRight, Space>;
  const columns left("left", 4, 6);
  const rows right("right", 4, 6);
  number_elements(left);
  number_elements(right);
  EXPECT_EQ(fanin::reduce(exec, left, sum), 3660);
  EXPECT_EQ(fanin::reduce(exec, Kokkos::View<const double**, Kokkos::LayoutRight, Space>(right), sum), 3660);
  EXPECT_EQ(fanin::reduce(exec, right, fanin::max_loc<double>{}).index, (fanin::md_index<2>{{3, 5}}));
  EXPECT_EQ(fanin::reduce(exec, left, fanin::max_loc<double>{}).index, (fanin::md_index<2>{{3, 5}}));
  EXPECT_EQ(fanin::reduce(exec, Kokkos::subview(left, Kokkos::ALL, 2), sum), 608);
  EXPECT_EQ(fanin::reduce(exec, Kokkos::subview(right, 1, Kokkos::ALL), sum), 615);
  EXPECT_EQ(fanin::reduce(exec, Kokkos::subview(right, std::pair(1, 3), Kokkos::ALL), sum), 1830);
  EXPECT_EQ(fanin::reduce(exec, Kokkos::subview(right, 2, 3), sum), 203);
  EXPECT_EQ(fanin::reduce(exec, Kokkos::View<double, Space>("scalar"), sum), 0);
  EXPECT_EQ(fanin::reduce(exec, Kokkos::View<double[3][5], Space>("static"), sum), 0);
  EXPECT_EQ(fanin::reduce(exec, matrix("empty", 0, 6), sum), 0);
  const auto strided = Kokkos::LayoutStride(4, 1, 6, 4);
  EXPECT_EQ(fanin::reduce(exec, Kokkos::View<double**, Kokkos::LayoutStride, Space>(left.data(), strided), sum), 3660);
  fanin::buffer<double, Exec> beside(exec, std::vector<double>{0});
  const auto overlapping = Kokkos::LayoutStride(2, 5, 3, 0);  // which says that it is contiguous
  const Kokkos::View<double**, Kokkos::LayoutStride, Space> twice(left.data(), overlapping);
  expect_sum(exec, twice, 3 * (0 + 101), beside);
  expect_sum(exec, Kokkos::subview(left, 2, Kokkos::ALL), 1215, beside);
  expect_sum(exec, Kokkos::subview(right, Kokkos::ALL, 2), 608, beside);
  expect_sum(exec, Kokkos::subview(left, std::pair(1, 3), std::pair(1, 3)), 606, beside);
  expect_sum(exec, Kokkos::subview(right, std::pair(1, 3), std::pair(1, 3)), 606, beside);
  const auto padded = Kokkos::view_alloc("padded", Kokkos::AllowPadding);
  const columns wide(padded, 125, 1000);
  const rows long_rows(padded, 1000, 125);
  Kokkos::deep_copy(wide, 1.0);
  Kokkos::deep_copy(long_rows, 1.0);
  expect_sum(exec, wide, 125'000, beside);
  expect_sum(exec, long_rows, 125'000, beside);
}

/// Columns of accumulators of which not every thread shall have all.
template <class Exec>
void check_large_columns(const Exec& exec, std::int64_t threads) {
  constexpr int bins = 32'768;
  constexpr std::int64_t m = 300;
  const std::int64_t n = 40 * threads;
  std::vector<const int*> by(static_cast<std::size_t>(n * m));
  const auto f = [&by](std::int64_t i, std::int64_t j) {
    static thread_local const int of_thread = 0;
    by[static_cast<std::size_t>(i * m + j)] = &of_thread;
    return 1;
  };
  const auto ones = [](const counts<bins>& all) { return all.of[1]; };
  std::vector<std::int64_t> out(m);
  fanin::parallel_reduce_into(out.data(), fanin::columns(exec, n, m), f, fanin::finished(ones, histogram<bins>{}));
  EXPECT_EQ(out, std::vector<std::int64_t>(m, n));
  std::vector<const int*> in_rows;  // as if each column were a single thread's
  for (std::int64_t i = 0; i < n; ++i) in_rows.insert(in_rows.end(), by.begin(), by.begin() + m);
  EXPECT_EQ(by, in_rows);
}

TYPED_TEST(kokkos_space, threads_share_no_columns_of_large_accumulators) {
  if constexpr (fanin::detail::is_host_space<TypeParam>) {
    check_large_columns(fanin::kokkos<TypeParam>{}, TypeParam().concurrency());
  }
}

TYPED_TEST(kokkos_space, views_are_arrays_whatever_their_layout) {
  fanin::kokkos<TypeParam> exec;
  check_views<TypeParam>(exec);
#if FANIN_HAS_CUDA
  if constexpr (!fanin::detail::is_host_space<TypeParam>) {
    fanin::cuda gpu;
    check_views<TypeParam>(gpu);
  }
#endif
}

/// Elements of one index meet, not those at one place in memory.
TYPED_TEST(kokkos_space, views_of_several_dimensions_meet_by_index) {
  if constexpr (fanin::detail::is_host_space<TypeParam>) {
    fanin::kokkos<TypeParam> exec;
    const auto product = [](double x, double y) { return x * y; };
    const fanin::sum<double> sum;
    const Kokkos::View<double**, Kokkos::LayoutLeft, TypeParam> left("left", 4, 6);
    const Kokkos::View<double**, Kokkos::LayoutRight, TypeParam> right("right", 4, 6);
    const Kokkos::View<double**, Kokkos::LayoutRight, TypeParam> other("right", 6, 4);
    const Kokkos::View<double*, TypeParam> flat("flat", 24);
    number_elements(left);
    number_elements(right);
    const double squares = fanin::transform_reduce(exec, left, left, product, sum);
    EXPECT_EQ(squares, fanin::transform_reduce(exec, right, right, product, sum));
    EXPECT_EQ(fanin::transform_reduce(exec, right, flat, product, sum), 0);
    EXPECT_EQ(fanin::transform_reduce(exec, right, std::vector<double>(24, 1.0), product, sum), 3660);
    EXPECT_EQ(fanin::transform_reduce(exec, left, right, product, sum), squares);
    fanin_test::expect_invalid([&] { fanin::transform_reduce(exec, right, other, product, sum); }, "one shape");
    const Kokkos::View<double**, Kokkos::LayoutLeft, TypeParam> column("column", 24, 1);
    const Kokkos::View<double**, Kokkos::LayoutRight, TypeParam> same("same", 24, 1);
    EXPECT_EQ(fanin::transform_reduce(exec, column, same, product, sum), 0);
  }
}

/// What spaces do whose blocks cannot hold the accumulator; run here on every space.
TYPED_TEST(kokkos_space, accumulators_may_merge_through_workspace) {
  fanin::kokkos<TypeParam> exec;
  auto& state = *fanin::backend<fanin::kokkos<TypeParam>>::handle(exec);
  const auto composite = fanin::detail::make_composite(histogram<750>{}, spilling_histogram<75>{});
  using slot = fanin::detail::kokkos_slot<decltype(composite)::accumulator_type>;
  for (const std::int64_t n : {0, 1, 33, 100003}) {
    const slot* from =
        fanin::detail::reduce_through_workspace(state, exec.space(), "workspace", -5, n, scrambled_index{}, composite);
    exec.synchronize();
    std::vector<slot> total(1);
    fanin::copy_to_host(exec, std::span<const slot>(from, 1), std::span<slot>(total));
    const auto oracle = fanin::parallel_reduce(fanin::range(fanin_test::in_order, -5, n - 5), scrambled_index{},
                                               histogram<750>{}, histogram<75>{});
    EXPECT_EQ(get<0>(total[0].value), get<0>(oracle));
    EXPECT_EQ(get<1>(total[0].value), get<1>(oracle));
  }
}

struct count_visit {
  int* visits;
  FANIN_FUNCTION void operator()(std::int64_t i) const { ++visits[i + 3]; }
};

/// Every index goes to one work item, once.
TEST(kokkos_share, covers_every_index_once) {
  for (const std::int64_t count : {0, 1, 7, 64, 1000}) {
    for (const std::int64_t items : {1, 2, 7, 33}) {
      std::vector<int> visits(static_cast<std::size_t>(count));
      const fanin::detail::kokkos_share share{-3, count, items};
      for (std::int64_t item = 0; item < items; ++item) share.visit(item, count_visit{visits.data()});
      EXPECT_EQ(visits, std::vector<int>(static_cast<std::size_t>(count), 1)) << count << " over " << items;
    }
  }
}

template <std::size_t Size>
struct bytes {
  char of[Size];
};
static_assert(sizeof(fanin::detail::kokkos_slot<bytes<1>>) == 1);
static_assert(sizeof(fanin::detail::kokkos_slot<bytes<2>>) == 2);
static_assert(sizeof(fanin::detail::kokkos_slot<bytes<3>>) == 4);
static_assert(sizeof(fanin::detail::kokkos_slot<bytes<6>>) == 8);
static_assert(sizeof(fanin::detail::kokkos_slot<double>) == 8);

}  // namespace
