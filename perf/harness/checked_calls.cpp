// SPDX-License-Identifier: Apache-2.0
#include "harness/checked_calls.hpp"

#include <algorithm>
#include <utility>

#include "harness/between.hpp"

namespace fanin_perf {
namespace {

constexpr std::int64_t most_graph_nodes = 100;
constexpr std::int64_t fewest_graph_nodes = 2;
constexpr double graph_seconds = 4e-3;

}  // namespace

// The answer of one call, then of the last of three back to back over different data.
checked_calls::checked_calls(const case_of_run& one, const workload& work, const data_pools& pools, device* gpu,
                             double device_gbs)
    : work_(work), gpu_(gpu), device_gbs_(device_gbs) {
  for (const std::int64_t calls : {std::int64_t{1}, std::min<std::int64_t>(3, work.buffers)}) {
    if (!right_.empty() && calls == 1) break;
    const data_source data = pools.source_of(one, work, calls - 1);
    right_.push_back({calls, data, right_answer(data, one.op, one.n)});
  }
}

// Calls in a graph: many where they are short, else what reads for about graph_seconds.
std::int64_t checked_calls::graph_nodes(const workload& work) const {
  const double seconds = static_cast<double>(work.bytes()) / (device_gbs_ * 1e9);
  return std::clamp(static_cast<std::int64_t>(graph_seconds / seconds), fewest_graph_nodes, most_graph_nodes);
}

// A graph's last call reads the buffer that was checked last, so that its answer is known.
std::int64_t checked_calls::first_of_graph(const workload& work, std::int64_t nodes, const checked_buffer& last) {
  const std::int64_t first = (last.calls - nodes) % work.buffers;
  return first < 0 ? first + work.buffers : first;
}

// Launched once, then twice more.
std::vector<checked_calls::checked_buffer> checked_calls::launches_of(const checked_buffer& last) {
  return {{1, last.data, last.right}, {2, last.data, last.right}};
}

std::unique_ptr<call> checked_calls::prepare(row& result) {
  const timing how = result.how;
  if (!is_graph(how)) {
    std::unique_ptr<call> prepared = result.who->prepare(work_);
    check(*prepared, right_, result);
    return prepared;
  }
  workload mine = work_;
  if (is_hot(how)) mine.buffers = 1;
  if (is_behind_axpy(how)) mine.pool = gpu_->copy_pool();
  const checked_buffer& last = is_hot(how) ? right_.front() : right_.back();
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
    return std::make_unique<calls_between>(how, mine, work_.pool, *gpu_, std::move(calls), sign);
  };
  if (kernels_[how] == nullptr) kernels_[how] = capture(between(nullptr, 1));
  prepared = capture(between(std::move(prepared), 1));
  // What a kernel shall write does not stand there already.
  check(*prepared, launches_of(last), result, [&] { between(nullptr, -1)->run(first, result.graph_nodes); });
  return prepared;
}

void checked_calls::check(call& prepared, const std::vector<checked_buffer>& buffers, row& result,
                          const std::function<void()>& before) {
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

}  // namespace fanin_perf
