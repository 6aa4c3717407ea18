// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <tuple>
#include <vector>

// Fanin's headers give none of these warnings, wherever a compiler finds them, nor does this file.
#pragma GCC diagnostic error "-Wsign-conversion"
#pragma GCC diagnostic error "-Wfloat-equal"
#pragma GCC diagnostic error "-Wold-style-cast"
#pragma GCC diagnostic error "-Wextra-semi"
#pragma GCC diagnostic error "-Wpedantic"
#pragma GCC diagnostic error "-Wdouble-promotion"
#if !defined(__clang__)
#pragma GCC diagnostic error "-Wuseless-cast"
#endif
#include <fanin/fanin.hpp>

// Calls that fit no form of a function, and reducers of wrong types, all of them in one unit (WRONG), and the nearest
// that are right.

struct value {
  double operator()(std::int64_t i) const { return static_cast<double>(i); }
};
struct square {
  double operator()(double x) const { return x * x; }
};
struct unsigned_value {
  float operator()(std::size_t i) const { return static_cast<float>(i); }
};
struct in_plane {
  double operator()(std::int64_t i, std::int64_t j) const { return static_cast<double>(i + j); }
};
struct in_plane_of_ints {
  double operator()(int i, int j) const { return i + j; }
};
struct of_two {
  double operator()(double, const char*) const { return 0; }
};
struct of_32_bits {
  double operator()(double sum, int i) const { return sum * i; }
};
struct of_any_index {
  double operator()(double sum, auto i) const { return sum * static_cast<double>(i); }
};
struct no_equality {
  int x;
};
struct not_copied {
  int x;
  not_copied(const not_copied& other) : x{other.x} {}
  bool operator==(const not_copied&) const = default;
};
struct moves_only {
  std::unique_ptr<double> x;
  void operator()(std::int64_t i) const { *x += static_cast<double>(i); }
};

void use() {
  const fanin::serial exec;
  const fanin::sum<double> sum;
  const std::vector<double> xs(10);
  const double* const pointer = xs.data();
  const double matrix[3][4] = {};
#if defined(WRONG)
  float out = 0;
  double many = 0;
  const double cube[2][3][4] = {};
  fanin::range(exec, 10.5);
  fanin::md_range(exec, xs);
  fanin::parallel_reduce(10, value{}, sum);
  fanin::parallel_reduce_into(&out, fanin::range(exec, 10), value{}, sum);
  fanin::parallel_reduce_async(exec, 10, value{}, sum);
  fanin::parallel_for(10, value{});
  fanin::reduce<fanin::sum<double>>(exec, xs);
  fanin::reduce_into(&out, exec, xs, sum);
  fanin::reduce_async("sum", pointer, 10, sum);
  fanin::transform_reduce(pointer, 10, square{}, sum);
  fanin::transform_reduce_into("sum", &out, xs, square{}, sum);
  fanin::transform_reduce_async(pointer, square{}, sum);
  fanin::exact_dot(xs, xs);
  fanin::exact_dot_into(&out, exec, xs, xs);
  fanin::exact_norm2_squared(exec, pointer);
  fanin::exact_norm2_squared_into(exec, &out, xs);
  fanin::parallel_reduce(fanin::rows(exec, 3, 4), in_plane{}, sum);
  fanin::parallel_reduce_async(fanin::columns(exec, 3, 4), in_plane{}, sum);
  fanin::parallel_reduce_async(&many, fanin::rows(exec, 3, 4), in_plane{}, sum);
  fanin::axes<>(fanin::md_range(exec, {3, 4}));
  fanin::axes<2>(fanin::md_range(exec, {3, 4}));
  fanin::axes<1, 1>(fanin::md_range(exec, {3, 4, 5}));
  fanin::axes<1, 0>(fanin::md_range(exec, {3, 4}));
  fanin::axes<1>(fanin::md_range<std::int32_t>(exec, {3, 4}));
  fanin::parallel_reduce_into(&many, fanin::rows(exec, 3, 4), in_plane{}, fanin::finished(of_two{}, sum));
  fanin::parallel_reduce_into(&many, fanin::rows(exec, 3, 4), in_plane{}, fanin::finished(of_32_bits{}, sum));
  fanin::parallel_reduce_into(std::span<const double>(), fanin::rows(exec, 3, 4), in_plane{}, sum);
  fanin::parallel_reduce_into(std::span<float>(), fanin::rows(exec, 3, 4), in_plane{}, sum);
  fanin::parallel_reduce_into(fanin::view<double, 2>(), fanin::rows(exec, 3, 4), in_plane{}, sum);
  fanin::parallel_reduce_into(std::vector<double>(3), fanin::rows(exec, 3, 4), in_plane{}, sum);
  fanin::parallel_reduce_into(std::tuple(&many, &many), fanin::rows(exec, 3, 4), in_plane{}, sum);
  fanin::reduce(exec, fanin::columns(matrix), sum);
  fanin::reduce_async(exec, fanin::rows(matrix), sum);
  fanin::reduce_into(std::tuple(&many, &out), exec, fanin::rows(matrix), sum, sum);
  fanin::rows(xs);
  fanin::rows(cube);
  fanin::axes<0, 3>(cube);
  fanin::segments(matrix, std::span<const int>());
  fanin::segments(xs, xs);
  const std::vector<int> offsets(4);
  fanin::parallel_reduce_into(&many, fanin::segments(exec, offsets), value{}, sum);
  fanin::parallel_reduce_into(&many, fanin::rows(exec, 3, 4), in_plane_of_ints{}, sum);
  const std::vector<int> keys(10);
  std::vector<int> to_keys(10);
  std::vector<double> sums(10);
  std::int64_t count = 0;
  const auto runs = fanin::runs(xs, keys);
  const auto range = fanin::runs(exec, keys);
  fanin::reduce(exec, runs, sum);
  fanin::reduce_into(&many, exec, runs, sum);
  fanin::parallel_reduce(range, value{}, sum);
  fanin::parallel_reduce_into(&many, range, value{}, sum);
  fanin::parallel_reduce_async(range, value{}, sum);
  fanin::reduce(fanin::runs_to(to_keys, sums, &count), exec, runs, sum);
  fanin::reduce_into(fanin::runs_to(to_keys, sums), exec, runs, sum);
  fanin::reduce_async(fanin::runs_to(to_keys, sums, &count), exec, runs, sum);
  std::int32_t count_of_32_bits = 0;
  fanin::reduce_into(fanin::runs_to(to_keys, sums, &count_of_32_bits), exec, runs, sum);
  fanin::reduce(fanin::runs_to(to_keys.data(), sums), exec, runs, sum);
  fanin::reduce(fanin::runs_to(matrix, sums), exec, runs, sum);
  fanin::reduce(fanin::runs_to(keys, sums), exec, runs, sum);
  fanin::reduce(fanin::runs_to(to_keys, 3), exec, runs, sum);
  fanin::runs(matrix, keys);
  fanin::runs(exec, std::span<const no_equality>());
  fanin::runs(exec, std::span<const not_copied>());
  fanin::parallel_reduce(fanin::runs_to(to_keys, sums), range, in_plane{}, sum);
  fanin::rows(pointer);
  fanin::segments(xs, pointer);
  const char text[3] = {1, 2, 3};
  fanin::reduce(exec, text, sum);

  fanin::reduce(exec, pointer, 10, sum);
  fanin::reduce(exec, std::vector<bool>(10), fanin::lor<bool>{});
  fanin::reduce_async(exec, xs, sum);
  fanin::parallel_for(fanin::range(exec, 10), moves_only{});
  fanin::reduce(exec, xs, fanin::sum{});
  fanin::reduce(exec, xs, fanin::max<const double>{});
  fanin::reduce(exec, xs, fanin::exact_sum<int>{});
  fanin::parallel_reduce(fanin::range(exec, 10), value{}, fanin::sum<bool>{});
#else
  double out = 0;
  fanin::parallel_reduce(fanin::range(exec, 10), value{}, sum);
  fanin::parallel_reduce_into(&out, fanin::range(10), value{}, sum);
  (void)fanin::parallel_reduce_async("sum", fanin::range(exec, 10), value{}, sum);
  fanin::parallel_for("f", fanin::range(std::size_t{10}), unsigned_value{});
  fanin::parallel_reduce(fanin::range(10U), unsigned_value{}, fanin::max<float>{}, fanin::lor<float>{});
  fanin::parallel_reduce(
      fanin::range(exec, 0, 10L), [](std::size_t i, auto& acc) { acc += static_cast<double>(i); },
      fanin::exact_sum<double>{});
  fanin::parallel_reduce(fanin::range(exec, 10), [](auto i) { return i; }, fanin::min_loc<std::int64_t>{});
  fanin::parallel_reduce_into(&out, fanin::rows(1, 4U), in_plane{}, sum);
  fanin::parallel_reduce_into(&out, fanin::rows(exec, 1, 4), in_plane{}, fanin::finished(of_any_index{}, sum));
  fanin::reduce(exec, std::span(pointer, 10), fanin::sum<bool, std::int64_t>{});
  fanin::reduce_into("sum", &out, exec, xs, sum);
  fanin::reduce_into("rows", std::tuple(&out, std::span(&out, 3)), fanin::rows(matrix), sum, sum);
  fanin::reduce_into(nullptr, exec, xs, sum);  // which throws
  const std::vector<int> keys(10);
  std::vector<int> to_keys(10);
  std::int64_t count = 0;
  fanin::reduce("runs", fanin::runs_to(to_keys, &out), fanin::runs(xs, keys), sum);
  fanin::reduce_into(fanin::runs_to(to_keys, &out, nullptr), fanin::runs(xs, keys), sum);  // which throws
  fanin::reduce_into(fanin::runs_to(std::span(to_keys), std::tuple(&out, std::span(&out, 10)), &count),
                     fanin::runs(xs, keys), sum, sum);
  fanin::parallel_reduce(fanin::runs_to(to_keys, &out), fanin::runs(keys), value{}, sum);
  fanin::parallel_reduce_into("runs", fanin::runs_to(to_keys, &out, &count), fanin::runs(exec, keys), value{}, sum);
  fanin::reduce_async("sum", xs, sum).get();
  std::vector<double> out_of_rows(3);
  const std::span<double> span_of_rows(out_of_rows);
  fanin::parallel_reduce_async("rows", &out, fanin::rows(exec, 1, 4), in_plane{}, sum).get();
  fanin::parallel_reduce_async(out_of_rows, fanin::rows(3, 4), in_plane{}, sum).get();
  fanin::reduce_async(out_of_rows.data(), fanin::rows(matrix), sum).get();
  fanin::reduce_async("rows", span_of_rows, fanin::rows(matrix), sum).get();
  fanin::reduce_into(nullptr, out_of_rows, exec, fanin::rows(matrix), sum);
  fanin::reduce_into(nullptr, span_of_rows, fanin::rows(matrix), sum);
  fanin::reduce_async(std::tuple(&out, span_of_rows), exec, fanin::rows(matrix), sum, sum).get();
  count = fanin::reduce_async(fanin::runs_to(to_keys, &out), fanin::runs(xs, keys), sum).get();
  count = fanin::parallel_reduce_async("runs", fanin::runs_to(to_keys, &out), fanin::runs(keys), value{}, sum).get();
  fanin::transform_reduce("sum", exec, xs, square{}, sum);
  fanin::transform_reduce_into(nullptr, &out, xs, square{}, sum);
#endif
}
