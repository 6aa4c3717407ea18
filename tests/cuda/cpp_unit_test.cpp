// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include <fanin/axes.hpp>
#include <fanin/segments.hpp>
#include <fanin/view.hpp>

#include "cuda/gpu_test.hpp"

/// The precompiled reductions, called from a unit that g++ compiles; properties over generated arrays.
namespace fanin_test {
namespace {

#if defined(__CUDACC__)
#error "this unit is to be compiled by a C++ compiler"
#endif

template <class T>
class cuda_precompiled : public gpu_test {};
using precompiled_types = ::testing::Types<std::int32_t, std::int64_t, std::uint32_t, std::uint64_t, float, double>;
TYPED_TEST_SUITE(cuda_precompiled, precompiled_types);

template <class Reducer, class T>
void expect_as_serial(fanin::cuda& gpu, const std::vector<T>& host, const placed<T, fanin::cuda>& x, const char* name) {
  const auto expected = fanin::reduce(fanin::serial{}, host, Reducer{});
  EXPECT_TRUE(is_same(fanin::reduce(gpu, x.span(), Reducer{}), expected)) << name;
  destination<fanin::reducer_result_t<Reducer>, fanin::cuda> out(gpu);
  fanin::reduce_into("labelled", out.pointer(), gpu, x.span(), Reducer{});
  EXPECT_TRUE(is_same(out.get(), expected)) << name << "_into";
}

TYPED_TEST(cuda_precompiled, every_reducer) {
  fanin::cuda gpu;
  for (const std::size_t n : few_sizes()) {
    SCOPED_TRACE("n = " + std::to_string(n));
    // Whole numbers: float sums are exact, so that serial's bits are the only right ones.
    const auto host = make_data<TypeParam>(data::whole_numbers, n);
    const placed<TypeParam, fanin::cuda> x(gpu, host, 1);
    expect_as_serial<fanin::sum<TypeParam>>(gpu, host, x, "sum");
    expect_as_serial<fanin::min<TypeParam>>(gpu, host, x, "min");
    expect_as_serial<fanin::max<TypeParam>>(gpu, host, x, "max");
    expect_as_serial<fanin::min_loc<TypeParam>>(gpu, host, x, "min_loc");
    expect_as_serial<fanin::max_loc<TypeParam>>(gpu, host, x, "max_loc");
    expect_as_serial<fanin::min_max<TypeParam>>(gpu, host, x, "min_max");
    expect_as_serial<fanin::min_max_loc<TypeParam>>(gpu, host, x, "min_max_loc");
    expect_as_serial<fanin::land<TypeParam>>(gpu, host, x, "land");
    expect_as_serial<fanin::lor<TypeParam>>(gpu, host, x, "lor");
    // Of powers of two the product is exact.
    std::vector<TypeParam> powers(n);
    for (std::size_t i = 0; i < n; ++i)
      powers[i] = static_cast<TypeParam>(std::integral<TypeParam> ? 3 : i % 2 == 0 ? 0.5 : 2);
    const placed<TypeParam, fanin::cuda> y(gpu, powers);
    if (std::integral<TypeParam> || n % 2 == 0 || n == 1) {
      expect_as_serial<fanin::prod<TypeParam>>(gpu, powers, y, "prod");
    }
    if constexpr (std::integral<TypeParam>) {
      expect_as_serial<fanin::band<TypeParam>>(gpu, host, x, "band");
      expect_as_serial<fanin::bor<TypeParam>>(gpu, host, x, "bor");
    } else {
      const auto drawn = make_data<TypeParam>(data::random_signed, n);
      expect_as_serial<fanin::exact_sum<TypeParam>>(gpu, drawn, placed<TypeParam, fanin::cuda>(gpu, drawn),
                                                    "exact_sum");
    }
  }
}

template <class T>
class cuda_precompiled_shapes : public gpu_test {};
using shapes_types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(cuda_precompiled_shapes, shapes_types);

/// Arrays with a result for each row or segment, on the device and as serial has them.
template <class T>
struct arrays_of_many {
  explicit arrays_of_many(data kind) : host(make_data<T>(kind, 6000)), x(gpu, host, 1) {}

  fanin::cuda gpu;
  std::vector<T> host;
  placed<T, fanin::cuda> x;
  std::vector<std::int32_t> offsets = {0, 0, 1, 30, 200, 200, 6000};
  placed<std::int32_t, fanin::cuda> device_offsets{gpu, offsets};

  /// Of a matrix in either layout, or with columns between those of which it is.
  static fanin::view<const T, 2> matrix(const T* from, std::int64_t rows, std::int64_t columns, int layout) {
    if (layout == 0) return {from, {rows, columns}};
    if (layout == 1) return {from, {rows, columns}, {1, rows}};
    return {from, {rows, columns / 2}, {columns, 2}};
  }

  /// At every second place of a destination, by _into and by _async; nothing is written between them.
  template <class Reducer, class Of>
  void expect_as_serial(const Of& of, std::int64_t count) {
    using result = fanin::reducer_result_t<Reducer>;
    std::vector<result> expected(static_cast<std::size_t>(count));
    fanin::reduce_into(expected.data(), fanin::serial{}, of(host.data(), offsets.data()), Reducer{});
    const std::vector<result> untouched(2 * expected.size());
    fanin::buffer<result, fanin::cuda> memory(gpu, untouched.size());
    const fanin::view<result, 1> out(memory.data(), {count}, {2});
    for (const bool later : {false, true}) {
      memory.copy_from(untouched);
      if (later) {
        fanin::reduce_async(out, gpu, of(x.data(), device_offsets.data()), Reducer{}).get();
      } else {
        fanin::reduce_into("labelled", out, gpu, of(x.data(), device_offsets.data()), Reducer{});
      }
      std::vector<result> got(untouched.size());
      memory.copy_to(got);
      for (std::size_t k = 0; k < expected.size(); ++k) {
        EXPECT_TRUE(is_same(got[2 * k], expected[k])) << (later ? "_async, " : "_into, ") << k;
        EXPECT_TRUE(is_same(got[2 * k + 1], untouched[2 * k + 1])) << "behind " << k;
      }
    }
  }

  template <class Reducer>
  void expect_all_as_serial(const Reducer&, int number) {
    SCOPED_TRACE("reducer " + std::to_string(number) + " of the list");
    for (const std::int64_t n : {2, 75, 3000}) {
      for (const int layout : {0, 1, 2}) {
        const std::int64_t m = 6000 / n;
        SCOPED_TRACE(std::to_string(n) + " x " + std::to_string(m) + ", layout " + std::to_string(layout));
        const auto of = [&](const T* from) { return matrix(from, n, m, layout); };
        expect_as_serial<Reducer>([&](const T* from, auto) { return fanin::rows(of(from)); }, n);
        expect_as_serial<Reducer>([&](const T* from, auto) { return fanin::columns(of(from)); },
                                  of(host.data()).extent(1));
      }
    }
    SCOPED_TRACE("segments");
    const auto segments = [&](const T* from, const std::int32_t* at) {
      return fanin::segments(std::span(from, host.size()), std::span(at, offsets.size()));
    };
    expect_as_serial<Reducer>(segments, std::ssize(offsets) - 1);
  }

  template <class... Reducer>
  void expect_each_as_serial(const Reducer&... reducers) {
    int number = 0;
    (expect_all_as_serial(reducers, ++number), ...);
  }
};

TYPED_TEST(cuda_precompiled_shapes, every_reducer) {
  using T = TypeParam;
  // Sums of whole numbers are exact, so that serial's bits are the only right ones; of others only exact sums are.
  arrays_of_many<T>(data::whole_numbers).expect_each_as_serial(fanin::sum<T>{});
  arrays_of_many<T>(data::random_signed)
      .expect_each_as_serial(fanin::min<T>{}, fanin::max<T>{}, fanin::min_loc<T>{}, fanin::max_loc<T>{},
                             fanin::exact_sum<T>{});
}

/// Buffers, copies and refusals need no CUDA compiler either.
TEST_F(gpu_test, memory_from_a_cpp_unit) {
  fanin::cuda gpu;
  const std::vector<double> host{1, 2, 3};
  fanin::buffer<double, fanin::cuda> x(gpu, host);
  std::vector<double> back(3);
  x.copy_to(back);
  EXPECT_EQ(back, host);
  EXPECT_THROW(fanin::reduce(gpu, host, fanin::sum<double>{}), fanin::invalid_argument);
}

class cuda_properties : public gpu_test {};

fanin::cuda& shared_object() {
  static thread_local fanin::cuda gpu;
  return gpu;
}

// RapidCheck's own macros run a property although its fixture skips.
void integer_answers_are_serials(const std::vector<std::int64_t>& host) {
  auto& gpu = shared_object();
  const auto copies = *rc::gen::inRange<std::size_t>(1, 50);
  std::vector<std::int64_t> many;
  for (std::size_t k = 0; k < copies; ++k) many.insert(many.end(), host.begin(), host.end());
  const auto offset = *rc::gen::inRange<std::size_t>(0, 4);
  const placed<std::int64_t, fanin::cuda> x(gpu, many, offset);
  const auto as_serial = [&](const auto& reducer) {
    RC_ASSERT(same(fanin::reduce(gpu, x.span(), reducer), fanin::reduce(fanin::serial{}, many, reducer)));
  };
  as_serial(fanin::sum<std::int64_t>{});
  as_serial(fanin::prod<std::int64_t>{});
  as_serial(fanin::min_max_loc<std::int64_t>{});
  as_serial(fanin::band<std::int64_t>{});
}

TEST_F(cuda_properties, integer_answers_are_serials) { EXPECT_TRUE(rc::check(integer_answers_are_serials)); }

void odd_doubles_are_placed_as_by_serial() {
  auto& gpu = shared_object();
  const auto host = *rc::gen::container<std::vector<double>>(
      rc::gen::element(std::nan(""), -std::nan(""), double{INFINITY}, -double{INFINITY}, 0.0, -0.0, 1.0, 5e-324));
  const placed<double, fanin::cuda> x(gpu, host);
  RC_ASSERT(same(fanin::reduce(gpu, x.span(), fanin::min_max_loc<double>{}),
                 fanin::reduce(fanin::serial{}, host, fanin::min_max_loc<double>{})));
}
TEST_F(cuda_properties, odd_doubles_are_placed_as_by_serial) {
  EXPECT_TRUE(rc::check(odd_doubles_are_placed_as_by_serial));
}

}  // namespace
}  // namespace fanin_test
