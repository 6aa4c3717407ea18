// SPDX-License-Identifier: Apache-2.0
#include "harness/runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "harness/between.hpp"
#include "harness/host.hpp"
#include "harness/oracle.hpp"
#include "harness/progress.hpp"
#include "harness/timing.hpp"
#include "npy.hpp"

namespace fanin_perf {
namespace {

constexpr std::int64_t array_alignment = 256;
constexpr std::int64_t most_device_pool_bytes = std::int64_t{4} << 30;
constexpr std::int64_t host_limit_bytes = std::int64_t{512} << 20;
constexpr std::int64_t host_caches_to_span = 4;
constexpr std::int64_t most_quick_host_bytes = std::int64_t{64} << 20;
constexpr double host_limit_seconds = 0.4;
constexpr double quick_host_limit_seconds = 0.05;
constexpr std::int64_t most_graph_nodes = 100;
constexpr std::int64_t fewest_graph_nodes = 2;
constexpr double graph_seconds = 4e-3;

// The operations on a real array.
constexpr std::array input_operations{operation::sum,     operation::min,     operation::max,
                                      operation::min_loc, operation::max_loc, operation::sum_of_squares};

struct case_of_run {
  element type = element::f32;
  operation op = operation::sum;
  std::int64_t n = 0;
  int input = -1;
};

element element_for(element_type type) {
  switch (type) {
    case element_type::int64: return element::i64;
    case element_type::uint64: return element::u64;
    case element_type::float32: return element::f32;
    case element_type::float64: break;
  }
  return element::f64;
}

bool holds_nan(const input_array& array) {
  return visit_elements(array, [](auto values) {
    using value = std::remove_cvref_t<decltype(values[0])>;
    if constexpr (std::is_floating_point_v<value>) {
      return std::any_of(values.begin(), values.end(), [](value v) { return std::isnan(v); });
    } else {
      return false;
    }
  });
}

class run_in_progress {
 public:
  run_in_progress(const options& chosen, const contender_list& contenders, device* gpu)
      : chosen_(chosen), gpu_(gpu), facts_(look_at_host()) {
    for (const contender& who : contenders) {
      if (chosen_.selects(who) && (who.where != place::gpu || gpu_ != nullptr)) {
        selected_.push_back(&who);
      }
    }
    const auto on = [&](bool device_side) {
      return std::any_of(selected_.begin(), selected_.end(),
                         [=](const contender* who) { return (who->where == place::gpu) == device_side; });
    };
    uses_host_ = on(false);
    uses_device_ = on(true);
    if (uses_device_) {
      const bool copies_pool = std::any_of(chosen_.timings.begin(), chosen_.timings.end(), is_behind_axpy);
      device_pool_bytes_ = std::min(most_device_pool_bytes, gpu_->facts().memory / (copies_pool ? 4 : 2));
    }
  }

  run_result run() {
    read_inputs();
    const std::vector<case_of_run> cases = plan_cases();
    progress shown(static_cast<int>(cases.size()));
    shown_ = &shown;
    measure_limits();
    for (const case_of_run& one : cases) {
      const std::string whose =
          one.input < 0 ? std::string() : result_.inputs[static_cast<std::size_t>(one.input)].label() + ": ";
      shown.step(fmt::format("{}{} {} of {}", whose, name(one.type), name(one.op), one.n));
      run_case(one);
    }
    // Once more, so that a disturbance at the start does not pass for the limit.
    measure_limits();
    set_shares();
    return std::move(result_);
  }

 private:
  void read_inputs() {
    for (const input_choice& choice : chosen_.inputs) {
      input_array array = load_array(choice.file, choice.array);
      if (array.n == 0) {
        throw input_error(array.source + " holds no elements: there is nothing to compare");
      }
      input_facts facts;
      facts.file = choice.file;
      facts.array = choice.array;
      facts.dtype = array.dtype;
      facts.type = element_for(array.type);
      facts.note = array.note;
      facts.shape = array.shape;
      facts.fortran_order = array.fortran_order;
      facts.n = array.n;
      facts.has_nan = holds_nan(array);
      result_.inputs.push_back(std::move(facts));
      arrays_.push_back(std::move(array));
    }
  }

  bool runs_at(const contender& who, std::int64_t n, bool synthetic) const {
    if (!synthetic) return true;
    if (who.largest > 0 && n > who.largest) return false;
    const auto& sizes = who.where == place::gpu ? chosen_.sizes : chosen_.host_sizes;
    return std::find(sizes.begin(), sizes.end(), n) != sizes.end();
  }

  // Behind an axpy synthetic numbers, whose sign can be changed back, in a copy of the pool.
  bool can_be_timed(const contender& who, timing how, const case_of_run& one) const {
    if (is_graph(how) && who.several_waits && one.op == operation::several) return false;
    const int pools = is_behind_axpy(how) ? 2 : 1;
    if (who.where == place::gpu && describe(one).stride * pools > gpu_->facts().memory / 10 * 8) return false;
    return !is_behind_axpy(how) || (takes_all_operations(one.type) && one.input < 0);
  }

  using way = std::pair<const contender*, timing>;

  // Who takes part in a case, and how each is timed.
  std::vector<way> in_case(const case_of_run& one) const {
    std::vector<way> found;
    for (const contender* who : selected_) {
      if (!who->offers(one.type, one.op) || !runs_at(*who, one.n, one.input < 0)) continue;
      for (const timing how : chosen_.timings_of(*who)) {
        if (can_be_timed(*who, how, one)) found.emplace_back(who, how);
      }
    }
    return found;
  }

  // By type first, since the pools are filled anew for each.
  std::vector<case_of_run> plan_cases() const {
    std::vector<std::int64_t> sizes = chosen_.sizes;
    sizes.insert(sizes.end(), chosen_.host_sizes.begin(), chosen_.host_sizes.end());
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    std::vector<case_of_run> cases;
    const auto add = [&](const case_of_run& one) {
      if (!in_case(one).empty()) cases.push_back(one);
    };
    for (int k = 0; k < static_cast<int>(arrays_.size()); ++k) {
      const input_facts& facts = result_.inputs[static_cast<std::size_t>(k)];
      for (const operation op : input_operations) add({facts.type, op, facts.n, k});
    }
    if (!arrays_.empty() && !chosen_.with_synthetic) return cases;
    for (const element type : chosen_.types) {
      for (const operation op : chosen_.operations) {
        for (const std::int64_t n : sizes) add({type, op, n, -1});
      }
    }
    return cases;
  }

  void measure_limits() {
    limits& found = result_.bandwidth;
    if (uses_host_) {
      host_pool_.reset();
      host_holds_.reset();
      host_pool& pool = host_pool_of(chosen_.quick ? most_quick_host_bytes : host_limit_bytes);
      pool.fill(element::f64, chosen_.seed);
      const double seconds = chosen_.quick ? quick_host_limit_seconds : host_limit_seconds;
      const double one_thread = measure_host_read(pool, 1, seconds);
      const double all_threads = measure_host_read(pool, facts_.hardware_threads, seconds);
      found.host_one_thread_gbs = std::max(found.host_one_thread_gbs, one_thread);
      found.host_gbs = std::max({found.host_gbs, one_thread, all_threads});
    }
    if (uses_device_) {
      gpu_->pool(device_pool_bytes_);
      if (!device_holds_) gpu_->fill(element::u64, chosen_.seed);
      found.device_gbs = std::max(found.device_gbs, gpu_->measure_read());
      const double floor = gpu_->measure_blocking_floor() * 1e6;
      const bool first = found.device_blocking_floor_us == 0;
      found.device_blocking_floor_us = first ? floor : std::min(found.device_blocking_floor_us, floor);
    }
  }

  void set_shares() {
    for (row& r : result_.rows) {
      const double limit = r.who->where == place::gpu ? result_.bandwidth.device_gbs : result_.bandwidth.host_gbs;
      if (r.fault.empty() && limit > 0) r.share_of_limit = r.gbs / limit;
    }
  }

  host_pool& host_pool_of(std::int64_t bytes) {
    if (!host_pool_ || host_pool_->size() < bytes) {
      host_pool_.reset();
      host_pool_ = std::make_unique<host_pool>(bytes);
      host_holds_.reset();
    }
    return *host_pool_;
  }

  workload describe(const case_of_run& one) const {
    workload work;
    work.type = one.type;
    work.op = one.op;
    work.n = one.n;
    work.array_bytes = (one.n * size_of(one.type) + array_alignment - 1) / array_alignment * array_alignment;
    work.stride = work.array_bytes * arrays_of(one.op);
    return work;
  }

  // What a pool holds: the synthetic values of a type, or copies of an input.
  using content = std::pair<element, int>;

  workload on_host(const case_of_run& one) {
    workload work = describe(one);
    std::int64_t cold = host_caches_to_span * facts_.last_level_cache;
    if (chosen_.quick) cold = std::min(cold, most_quick_host_bytes);
    const std::int64_t span = std::max({cold, work.stride, largest_host_stride(one)});
    host_pool& pool = host_pool_of(span);
    const content wanted{one.type, one.input};
    if (host_holds_ != wanted) {
      if (one.input < 0) {
        pool.fill(one.type, chosen_.seed);
      } else {
        pool.fill_copies(arrays_[static_cast<std::size_t>(one.input)].data.data(), one.n * size_of(one.type),
                         work.stride);
      }
      host_holds_ = wanted;
    }
    work.pool = pool.data();
    work.buffers = std::max<std::int64_t>(1, span / work.stride);
    return work;
  }

  // The pool is made for the largest size of the run at once, so that it is filled once a type.
  std::int64_t largest_host_stride(const case_of_run& one) const {
    if (one.input >= 0 || chosen_.host_sizes.empty()) return 0;
    return describe({one.type, largest_operation(), chosen_.host_sizes.back(), -1}).stride;
  }
  operation largest_operation() const {
    const auto& ops = chosen_.operations;
    return std::find(ops.begin(), ops.end(), operation::dot) != ops.end() ? operation::dot : operation::sum;
  }

  workload on_device(const case_of_run& one) {
    workload work = describe(one);
    const std::int64_t span = std::max(device_pool_bytes_, work.stride);
    if (span > device_pool_size_) device_holds_.reset();
    device_pool_size_ = std::max(device_pool_size_, span);
    work.pool = gpu_->pool(device_pool_size_);
    const content wanted{one.type, one.input};
    if (device_holds_ != wanted) {
      if (one.input < 0) {
        gpu_->fill(one.type, chosen_.seed);
      } else {
        gpu_->fill_copies(arrays_[static_cast<std::size_t>(one.input)].data.data(), one.n * size_of(one.type),
                          work.stride);
      }
      device_holds_ = wanted;
    }
    work.buffers = span / work.stride;
    work.stream = gpu_->stream();
    return work;
  }

  data_source source_of(const case_of_run& one, const workload& work, std::int64_t buffer) const {
    data_source data;
    data.type = one.type;
    data.seed = chosen_.seed;
    const std::int64_t start = buffer * work.stride / size_of(one.type);
    data.x_position = static_cast<std::uint64_t>(start);
    data.y_position = static_cast<std::uint64_t>(start + work.array_bytes / size_of(one.type));
    if (one.input >= 0) data.array = arrays_[static_cast<std::size_t>(one.input)].data.data();
    return data;
  }

  struct checked_buffer {
    std::int64_t calls;  // from buffer 0 on; the last one's answer is looked at
    data_source data;
    reference right;
  };

  // The answer of one call, then of the last of three back to back over different data.
  std::vector<checked_buffer> what_is_right(const case_of_run& one, const workload& work) const {
    std::vector<checked_buffer> all;
    for (const std::int64_t calls : {std::int64_t{1}, std::min<std::int64_t>(3, work.buffers)}) {
      if (!all.empty() && calls == 1) break;
      const data_source data = source_of(one, work, calls - 1);
      all.push_back({calls, data, right_answer(data, one.op, one.n)});
    }
    return all;
  }

  // Calls in a graph: many where they are short, else what reads for about graph_seconds.
  std::int64_t graph_nodes(const workload& work) const {
    const double seconds = static_cast<double>(work.bytes()) / (result_.bandwidth.device_gbs * 1e9);
    return std::clamp(static_cast<std::int64_t>(graph_seconds / seconds), fewest_graph_nodes, most_graph_nodes);
  }

  // A graph's last call reads the buffer that was checked last, so that its answer is known.
  static std::int64_t first_of_graph(const workload& work, std::int64_t nodes, const checked_buffer& last) {
    const std::int64_t first = (last.calls - nodes) % work.buffers;
    return first < 0 ? first + work.buffers : first;
  }

  // Launched once, then twice more.
  static std::vector<checked_buffer> launches_of(const checked_buffer& last) {
    return {{1, last.data, last.right}, {2, last.data, last.right}};
  }

  // A call ready to be timed, whose answers were right if its row has no fault. `kernels` are those that stand between
  // calls, captured alone, by timing.
  std::unique_ptr<call> prepare(const workload& work, const std::vector<checked_buffer>& right, row& result,
                                std::map<timing, std::unique_ptr<call>>& kernels) {
    const timing how = result.how;
    if (!is_graph(how)) {
      std::unique_ptr<call> prepared = result.who->prepare(work);
      check(*prepared, right, result);
      return prepared;
    }
    workload mine = work;
    if (is_hot(how)) mine.buffers = 1;
    if (is_behind_axpy(how)) mine.pool = gpu_->copy_pool();
    const checked_buffer& last = is_hot(how) ? right.front() : right.back();
    result.graph_nodes = graph_nodes(mine);
    const std::int64_t first = first_of_graph(mine, result.graph_nodes, last);
    const auto capture = [&](std::unique_ptr<call> calls) {
      return gpu_->capture(std::move(calls), first, result.graph_nodes);
    };
    std::unique_ptr<call> prepared = result.who->prepare(mine);
    if (!is_between(how)) {
      prepared = capture(std::move(prepared));
      check(*prepared, launches_of(last), result);
      return prepared;
    }
    const auto between = [&](std::unique_ptr<call> calls, int sign) {
      return std::make_unique<calls_between>(how, mine, work.pool, *gpu_, std::move(calls), sign);
    };
    if (kernels[how] == nullptr) kernels[how] = capture(between(nullptr, 1));
    prepared = capture(between(std::move(prepared), 1));
    // What a kernel shall write does not stand there already.
    check(*prepared, launches_of(last), result, [&] { between(nullptr, -1)->run(first, result.graph_nodes); });
    return prepared;
  }

  void check(
      call& prepared, const std::vector<checked_buffer>& buffers, row& result,
      const std::function<void()>& before = [] {}) {
    for (const checked_buffer& buffer : buffers) {
      before();
      prepared.run(0, buffer.calls);
      const answer got = prepared.last();
      if (&buffer == &buffers.front()) {
        result.got = got;
        result.right = buffer.right.value;
        result.bound = error_bound(*result.who, result.type, result.op, result.n, buffer.right.magnitude);
      }
      result.fault = find_fault(*result.who, got, buffer.right, buffer.data, result.op, result.n);
      if (!result.fault.empty()) return;
    }
  }

  void run_case(const case_of_run& one) {
    std::vector<row> rows;
    for (const bool device_side : {false, true}) run_side(one, device_side, rows);
    set_ratios(rows);
    for (row& r : rows) result_.rows.push_back(std::move(r));
  }

  void run_side(const case_of_run& one, bool device_side, std::vector<row>& rows) {
    std::vector<way> present = in_case(one);
    std::erase_if(present, [=](const way& each) { return (each.first->where == place::gpu) != device_side; });
    if (one.input >= 0) leave_out_nan_blind(one, present);
    if (present.empty()) return;

    const workload work = device_side ? on_device(one) : on_host(one);
    const std::vector<checked_buffer> right = what_is_right(one, work);
    std::vector<std::unique_ptr<call>> calls;
    std::map<timing, std::unique_ptr<call>> kernels;
    std::vector<row> made;
    for (const auto& [who, how] : present) {
      row result;
      result.who = who;
      result.how = how;
      result.op = one.op;
      result.type = one.type;
      result.n = one.n;
      result.bytes = work.bytes();
      result.input = one.input;
      calls.push_back(nullptr);
      try {
        calls.back() = prepare(work, right, result, kernels);
      } catch (const std::exception& error) {
        result.fault = error.what();
      }
      if (one.input >= 0) {
        result.numpy_index = numpy_flat_index(arrays_[static_cast<std::size_t>(one.input)], result.got.index);
      }
      if (!result.fault.empty()) report(result);
      made.push_back(std::move(result));
    }
    time_right_ones(work, calls, kernels, made);
    for (row& r : made) rows.push_back(std::move(r));
  }

  void report(const row& r) {
    result_.all_right = false;
    shown_->say(fmt::format("WRONG: {} on {}, {} {} of {} to {} ({}): {}", r.who->label(), r.who->backend, name(r.type),
                            name(r.op), r.n, name(r.who->to), name(r.how), r.fault));
  }

  void time_right_ones(const workload& work, const std::vector<std::unique_ptr<call>>& calls,
                       const std::map<timing, std::unique_ptr<call>>& kernels, std::vector<row>& made) {
    std::vector<racer> racers;
    for (std::size_t k = 0; k < made.size(); ++k) {
      if (!made[k].fault.empty()) continue;
      racers.push_back({&made[k], calls[k].get()});
      if (is_between(made[k].how)) racers.back().kernels = kernels.at(made[k].how).get();
    }
    if (racers.empty()) return;
    race(racers, work.buffers, {chosen_.series, chosen_.quick}, gpu_);
    for (const racer& one : racers) {
      if (!one.result->fault.empty()) report(*one.result);
    }
  }

  void leave_out_nan_blind(const case_of_run& one, std::vector<way>& present) {
    input_facts& facts = result_.inputs[static_cast<std::size_t>(one.input)];
    if (!facts.has_nan || is_sum(one.op)) return;
    std::erase_if(present, [&](const way& each) {
      const contender* who = each.first;
      if (who->propagates_nan) return false;
      const std::string text = who->label() + " on " + who->backend;
      auto& out = facts.left_out;
      if (std::find(out.begin(), out.end(), text) == out.end()) out.push_back(text);
      return true;
    });
  }

  static bool compares_with(const row& one, const row& other) {
    return one.who->where == other.who->where && one.how == other.how;
  }

  static void set_ratios(std::vector<row>& rows) {
    for (row& r : rows) {
      if (!r.fault.empty()) continue;
      double best = 0;
      for (const row& other : rows) {
        if (!other.who->is_baseline || !other.fault.empty() || !compares_with(r, other)) continue;
        if (best == 0 || other.time_us < best) best = other.time_us;
      }
      if (best > 0) r.ratio_to_kokkos = best / r.time_us;
      if (r.who->is_peer) continue;
      for (const row& other : rows) {
        if (!other.who->is_peer || !other.fault.empty() || !compares_with(r, other)) continue;
        r.ratios.push_back({other.who, paired_ratio(other.series_us, r.series_us)});
      }
    }
  }

  const options& chosen_;
  device* gpu_;
  host_facts facts_;
  std::vector<const contender*> selected_;
  bool uses_host_ = false;
  bool uses_device_ = false;
  std::vector<input_array> arrays_;
  std::unique_ptr<host_pool> host_pool_;
  std::optional<content> host_holds_;
  std::int64_t device_pool_bytes_ = 0;
  std::int64_t device_pool_size_ = 0;
  std::optional<content> device_holds_;
  progress* shown_ = nullptr;
  run_result result_;
};

}  // namespace

run_result run_all(const options& chosen, const contender_list& contenders, device* gpu) {
  return run_in_progress(chosen, contenders, gpu).run();
}

}  // namespace fanin_perf
