// SPDX-License-Identifier: Apache-2.0
#include "harness/runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <utility>

#include "harness/checked_calls.hpp"
#include "harness/pools.hpp"
#include "harness/progress.hpp"
#include "harness/timing.hpp"
#include "harness/worst_data.hpp"
#include "npy.hpp"

namespace fanin_perf {
namespace {

// The operations on a real array.
constexpr std::array input_operations{operation::sum,     operation::min,     operation::max,
                                      operation::min_loc, operation::max_loc, operation::sum_of_squares};

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
  run_in_progress(const options& chosen, const contender_list& contenders, device* gpu) : chosen_(chosen), gpu_(gpu) {
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
  }

  run_result run() {
    read_inputs();
    measure_limits();
    const std::vector<case_of_run> cases = plan_cases();
    progress shown(static_cast<int>(cases.size()));
    shown_ = &shown;
    for (const case_of_run& one : cases) {
      std::string whose;
      if (one.input >= 0) whose = result_.inputs[static_cast<std::size_t>(one.input)].label() + ": ";
      if (one.kind != data_kind{}) whose = to_text(one.kind) + ": ";
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

  // Behind an axpy uniform numbers, whose sign can be changed back, in a copy of the pool.
  bool can_be_timed(const contender& who, timing how, const case_of_run& one) const {
    if (is_graph(how) && who.several_waits && one.op == operation::several) return false;
    const int pools = is_behind_axpy(how) ? 2 : 1;
    if (who.where == place::gpu && describe(one).stride * pools > gpu_->facts().memory / 10 * 8) return false;
    return !is_behind_axpy(how) || (takes_all_operations(one.type) && one.input < 0 && one.kind == data_kind{});
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
  std::vector<case_of_run> plan_cases() {
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
      for (const operation op : input_operations) add({.type = facts.type, .op = op, .n = facts.n, .input = k});
    }
    if (!arrays_.empty() && !chosen_.with_synthetic) return cases;
    for (const element type : chosen_.types) {
      for (const data_kind& kind : data_of(type)) {
        for (const operation op : chosen_.operations) {
          for (const std::int64_t n : sizes) add({.type = type, .op = op, .n = n, .kind = kind});
        }
      }
    }
    return cases;
  }

  std::vector<data_kind> data_of(element type) {
    std::vector<data_kind> kinds = chosen_.data;
    if (chosen_.worst_seconds == 0) return kinds;
    for (const place where : {place::gpu, place::all_threads, place::one_thread}) {
      for (const contender* who : selected_) {
        const auto& sizes = where == place::gpu ? chosen_.sizes : chosen_.host_sizes;
        const bool takes_part = who->where == where && !who->is_peer && who->offers(type, operation::exact_sum);
        if (!takes_part || !who->offers(type, operation::sum) || sizes.empty()) continue;
        kinds.push_back(find_worst(*who, type, sizes.back()));
        return kinds;
      }
    }
    throw std::invalid_argument(
        fmt::format("--data worst: no contender that was chosen offers exact_sum and sum of {}", name(type)));
  }

  // By exact sums of n elements, as a share of the plain sum's speed.
  data_kind find_worst(const contender& who, element type, std::int64_t n) {
    const bool on_gpu = who.where == place::gpu;
    const auto time_us = [&](operation op, const data_kind& kind) {
      const case_of_run one{.type = type, .op = op, .n = n, .kind = kind};
      const workload work = on_gpu ? pools_.on_device(one) : pools_.on_host(one);
      const std::unique_ptr<call> prepared = who.prepare(work);
      row result;
      result.who = &who;
      result.how = on_gpu ? timing::calls : timing::host;
      result.bytes = work.bytes();
      std::vector<racer> alone{{&result, prepared.get()}};
      race(alone, work.buffers, {.series = 3, .quick = true}, gpu_);
      return result.time_us;
    };
    const search how{.seed = chosen_.seed,
                     .seconds = chosen_.worst_seconds,
                     .most_binades = component_of(type) == element::f32 ? most_binades_of_f32 : 2000};
    const found_data worst = find_worst_data(how, [&](const data_kind& kind) {
      return time_us(operation::sum, kind) / time_us(operation::exact_sum, kind);
    });
    fmt::print(stderr,
               "fanin-perf: {} of {} {} by {}: exact sums are slowest, {:.2f} of plain ones, over {} ({} looked at)\n",
               name(who.where), n, name(type), who.label(), worst.share, to_text(worst.kind), worst.looked_at);
    return worst.kind;
  }

  void measure_limits() {
    if (uses_host_) pools_.measure_host(result_.bandwidth);
    if (uses_device_) pools_.measure_device(result_.bandwidth);
  }

  void set_shares() {
    for (row& r : result_.rows) {
      const double limit = r.who->where == place::gpu ? result_.bandwidth.device_gbs : result_.bandwidth.host_gbs;
      if (r.fault.empty() && limit > 0) r.share_of_limit = r.gbs / limit;
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

    const workload work = device_side ? pools_.on_device(one) : pools_.on_host(one);
    checked_calls checked(one, work, pools_, gpu_, result_.bandwidth.device_gbs);
    std::vector<std::unique_ptr<call>> calls;
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
      result.kind = one.kind;
      calls.push_back(nullptr);
      try {
        calls.back() = checked.prepare(result);
      } catch (const std::exception& error) {
        result.fault = error.what();
      }
      if (one.input >= 0) {
        result.numpy_index = numpy_flat_index(arrays_[static_cast<std::size_t>(one.input)], result.got.index);
      }
      if (!result.fault.empty()) report(result);
      made.push_back(std::move(result));
    }
    time_right_ones(work, calls, checked, made);
    for (row& r : made) rows.push_back(std::move(r));
  }

  void report(const row& r) {
    result_.all_right = false;
    shown_->say(fmt::format("WRONG: {} on {}, {} {} of {} to {} ({}): {}", r.who->label(), r.who->backend, name(r.type),
                            name(r.op), r.n, name(r.who->to), name(r.how), r.fault));
  }

  void time_right_ones(const workload& work, const std::vector<std::unique_ptr<call>>& calls,
                       const checked_calls& checked, std::vector<row>& made) {
    std::vector<racer> racers;
    for (std::size_t k = 0; k < made.size(); ++k) {
      if (!made[k].fault.empty()) continue;
      racers.push_back({&made[k], calls[k].get()});
      if (is_between(made[k].how)) racers.back().kernels = checked.kernels(made[k].how);
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
  std::vector<const contender*> selected_;
  bool uses_host_ = false;
  bool uses_device_ = false;
  std::vector<input_array> arrays_;
  data_pools pools_{chosen_, gpu_, arrays_};
  progress* shown_ = nullptr;
  run_result result_;
};

}  // namespace

run_result run_all(const options& chosen, const contender_list& contenders, device* gpu) {
  return run_in_progress(chosen, contenders, gpu).run();
}

}  // namespace fanin_perf
