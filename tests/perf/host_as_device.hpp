// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "harness/contender.hpp"
#include "harness/device.hpp"
#include "harness/host.hpp"
#include "harness/kinds.hpp"
#include "harness/values.hpp"

namespace fanin_perf {

// A device in host memory, of 32 MiB for data and 100 GB/s, whose graphs are loops.
class host_as_device : public device {
 public:
  explicit host_as_device(std::size_t bytes = std::size_t{32} << 20) : bytes_(bytes) {
    facts_.memory = static_cast<std::int64_t>(2 * bytes);
    facts_.gpu = "host";
  }

  const device_facts& facts() const override { return facts_; }
  void* stream() override { return nullptr; }
  std::byte* pool(std::int64_t bytes) override {
    if (bytes > static_cast<std::int64_t>(bytes_.size())) throw std::runtime_error("more than there is");
    return bytes_.data();
  }
  void fill(element type, const data_kind& kind, std::uint64_t seed) override {
    with_type(type, [&](auto t) {
      using value = typename decltype(t)::type;
      for (std::size_t i = 0; i < bytes_.size() / sizeof(value); ++i) {
        const auto made = value_at<value>(kind, seed, i);
        std::memcpy(bytes_.data() + i * sizeof(value), &made, sizeof(value));
      }
    });
  }
  void fill_copies(const std::byte* source, std::int64_t bytes, std::int64_t) override {
    std::memcpy(bytes_.data(), source, static_cast<std::size_t>(bytes));
  }
  std::byte* copy_pool() override {
    copy_ = bytes_;
    return copy_.data();
  }
  void enqueue_small() override { ++small_kernels; }
  void enqueue_axpy(element type, int a, const std::byte* x, int b, std::byte* y, std::int64_t n) override {
    ++axpys;
    ASSERT_EQ(type, element::i64);
    const auto axpy = [=] {
      for (std::int64_t i = 0; i < n; ++i) {
        const auto at = static_cast<std::size_t>(i * size_of(type));
        std::int64_t xi = 0;
        std::int64_t yi = 0;
        std::memcpy(&xi, x + at, sizeof xi);
        std::memcpy(&yi, y + at, sizeof yi);
        yi = wrapping_sum(product<std::int64_t>(a, xi), product<std::int64_t>(b, yi));
        std::memcpy(y + at, &yi, sizeof yi);
      }
    };
    if (!late) return axpy();
    if (unfinished) unfinished();
    unfinished = axpy;
  }
  double time(const std::function<void()>& enqueue) override {
    const double begin = host_seconds();
    enqueue();
    return host_seconds() - begin;
  }
  double time_cold(const std::function<void()>& enqueue) override {
    ++cold_times;
    return time(enqueue);
  }
  std::unique_ptr<call> capture(std::unique_ptr<call> prepared, std::int64_t first, std::int64_t count) override {
    if (refuses) throw std::runtime_error("cannot be captured");
    ++graphs;
    return std::make_unique<loop>(std::move(prepared), first, count - dropped);
  }
  double measure_read() override { return 100; }
  double measure_blocking_floor() override { return 1e-6; }

  bool refuses = false;
  bool late = false;  // an axpy is done when the next one begins
  std::function<void()> unfinished;
  std::int64_t dropped = 0;  // of the calls of a graph
  std::int64_t graphs = 0;
  std::int64_t cold_times = 0;
  std::int64_t small_kernels = 0;
  std::int64_t axpys = 0;

 private:
  struct loop final : call {
    loop(std::unique_ptr<call> what, std::int64_t from, std::int64_t times)
        : prepared(std::move(what)), first(from), count(times) {}
    void run(std::int64_t, std::int64_t launches) override {
      for (std::int64_t i = 0; i < launches; ++i) prepared->run(first, count);
    }
    answer last() override { return prepared->last(); }

    std::unique_ptr<call> prepared;
    std::int64_t first;
    std::int64_t count;
  };

  device_facts facts_;
  std::vector<std::byte> bytes_;
  std::vector<std::byte> copy_;
};

}  // namespace fanin_perf
