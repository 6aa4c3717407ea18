// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>

#include <fanin/batch.hpp>
#include <fanin/parallel_reduce.hpp>
#include <fanin/reducers.hpp>
#include <fanin/serial/serial.hpp>

#if defined(MERGE_OF_ROUNDED)
#include <fanin/exact_sum.hpp>
#include <fanin/merge.hpp>
#endif

// A reducer that lacks something, one thing for each macro; without one it is whole.

#if defined(FINAL)
#define CANDIDATE candidate final
#else
#define CANDIDATE candidate
#endif
struct CANDIDATE {
#if !defined(WITHOUT_VALUE_TYPE)
  using value_type = int;
#endif
#if defined(NOT_TRIVIALLY_COPYABLE)
  std::string name;
#endif
#if defined(WITHOUT_FOLD)
  struct accumulator_type {
    int total;
  };
  accumulator_type identity() const { return {0}; }
  void join(accumulator_type& into, const accumulator_type& from) const { into.total += from.total; }
#elif defined(WITHOUT_DEFAULT_CONSTRUCTOR)
  struct accumulator_type {
    explicit accumulator_type(int one) : total{one} {}
    int total;
  };
  accumulator_type identity() const { return accumulator_type(0); }
  void join(accumulator_type& into, const accumulator_type& from) const { into.total += from.total; }
  int result(const accumulator_type& acc) const { return acc.total; }
  using result_type = int;
#elif defined(WITHOUT_ASSIGNMENT)
  struct accumulator_type {
    accumulator_type() = default;
    accumulator_type(const accumulator_type&) = default;
    accumulator_type& operator=(const accumulator_type&) = delete;
    int total = 0;
  };
  accumulator_type identity() const { return {}; }
  void join(accumulator_type& into, const accumulator_type& from) const { into.total += from.total; }
  int result(const accumulator_type& acc) const { return acc.total; }
  using result_type = int;
#elif defined(WITHOUT_RESULT)
  struct result_type {
    int total;
  };
  int identity() const { return 0; }
  void join(int& into, const int& from) const { into += from; }
#elif defined(WITH_PARTIALS) || defined(WITHOUT_DRAIN) || defined(PARTIAL_NOT_COPYABLE) || \
    defined(SCALE_WITHOUT_RESCALE)
  struct state {
    int total;
  };
  struct partial {
    int total;
#if defined(PARTIAL_NOT_COPYABLE)
    std::string name;
#endif
  };
  struct gathering : fanin::gathering_with_partials<state, partial> {
    static state begin(const candidate&, int&) { return {0}; }
#if !defined(WITHOUT_DRAIN)
    static partial drain(const candidate&, state& of) { return {of.total}; }
#endif
    static void deposit(const candidate&, partial& of, int& spill) { spill += of.total; }
    static void join_partials(const candidate&, partial& into, const partial& from) { into.total += from.total; }
    static bool is_in_spill(const candidate&, const partial&) { return false; }
    static int result(const candidate&, const partial& of) { return of.total; }
    static void join_spills(const candidate&, int&, const auto&, unsigned, unsigned, unsigned) {}
    static int scale(const candidate&, const partial&) { return 1; }
#if !defined(SCALE_WITHOUT_RESCALE)
    static bool rescale(const candidate&, partial&, int to) { return to == 1; }
#endif
  };
  int identity() const { return 0; }
  void fold(state& of, int value, std::int64_t) const { of.total += value; }
  void join(int& into, const int& from) const { into += from; }
#elif defined(STATE_WITHOUT_THE_SPILL)
  struct sums {
    std::int64_t total;
  };
  struct state {
    std::int64_t total;
  };
  using accumulator_type = sums;
  using gathering = fanin::gathering_in_spill<state>;
  sums identity() const { return {0}; }
  void fold(state& of, int value, std::int64_t) const { of.total += value; }
  void join(sums& into, const sums& from) const { into.total += from.total; }
#elif defined(FOLD_INTO_THE_ACCUMULATOR)
  struct gathering : fanin::gathering_in_counters<int, int> {};
  int identity() const { return 0; }
  void fold(int& acc, int value, std::int64_t) const { acc += value; }
  void join(int& into, const int& from) const { into += from; }
#elif defined(GATHERING_BY_HAND) || defined(WITHOUT_FINISH) || defined(WITHOUT_JOIN_SPILLS) || \
    defined(SPLIT_AND_NOT_JOINED)
  struct gathering {
    using state_type = int;
    static constexpr bool has_spill = true;
#if defined(SPLIT_AND_NOT_JOINED)
    static constexpr bool joins_spills = false;
#else
    static constexpr bool joins_spills = true;
#endif
    static constexpr bool splits_spill = true;
    static constexpr bool has_partials = false;
    static int begin(const candidate&, int&) { return 0; }
#if !defined(WITHOUT_FINISH)
    static void finish(const candidate&, int& state, int& spill) { spill += state; }
#endif
#if !defined(WITHOUT_JOIN_SPILLS)
    static void join_spills(const candidate&, int&, const auto&, unsigned, unsigned, unsigned) {}
#endif
  };
  int identity() const { return 0; }
  void join(int& into, const int& from) const { into += from; }
  void fold(int& state, int value, std::int64_t) const { state += value; }
#else
#if !defined(WITHOUT_IDENTITY)
  int identity() const { return 0; }
#endif
#if defined(JOIN_BY_VALUE)
  int join(int one, int other) const { return one + other; }
#elif defined(JOIN_OF_TEMPLATES)
  void join(auto&& into, const auto& from) const { into += from; }
#elif !defined(WITHOUT_JOIN)
  void join(int& into, const int& from) const { into += from; }
#endif
#if defined(FOLD_BY_VALUE)
  void fold(int acc, int value, std::int64_t) const noexcept { acc += value; }
#endif
#if defined(FOLD_WITHOUT_INDEX) || defined(FINAL)
  void fold(int& acc, int value) const { acc += value * value; }
#elif defined(FOLD_WITH_32_BIT_INDEX)
  void fold(int& acc, int value, int i) const { acc += value * i; }
#elif defined(FOLD_WITH_UNSIGNED_INDEX)
  void fold(int& acc, int value, std::uint64_t) const { acc += value; }
#elif defined(FOLD_NOT_CONST)
  void fold(int& acc, int value, std::int64_t) { acc += value * value; }
#elif defined(RESULT_NOT_CONST)
  int result(const int& acc) { return -acc; }
#elif defined(WITH_BATCHES)
  void fold_batch(int& acc, const fanin::span_batch<int>& batch) const { acc += batch.values[0]; }
#elif defined(FOLD_BATCH_NOT_CONST)
  void fold_batch(int& acc, const fanin::span_batch<int>& batch) { acc += batch.values[0]; }
#elif defined(FOLD_BATCH_OF_TILES_NOT_CONST)
  template <int Rows, int Columns>
  void fold_batch(int& acc, const fanin::tile_batch<Rows, Columns, int>& batch) {
    acc += batch.values[0];
  }
#endif
#endif
};

struct element {
  int operator()(std::int64_t) const { return 1; }
};

#if defined(EXTREME_OF_AN_ENUM)
enum class colour { red, green };
auto use() {
  return fanin::parallel_reduce(
      fanin::range(fanin::serial{}, 10), [](std::int64_t) { return colour::green; }, fanin::min<colour>{});
}
#elif defined(MERGE_OF_ROUNDED)
void use(double& into, double from) { fanin::merge(into, from, fanin::exact_sum<double>{}); }
#elif defined(NO_REDUCER)
auto use() { return fanin::parallel_reduce(fanin::range(fanin::serial{}, 10), element{}); }
#else
auto use() { return fanin::parallel_reduce(fanin::range(fanin::serial{}, 10), element{}, candidate{}); }
#endif
