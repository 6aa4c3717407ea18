// SPDX-License-Identifier: Apache-2.0
#include "harness/pools.hpp"

#include <algorithm>

namespace fanin_perf {
namespace {

constexpr std::int64_t array_alignment = 256;
constexpr std::int64_t most_device_pool_bytes = std::int64_t{4} << 30;
constexpr std::int64_t host_limit_bytes = std::int64_t{512} << 20;
constexpr std::int64_t host_caches_to_span = 4;
constexpr std::int64_t most_quick_host_bytes = std::int64_t{64} << 20;
constexpr double host_limit_seconds = 0.4;
constexpr double quick_host_limit_seconds = 0.05;

operation largest_operation(const options& chosen) {
  const auto& ops = chosen.operations;
  return std::find(ops.begin(), ops.end(), operation::dot) != ops.end() ? operation::dot : operation::sum;
}

}  // namespace

workload describe(const case_of_run& one) {
  workload work;
  work.type = one.type;
  work.op = one.op;
  work.n = one.n;
  work.array_bytes = (one.n * size_of(one.type) + array_alignment - 1) / array_alignment * array_alignment;
  work.stride = work.array_bytes * arrays_of(one.op);
  return work;
}

data_pools::data_pools(const options& chosen, device* gpu, const std::vector<input_array>& arrays)
    : chosen_(chosen), gpu_(gpu), arrays_(arrays), facts_(look_at_host()) {
  if (gpu_ == nullptr) return;
  const bool copies_pool = std::any_of(chosen_.timings.begin(), chosen_.timings.end(), is_behind_axpy);
  device_pool_bytes_ = std::min(most_device_pool_bytes, gpu_->facts().memory / (copies_pool ? 4 : 2));
}

host_pool& data_pools::host_pool_of(std::int64_t bytes) {
  if (!host_pool_ || host_pool_->size() < bytes) {
    host_pool_.reset();
    host_pool_ = std::make_unique<host_pool>(bytes);
    host_holds_.reset();
  }
  return *host_pool_;
}

workload data_pools::on_host(const case_of_run& one) {
  workload work = describe(one);
  std::int64_t cold = host_caches_to_span * facts_.last_level_cache;
  if (chosen_.quick) cold = std::min(cold, most_quick_host_bytes);
  const std::int64_t span = std::max({cold, work.stride, largest_host_stride(one)});
  host_pool& pool = host_pool_of(span);
  const content wanted{one.type, one.input, one.kind};
  if (host_holds_ != wanted) {
    if (one.input < 0) {
      pool.fill(one.type, one.kind, chosen_.seed);
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
std::int64_t data_pools::largest_host_stride(const case_of_run& one) const {
  if (one.input >= 0 || chosen_.host_sizes.empty()) return 0;
  return describe({.type = one.type, .op = largest_operation(chosen_), .n = chosen_.host_sizes.back()}).stride;
}

workload data_pools::on_device(const case_of_run& one) {
  workload work = describe(one);
  const std::int64_t span = std::max(device_pool_bytes_, work.stride);
  if (span > device_pool_size_) device_holds_.reset();
  device_pool_size_ = std::max(device_pool_size_, span);
  work.pool = gpu_->pool(device_pool_size_);
  const content wanted{one.type, one.input, one.kind};
  if (device_holds_ != wanted) {
    if (one.input < 0) {
      gpu_->fill(one.type, one.kind, chosen_.seed);
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

data_source data_pools::source_of(const case_of_run& one, const workload& work, std::int64_t buffer) const {
  data_source data;
  data.type = one.type;
  data.kind = one.kind;
  data.seed = chosen_.seed;
  const std::int64_t start = buffer * work.stride / size_of(one.type);
  data.x_position = static_cast<std::uint64_t>(start);
  data.y_position = static_cast<std::uint64_t>(start + work.array_bytes / size_of(one.type));
  if (one.input >= 0) data.array = arrays_[static_cast<std::size_t>(one.input)].data.data();
  return data;
}

void data_pools::measure_host(limits& found) {
  host_pool_.reset();
  host_holds_.reset();
  host_pool& pool = host_pool_of(chosen_.quick ? most_quick_host_bytes : host_limit_bytes);
  pool.fill(element::f64, data_kind{}, chosen_.seed);
  const double seconds = chosen_.quick ? quick_host_limit_seconds : host_limit_seconds;
  const double one_thread = measure_host_read(pool, 1, seconds);
  const double all_threads = measure_host_read(pool, facts_.hardware_threads, seconds);
  found.host_one_thread_gbs = std::max(found.host_one_thread_gbs, one_thread);
  found.host_gbs = std::max({found.host_gbs, one_thread, all_threads});
}

void data_pools::measure_device(limits& found) {
  gpu_->pool(device_pool_bytes_);
  if (!device_holds_) gpu_->fill(element::u64, data_kind{}, chosen_.seed);
  found.device_gbs = std::max(found.device_gbs, gpu_->measure_read());
  const double floor = gpu_->measure_blocking_floor() * 1e6;
  const bool first = found.device_blocking_floor_us == 0;
  found.device_blocking_floor_us = first ? floor : std::min(found.device_blocking_floor_us, floor);
}

}  // namespace fanin_perf
