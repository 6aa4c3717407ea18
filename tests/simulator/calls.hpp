// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <fanin/cuda/cuda.hpp>
#include <fanin/exact_sum.hpp>
#include <fanin/md_range.hpp>
#include <fanin/parallel_reduce.hpp>
#include <fanin/reduce.hpp>
#include <fanin/reducers.hpp>
#include <fanin/serial/serial.hpp>
#include <fanin/view.hpp>

#include "support/data.hpp"
#include "support/functors.hpp"
#include "support/in_order.hpp"
#include "support/same.hpp"

/// Calls of Fanin's on the simulated device, of every strategy and grid stage, compared with serial.
namespace simulator_test {

/// What a call is asked for, whatever it reduces.
struct request {
  std::size_t start;
  std::size_t n;
  fanin::cuda_tuning tuning;
  bool blocking;
};

/// What is left to look at when the object's stream has ended: what was wrong, or nothing.
using check = std::function<std::string()>;

/// A call begins at one of the elements 0 .. most_starts.
inline constexpr std::size_t most_starts = 3;

/// A strategy with a grid stage, and what it reduces.
struct call {
  std::string name;
  fanin::cuda_recipe recipe;
  std::size_t most_elements;
  std::function<check(const fanin::cuda&, const request&)> run;
};

template <class Result>
std::string compared(const Result& got, const Result& expected) {
  using fanin_test::same;
  if (same(got, expected)) return "";
  if constexpr (std::is_arithmetic_v<Result>) {
    std::ostringstream text;
    text << "got ";
    fanin_test::show(text, got);
    text << ", expected ";
    fanin_test::show(text, expected);
    return text.str();
  }
  return "another result";
}

/// How elements come to a call: as an array, or by a functor.
template <class T>
struct as_array {
  using value_type = T;
  std::shared_ptr<const std::vector<T>> elements;
  std::span<const T> part(const request& asked) const {
    return std::span<const T>(*elements).subspan(asked.start, asked.n);
  }
  template <class Exec, class... Reducer>
  auto reduce(const Exec& exec, const request& asked, const Reducer&... reducers) const {
    return fanin::reduce(exec, part(asked), reducers...);
  }
  template <class Result, class Exec, class... Reducer>
  void reduce_into(Result* out, const Exec& exec, const request& asked, const Reducer&... reducers) const {
    fanin::reduce_into(out, exec, part(asked), reducers...);
  }
};

/// f(i) if Functor is `at`, f(i, acc) if `add_at`; indices begin below 0.
template <class T, template <class> class Functor>
struct by_functor {
  using value_type = T;
  std::shared_ptr<const std::vector<T>> elements;
  static constexpr std::int64_t first = -7;
  Functor<T> functor(const request& asked) const { return {elements->data() + asked.start - first}; }
  static std::int64_t last(const request& asked) { return first + static_cast<std::int64_t>(asked.n); }
  template <class Exec, class... Reducer>
  auto reduce(const Exec& exec, const request& asked, const Reducer&... reducers) const {
    return fanin::parallel_reduce(fanin::range(exec, first, last(asked)), functor(asked), reducers...);
  }
  template <class Result, class Exec, class... Reducer>
  void reduce_into(Result* out, const Exec& exec, const request& asked, const Reducer&... reducers) const {
    fanin::parallel_reduce_into(out, fanin::range(exec, first, last(asked)), functor(asked), reducers...);
  }
};

/// A view of two dimensions, of few columns and of many: of every second element, or of columns one behind the other.
template <class T>
struct as_view {
  using value_type = T;
  std::shared_ptr<const std::vector<T>> elements;
  fanin::view<const T, 2> part(const request& asked) const {
    constexpr std::int64_t some_columns[] = {1, 3, 61, 1'024};
    const std::int64_t columns = some_columns[asked.start % 4];
    const std::int64_t rows = static_cast<std::int64_t>(asked.n) / columns;
    const T* const x = elements->data() + asked.start;
    if (asked.n % 2 == 0) return {x, {rows, columns}, {1, rows}};
    return {x, {columns, rows / 2}, {2, 2 * columns}};
  }
  template <class Exec, class... Reducer>
  auto reduce(const Exec& exec, const request& asked, const Reducer&... reducers) const {
    return fanin::reduce(exec, part(asked), reducers...);
  }
  template <class Result, class Exec, class... Reducer>
  void reduce_into(Result* out, const Exec& exec, const request& asked, const Reducer&... reducers) const {
    fanin::reduce_into(out, exec, part(asked), reducers...);
  }
};

/// f(i, j), in boxes of few columns and of many; of every second number of elements read across memory.
template <class T>
struct by_planar_functor {
  using value_type = T;
  struct functor {
    const T* x;
    std::int64_t row_step;
    std::int64_t column_step;
    FANIN_FUNCTION T operator()(std::int64_t i, std::int64_t j) const {
      return x[(i + 7) * row_step + (j - 3) * column_step];
    }
  };
  std::shared_ptr<const std::vector<T>> elements;

  template <class Call>
  auto call_over(const auto& exec, const request& asked, const Call& call) const {
    constexpr std::int64_t some_columns[] = {1, 3, 61, 1'024};
    const std::int64_t columns = some_columns[asked.start % 4];
    const std::int64_t rows = static_cast<std::int64_t>(asked.n) / columns;
    const T* const x = elements->data() + asked.start;
    if (asked.n % 2 == 0) return call(fanin::md_range(exec, {-7, 3}, {rows - 7, columns + 3}), functor{x, columns, 1});
    return call(fanin::md_range(exec, {-7, 3}, {columns - 7, rows + 3}), functor{x, 1, columns});
  }
  template <class Exec, class... Reducer>
  auto reduce(const Exec& exec, const request& asked, const Reducer&... reducers) const {
    return call_over(exec, asked, [&](const auto& range, const functor& f) {
      return fanin::parallel_reduce(range, f, reducers...);
    });
  }
  template <class Result, class Exec, class... Reducer>
  void reduce_into(Result* out, const Exec& exec, const request& asked, const Reducer&... reducers) const {
    call_over(exec, asked,
              [&](const auto& range, const functor& f) { fanin::parallel_reduce_into(out, range, f, reducers...); });
  }
};

template <class Strategy, class Input, class... Reducer>
check run_call(const fanin::cuda& gpu, const Input& input, const request& asked, const Reducer&... reducers) {
  const auto expected = input.reduce(fanin_test::in_order, asked, reducers...);
  using result = std::remove_const_t<decltype(expected)>;
  const auto view = gpu.with<Strategy>(asked.tuning);
  if constexpr (fanin::is_stream_ordered(Strategy::recipe)) {
    if (!asked.blocking) {
      const auto out = std::make_shared<result>();
      input.reduce_into(out.get(), view, asked, reducers...);
      return [out, expected] { return compared<result>(*out, expected); };
    }
  }
  const result got = input.reduce(view, asked, reducers...);
  return [text = compared<result>(got, expected)] { return text; };
}

template <class Strategy, fanin::cuda_stage::grid Grid>
constexpr bool can_finish_by = [] {
  fanin::cuda_recipe recipe = Strategy::recipe;
  recipe.grid = Grid;
  return fanin::why_invalid(recipe) == nullptr;
}();

/// Whether a reducer goes with all grid stages that a row may have, or with the row's own.
enum class stages { all, own };

template <class... T>
struct list {};

/// A call for every strategy of a list: run(row, gpu, request).
template <stages Which, class... Strategy, class Run>
void add_rows(std::vector<call>& calls, list<Strategy...>, const std::string& what, std::size_t most_elements,
              const Run& run) {
  const auto add = [&]<class Row>(std::type_identity<Row> row) {
    calls.push_back({std::string(Row::name) + " finished by " + to_string(Row::recipe.grid) + ", " + what, Row::recipe,
                     most_elements,
                     [run, row](const fanin::cuda& gpu, const request& asked) { return run(row, gpu, asked); }});
  };
  const auto add_stages = [&]<class Row>(std::type_identity<Row>) {
    using fanin::cuda_stage::grid;
    const auto add_one = [&]<grid Grid>(std::integral_constant<grid, Grid>) {
      if constexpr (Row::recipe.grid == Grid) {
        add(std::type_identity<Row>{});
      } else if constexpr (Which == stages::all && can_finish_by<Row, Grid>) {
        add(std::type_identity<fanin::cuda_strategy::finished_by<Row, Grid>>{});
      }
    };
    add_one(std::integral_constant<grid, grid::host_finish>{});
    add_one(std::integral_constant<grid, grid::second_pass>{});
    add_one(std::integral_constant<grid, grid::last_block>{});
    add_one(std::integral_constant<grid, grid::watching_block>{});
    add_one(std::integral_constant<grid, grid::launch_per_halving>{});
  };
  (add_stages(std::type_identity<Strategy>{}), ...);
}

/// The same for reducers over an input.
template <stages Which, class... Strategy, class Input, class... Reducer>
void add_calls(std::vector<call>& calls, list<Strategy...> rows, const std::string& what, const Input& input,
               const Reducer&... reducers) {
  add_rows<Which>(
      calls, rows, what, input.elements->size() - most_starts,
      [input, reducers...]<class Row>(std::type_identity<Row>, const fanin::cuda& gpu, const request& asked) {
        return run_call<Row>(gpu, input, asked, reducers...);
      });
}

template <class... Strategy>
list<Strategy...> as_list(fanin::cuda_strategy_list<Strategy...>);

/// At most so many that a schedule takes a millisecond or a few.
inline constexpr std::size_t few_elements = 6'000;
/// For tiles of the bulk copy engine: more than its ring holds.
inline constexpr std::size_t many_elements = 40'000;

template <class T>
std::shared_ptr<const std::vector<T>> make_elements(fanin_test::data kind, std::size_t n = few_elements) {
  return std::make_shared<const std::vector<T>>(fanin_test::make_data<T>(kind, n + most_starts));
}

/// Mostly of one size, and in part from 2^-60 to 2^60.
inline std::shared_ptr<const std::vector<float>> make_wide_range() {
  auto mixed = std::make_shared<std::vector<float>>(3'000);
  for (std::size_t k = 0; k < mixed->size(); ++k) {
    const auto bits = fanin_test::mix(k);
    const int scale = k % 800 < 500 ? 0 : static_cast<int>(bits % 120) - 60;
    const float whole = static_cast<float>(static_cast<std::int32_t>(bits >> 40));
    (*mixed)[k] = std::ldexp(bits % 2 == 0 ? whole : -whole, scale);
  }
  return mixed;
}

/// Every row of the catalogue.
using catalogue = decltype(as_list(fanin::cuda_catalogue{}));

// Each in a unit of its own.
std::vector<call> calls_of_sums();
std::vector<call> calls_of_several();
std::vector<call> calls_of_wide();
std::vector<call> calls_of_states();
std::vector<call> calls_of_parcels();
std::vector<call> calls_of_edges();
std::vector<call> calls_of_updates();

}  // namespace simulator_test
