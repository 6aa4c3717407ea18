// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <iostream>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cuda/gpu_test.hpp"
#include "support/data.hpp"
#include "support/functors.hpp"
#include "support/user_reducers.hpp"

/// Calls of random kind, size, tuning, object and thread, blocking, ordered, got later and as nodes of graphs, against
/// answers that are known without reducing. FANIN_SOAK_CALLS says how many, FANIN_SOAK_SEED which.
namespace fanin_test {
namespace {

namespace cuda_strategy = fanin::cuda_strategy;
using fanin::cuda_stage::grid;
using integer = std::int64_t;

constexpr integer most = integer{1} << 18;

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

class choices {
 public:
  explicit choices(std::uint64_t seed) : state_{mix(seed)} {}
  std::size_t below(std::size_t end) { return static_cast<std::size_t>((state_ = mix(state_)) % end); }
  integer from_to(integer first, integer last) {
    return first + static_cast<integer>(below(static_cast<std::size_t>(last - first + 1)));
  }

 private:
  std::uint64_t state_;
};

/// What is reduced, on host and device, and what makes answers known.
struct elements {
  std::vector<integer> integers = make_data<integer>(data::random_signed, most);
  std::vector<std::uint64_t> sums{0};           ///< of the first so many
  std::vector<std::vector<integer>> least{{}};  ///< [k][i]: where the least of 2^k from i on is
  /// At 4 j + 1 and 4 j + 3 whole numbers; at 4 j and 4 j + 2 one of any magnitude, and its negative.
  std::vector<double> doubles;
  std::vector<double> sums_of_doubles{0.0};
  integer* on_device = nullptr;
  double* doubles_on_device = nullptr;

  elements() {
    for (integer i = 0; i < most; ++i) {
      const std::uint64_t bits = mix(static_cast<std::uint64_t>(i) + 77);
      sums.push_back(sums.back() + static_cast<std::uint64_t>(integers[static_cast<std::size_t>(i)]));
      least[0].push_back(i);
      const double whole = static_cast<double>(static_cast<integer>(bits >> 40)) - 0x1p23;
      const double of_any = i % 4 == 2 ? -doubles[static_cast<std::size_t>(i) - 2]
                                       : std::ldexp(1.0 + static_cast<double>(bits >> 20 & 0xffff) * 0x1p-17,
                                                    bits % 16 == 0 ? static_cast<int>(bits >> 4 & 1023) : 20);
      doubles.push_back(i % 2 == 1 ? whole : of_any);
      sums_of_doubles.push_back(sums_of_doubles.back() + (i % 2 == 1 ? whole : 0.0));
    }
    for (std::size_t k = 1; (integer{1} << k) <= most; ++k) {
      least.emplace_back();
      for (std::size_t i = 0; i + (std::size_t{1} << k) <= static_cast<std::size_t>(most); ++i) {
        least[k].push_back(lesser(least[k - 1][i], least[k - 1][i + (std::size_t{1} << (k - 1))]));
      }
    }
    check(cudaMalloc(reinterpret_cast<void**>(&on_device), integers.size() * sizeof(integer)));
    check(cudaMalloc(reinterpret_cast<void**>(&doubles_on_device), doubles.size() * sizeof(double)));
    check(cudaMemcpy(on_device, integers.data(), integers.size() * sizeof(integer), cudaMemcpyHostToDevice));
    check(cudaMemcpy(doubles_on_device, doubles.data(), doubles.size() * sizeof(double), cudaMemcpyHostToDevice));
  }
  ~elements() {
    cudaFree(on_device);
    cudaFree(doubles_on_device);
  }
  elements(const elements&) = delete;
  elements& operator=(const elements&) = delete;

  integer sum(integer first, integer last) const {
    return static_cast<integer>(sums[static_cast<std::size_t>(last)] - sums[static_cast<std::size_t>(first)]);
  }
  integer place_of_least(integer first, integer last) const {
    const auto k = static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(last - first)) - 1);
    return lesser(least[k][static_cast<std::size_t>(first)],
                  least[k][static_cast<std::size_t>(last - (integer{1} << k))]);
  }
  integer at(integer i) const { return integers[static_cast<std::size_t>(i)]; }

 private:
  integer lesser(integer i, integer j) const { return at(j) < at(i) ? j : i; }
};

struct part {
  integer first;
  integer last;
};

// --- What a call reduces: its result, what that must be, and the calls

struct sum_by_index {
  using result = integer;
  static result expected(const elements& all, part of) { return all.sum(of.first, of.last); }
  static result blocking(const auto& view, const elements& all, part of) {
    return fanin::parallel_reduce(fanin::range(view, of.first, of.last), at<integer>{all.on_device},
                                  fanin::sum<integer>{});
  }
  static void into(result* out, const auto& view, const elements& all, part of) {
    fanin::parallel_reduce_into(out, fanin::range(view, of.first, of.last), at<integer>{all.on_device},
                                fanin::sum<integer>{});
  }
  static auto later(const auto& view, const elements& all, part of) {
    return fanin::parallel_reduce_async(fanin::range(view, of.first, of.last), at<integer>{all.on_device},
                                        fanin::sum<integer>{});
  }
};

struct sum_of_span : sum_by_index {
  static std::span<const integer> span_of(const elements& all, part of) {
    return {all.on_device + of.first, static_cast<std::size_t>(of.last - of.first)};
  }
  static result blocking(const auto& view, const elements& all, part of) {
    return fanin::reduce(view, span_of(all, of), fanin::sum<integer>{});
  }
  static void into(result* out, const auto& view, const elements& all, part of) {
    fanin::reduce_into(out, view, span_of(all, of), fanin::sum<integer>{});
  }
  static auto later(const auto& view, const elements& all, part of) {
    return fanin::reduce_async(view, span_of(all, of), fanin::sum<integer>{});
  }
};

struct least_and_sum {
  using result = fanin::tuple<fanin::value_index<integer>, integer>;
  static result expected(const elements& all, part of) {
    const integer place = all.place_of_least(of.first, of.last);
    return result{fanin::value_index<integer>{all.at(place), place}, all.sum(of.first, of.last)};
  }
  static result blocking(const auto& view, const elements& all, part of) {
    return fanin::parallel_reduce(fanin::range(view, of.first, of.last), at<integer>{all.on_device},
                                  fanin::min_loc<integer>{}, fanin::sum<integer>{});
  }
  static void into(result* out, const auto& view, const elements& all, part of) {
    fanin::parallel_reduce_into(out, fanin::range(view, of.first, of.last), at<integer>{all.on_device},
                                fanin::min_loc<integer>{}, fanin::sum<integer>{});
  }
  static auto later(const auto& view, const elements& all, part of) {
    return fanin::parallel_reduce_async(fanin::range(view, of.first, of.last), at<integer>{all.on_device},
                                        fanin::min_loc<integer>{}, fanin::sum<integer>{});
  }
};

struct exact {
  using result = double;
  static part of_fours(part of) { return {of.first / 4 * 4, (of.last + 3) / 4 * 4}; }
  static result expected(const elements& all, part asked) {
    const part of = of_fours(asked);
    return all.sums_of_doubles[static_cast<std::size_t>(of.last)] -
           all.sums_of_doubles[static_cast<std::size_t>(of.first)];
  }
  static std::span<const double> span_of(const elements& all, part asked) {
    const part of = of_fours(asked);
    return {all.doubles_on_device + of.first, static_cast<std::size_t>(of.last - of.first)};
  }
  static result blocking(const auto& view, const elements& all, part of) {
    return fanin::reduce(view, span_of(all, of), fanin::exact_sum<double>{});
  }
  static void into(result* out, const auto& view, const elements& all, part of) {
    fanin::reduce_into(out, view, span_of(all, of), fanin::exact_sum<double>{});
  }
  static auto later(const auto& view, const elements& all, part of) {
    return fanin::reduce_async(view, span_of(all, of), fanin::exact_sum<double>{});
  }
};

struct low_bits {
  FANIN_FUNCTION std::uint32_t operator()(integer i) const { return static_cast<std::uint32_t>(i); }
};

/// How many of `of` leave this remainder.
constexpr integer with_remainder(part of, integer divisor, integer remainder) {
  const auto below = [&](integer end) { return (end - remainder + divisor - 1) / divisor; };
  return below(of.last) - below(of.first);
}

template <class Reducer>
struct counters {
  using result = typename Reducer::result_type;
  static result expected(const elements&, part of) {
    typename Reducer::counters all{};
    for (int k = 0; k < Reducer::bins; ++k) all.count[k] = with_remainder(of, Reducer::bins, k);
    return Reducer{}.result(all);
  }
  static result blocking(const auto& view, const elements&, part of) {
    return fanin::parallel_reduce(fanin::range(view, of.first, of.last), low_bits{}, Reducer{});
  }
  static void into(result* out, const auto& view, const elements&, part of) {
    fanin::parallel_reduce_into(out, fanin::range(view, of.first, of.last), low_bits{}, Reducer{});
  }
  static auto later(const auto& view, const elements&, part of) {
    return fanin::parallel_reduce_async(fanin::range(view, of.first, of.last), low_bits{}, Reducer{});
  }
};

// --- Calls by their number

/// As large as any result.
struct alignas(16) slot {
  unsigned char bytes[64];
};

/// A call that was made in its stream's order; whether what it wrote is right.
using is_right = bool (*)(const slot&, const elements&, part);
/// One whose result is got later: gets it, and whether it is right.
using gets_right = std::function<bool(const elements&, part)>;

struct call {
  const char* strategy;
  const char* what;
  bool is_ordered;
  bool is_persistent;
  bool (*blocking)(const fanin::cuda&, const fanin::cuda_tuning&, const elements&, part);
  void (*into)(slot*, const fanin::cuda&, const fanin::cuda_tuning&, const elements&, part);
  gets_right (*later)(const fanin::cuda&, const fanin::cuda_tuning&, const elements&, part);
  is_right right;
};

template <class Strategy, class Kind>
call call_of(const char* what) {
  using result = typename Kind::result;
  static_assert(sizeof(result) <= sizeof(slot));
  call one{Strategy::name,
           what,
           fanin::is_stream_ordered(Strategy::recipe),
           is_persistent(Strategy::recipe),
           nullptr,
           nullptr,
           nullptr,
           nullptr};
  one.blocking = [](const fanin::cuda& gpu, const fanin::cuda_tuning& tuning, const elements& all, part of) {
    return Kind::blocking(gpu.with<Strategy>(tuning), all, of) == Kind::expected(all, of);
  };
  if constexpr (fanin::is_stream_ordered(Strategy::recipe)) {
    one.into = [](slot* out, const fanin::cuda& gpu, const fanin::cuda_tuning& tuning, const elements& all, part of) {
      Kind::into(reinterpret_cast<result*>(out), gpu.with<Strategy>(tuning), all, of);
    };
    one.later = [](const fanin::cuda& gpu, const fanin::cuda_tuning& tuning, const elements& all, part of) {
      auto made = std::make_shared<fanin::pending<result>>(Kind::later(gpu.with<Strategy>(tuning), all, of));
      return gets_right(
          [made](const elements& known, part asked) { return made->get() == Kind::expected(known, asked); });
    };
  }
  one.right = [](const slot& got, const elements& all, part of) {
    result value{};
    std::memcpy(static_cast<void*>(&value), &got, sizeof(value));
    return value == Kind::expected(all, of);
  };
  return one;
}

const std::vector<call>& calls() {
  using cuda_strategy::finished_by;
  static const std::vector<call> all{
      call_of<cuda_strategy::one_pass, sum_by_index>("sum of f(i)"),
      call_of<cuda_strategy::one_pass, sum_of_span>("sum of a span"),
      call_of<cuda_strategy::one_pass, least_and_sum>("min_loc and sum"),
      call_of<cuda_strategy::one_pass, exact>("exact sum"),
      call_of<cuda_strategy::one_pass, counters<wide_counts>>("600 bytes"),
      call_of<cuda_strategy::one_pass, counters<histogram>>("histogram"),
      call_of<cuda_strategy::one_pass_bulk, sum_of_span>("sum of a span"),
      call_of<cuda_strategy::cluster, sum_by_index>("sum of f(i)"),
      call_of<cuda_strategy::shared_tree, sum_by_index>("sum of f(i)"),
      call_of<cuda_strategy::global_halving, sum_by_index>("sum of f(i)"),
      call_of<finished_by<cuda_strategy::shuffle, grid::last_block>, least_and_sum>("min_loc and sum"),
      call_of<finished_by<cuda_strategy::shuffle, grid::second_pass>, exact>("exact sum"),
      call_of<finished_by<cuda_strategy::global_interleaved, grid::watching_block>, sum_by_index>("sum of f(i)"),
      call_of<finished_by<cuda_strategy::shared_tree, grid::last_block>, counters<wide_counts>>("600 bytes"),
  };
  return all;
}

struct tally {
  std::atomic<std::int64_t> made{0};
  std::atomic<std::int64_t> wrong{0};
  std::mutex mutex;

  void note(bool right, const call& of, const char* form, part asked, const fanin::cuda_tuning& tuning) {
    ++made;
    if (right) return;
    if (++wrong > 5) return;
    const std::lock_guard lock(mutex);
    ADD_FAILURE() << of.strategy << ", " << of.what << ", " << form << ": indices " << asked.first << " to "
                  << asked.last << ", blocks of " << tuning.block_size << ", grid " << tuning.grid_size;
  }
};

struct asked_call {
  const call* of;
  part asked;
  fanin::cuda_tuning tuning;

  explicit asked_call(choices& draw, bool ordered) {
    do {
      of = &calls()[draw.below(calls().size())];
    } while (ordered && !of->is_ordered);
    const integer n = draw.from_to(1, integer{1} << draw.below(19));
    asked.first = draw.from_to(0, most - n);
    asked.last = asked.first + n;
    if (draw.below(2) == 0) return;
    tuning.block_size = 32 << draw.below(4);
    if (of->is_persistent) tuning.grid_size = 8 * static_cast<int>(1 + draw.below(25));  // cluster takes eights
  }
};

/// One thread's, with an object and memory of its own beside those that all share.
class caller {
 public:
  caller(std::uint64_t seed, const elements& all, std::deque<fanin::cuda>& objects, tally& count)
      : draw_{seed}, all_{all}, objects_{objects}, count_{count} {
    check(cudaMalloc(reinterpret_cast<void**>(&slots_), many * sizeof(slot)));
  }
  ~caller() { cudaFree(slots_); }
  caller(const caller&) = delete;
  caller& operator=(const caller&) = delete;

  void make(std::int64_t some) {
    for (std::int64_t made = 0; made < some;) {
      const std::size_t which = draw_.below(10);
      made += which == 0 ? in_a_graph() : which < 4 ? ordered() : which < 6 ? got_later() : blocking();
    }
  }

 private:
  static constexpr std::size_t many = 24;

  const fanin::cuda& any() { return objects_[draw_.below(objects_.size())]; }

  std::int64_t blocking() {
    const asked_call one(draw_, false);
    count_.note(one.of->blocking(any(), one.tuning, all_, one.asked), *one.of, "blocking", one.asked, one.tuning);
    return 1;
  }

  std::int64_t ordered() {
    const fanin::cuda& gpu = any();
    std::vector<asked_call> made;
    for (std::size_t k = 1 + draw_.below(many); k > 0; --k) {
      const asked_call& one = made.emplace_back(draw_, true);
      one.of->into(slots_ + made.size() - 1, gpu, one.tuning, all_, one.asked);
    }
    look_at(gpu, made, "into");
    return static_cast<std::int64_t>(made.size());
  }

  /// Of several objects, in another order, every fifth dropped.
  std::int64_t got_later() {
    struct outstanding {
      asked_call one;
      gets_right gets;
    };
    std::vector<outstanding> made;
    for (std::size_t k = 1 + draw_.below(many); k > 0; --k) {
      const asked_call one(draw_, true);
      made.push_back({one, one.of->later(any(), one.tuning, all_, one.asked)});
    }
    const auto all = static_cast<std::int64_t>(made.size());
    for (; !made.empty(); made.pop_back()) {
      std::swap(made[draw_.below(made.size())], made.back());
      const auto& [one, gets] = made.back();
      if (draw_.below(5) == 0) continue;
      count_.note(gets(all_, one.asked), *one.of, "got later", one.asked, one.tuning);
    }
    return all;
  }

  std::int64_t in_a_graph() {
    std::vector<asked_call> made;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    check(cudaStreamBeginCapture(mine_.stream(), cudaStreamCaptureModeThreadLocal));
    for (std::size_t k = 1 + draw_.below(3); k > 0; --k) {
      const asked_call& one = made.emplace_back(draw_, true);
      one.of->into(slots_ + made.size() - 1, mine_, one.tuning, all_, one.asked);
    }
    check(cudaStreamEndCapture(mine_.stream(), &graph));
    check(cudaGraphInstantiate(&executable, graph, 0));
    std::int64_t all = 0;
    for (std::size_t k = 1 + draw_.below(6); k > 0; --k) {
      check(cudaMemsetAsync(slots_, 0xff, many * sizeof(slot), mine_.stream()));
      check(cudaGraphLaunch(executable, mine_.stream()));
      const asked_call beside(draw_, false);
      count_.note(beside.of->blocking(mine_, beside.tuning, all_, beside.asked), *beside.of, "behind a graph",
                  beside.asked, beside.tuning);
      look_at(mine_, made, "in a graph");
      all += 1 + static_cast<std::int64_t>(made.size());
    }
    check(cudaGraphExecDestroy(executable));
    check(cudaGraphDestroy(graph));
    return all;
  }

  void look_at(const fanin::cuda& gpu, const std::vector<asked_call>& made, const char* form) {
    gpu.synchronize();
    slot got[many];
    // Beside the object's stream, since other threads use that.
    check(cudaMemcpyAsync(got, slots_, made.size() * sizeof(slot), cudaMemcpyDeviceToHost, copies_.get()));
    check(cudaStreamSynchronize(copies_.get()));
    for (std::size_t k = 0; k < made.size(); ++k) {
      const asked_call& one = made[k];
      count_.note(one.of->right(got[k], all_, one.asked), *one.of, form, one.asked, one.tuning);
    }
  }

  choices draw_;
  const elements& all_;
  std::deque<fanin::cuda>& objects_;
  tally& count_;
  slot* slots_ = nullptr;
  test_stream copies_;
  fanin::cuda mine_;
};

using cuda_soak = gpu_test;

/// What any call may need of workspace, before it is counted.
void warm_up(const fanin::cuda& gpu, const elements& all) {
  for (const call& one : calls()) {
    for (const int block_size : {0, 32, 256}) {
      fanin::cuda_tuning tuning;
      tuning.block_size = block_size;
      EXPECT_TRUE(one.blocking(gpu, tuning, all, {0, most})) << one.strategy << ", " << one.what;
      // As many of a size at once as four threads may have.
      std::vector<gets_right> at_once;
      while (one.is_ordered && at_once.size() < 4 * 24) at_once.push_back(one.later(gpu, tuning, all, {0, 1}));
      if (one.is_persistent) {
        tuning.grid_size = 200;
        EXPECT_TRUE(one.blocking(gpu, tuning, all, {0, most})) << one.strategy << ", " << one.what;
      }
    }
  }
}

TEST_F(cuda_soak, calls_of_all_kinds) {
  const auto some = static_cast<std::int64_t>(from_environment("FANIN_SOAK_CALLS", 20'000));
  const std::uint64_t seed = from_environment("FANIN_SOAK_SEED", 1);
  const elements all;
  constexpr int threads = 4;
  test_stream borrowed[3];
  std::deque<fanin::cuda> objects;
  for (const test_stream& stream : borrowed) objects.emplace_back(stream.get());
  for (int k = 0; k < 3; ++k) objects.emplace_back();
  for (const fanin::cuda& gpu : objects) warm_up(gpu, all);
  std::vector<std::int64_t> allocated;
  for (const fanin::cuda& gpu : objects) allocated.push_back(gpu.workspace_allocations());
  tally count;
  std::vector<std::thread> team;
  for (int k = 0; k < threads; ++k) {
    team.emplace_back([&, k] {
      try {
        caller(seed * threads + static_cast<std::uint64_t>(k), all, objects, count).make(some / threads);
      } catch (const std::exception& failure) {
        ADD_FAILURE() << failure.what();
      }
    });
  }
  for (std::thread& one : team) one.join();
  EXPECT_EQ(count.wrong, 0) << "of " << count.made << " calls, seed " << seed;
  for (std::size_t k = 0; k < objects.size(); ++k) {
    EXPECT_EQ(objects[k].workspace_allocations(), allocated[k]) << "of object " << k << ", after every kind of call";
  }
  std::cout << count.made << " calls, " << count.wrong << " wrong\n";
}

}  // namespace
}  // namespace fanin_test
