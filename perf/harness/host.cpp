// SPDX-License-Identifier: Apache-2.0
#include "harness/host.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <thread>
#include <vector>

#include "harness/values.hpp"

namespace fanin_perf {
namespace {

constexpr std::int64_t page = 4096;
constexpr std::int64_t read_window_bytes = std::int64_t{64} << 20;

// The kernel's own figure first: in a virtual machine sysconf may name the whole socket's cache.
std::int64_t cache_size() {
  for (const char* level : {"3", "2"}) {
    std::ifstream file(std::string("/sys/devices/system/cpu/cpu0/cache/index") + level + "/size");
    std::int64_t size = 0;
    char unit = ' ';
    if (!(file >> size >> unit) || size <= 0) continue;
    if (unit == 'K') return size << 10;
    if (unit == 'M') return size << 20;
  }
#ifdef _SC_LEVEL3_CACHE_SIZE
  for (const int level : {_SC_LEVEL3_CACHE_SIZE, _SC_LEVEL2_CACHE_SIZE}) {
    const long bytes = sysconf(level);
    if (bytes > 0) return bytes;
  }
#endif
  return std::int64_t{32} << 20;
}

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with("model name")) continue;
    const auto colon = line.find(':');
    if (colon != std::string::npos) return line.substr(std::min(line.size(), colon + 2));
  }
  return "unknown";
}

// Runs f(begin, end) on parts of [0, count), one thread each.
template <class Function>
void on_threads(int threads, std::int64_t count, Function f) {
  std::vector<std::thread> others;
  const std::int64_t step = count / threads;
  for (int k = 1; k < threads; ++k) {
    others.emplace_back(f, step * k, k + 1 == threads ? count : step * (k + 1));
  }
  f(std::int64_t{0}, threads == 1 ? count : step);
  for (auto& thread : others) thread.join();
}

double read_sum(const double* data, std::int64_t begin, std::int64_t end) {
  std::array<double, 8> sums{};
  std::int64_t i = begin;
  for (; i + 8 <= end; i += 8) {
    for (std::size_t k = 0; k < 8; ++k) sums[k] += data[i + static_cast<std::int64_t>(k)];
  }
  double total = 0;
  for (const double sum : sums) total += sum;
  return total;
}

// Eight pages at once, a line of each in turn.
double read_sum_of_pages(const double* data, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t of_page = page / 8;
  constexpr std::int64_t of_line = 8;
  constexpr std::int64_t pages = 8;
  std::array<std::array<double, of_line>, pages> sums{};
  for (; begin + pages * of_page <= end; begin += pages * of_page) {
    for (std::int64_t i = begin; i < begin + of_page; i += of_line) {
      for (std::size_t p = 0; p < pages; ++p) {
        const double* const line = data + i + static_cast<std::int64_t>(p) * of_page;
        for (std::size_t k = 0; k < of_line; ++k) sums[p][k] += line[k];
      }
    }
  }
  double total = read_sum(data, begin, end);
  for (const auto& of_one : sums) {
    for (const double sum : of_one) total += sum;
  }
  return total;
}

}  // namespace

host_facts look_at_host() {
  const unsigned threads = std::thread::hardware_concurrency();
  return {cpu_name(), threads == 0 ? 1 : static_cast<int>(threads), cache_size()};
}

void host_pool::release::operator()(std::byte* p) const { std::free(p); }

host_pool::host_pool(std::int64_t bytes) : size_((bytes + page - 1) / page * page) {
  void* memory = std::aligned_alloc(page, static_cast<std::size_t>(std::max(size_, page)));
  if (memory == nullptr) throw std::bad_alloc();
  bytes_.reset(static_cast<std::byte*>(memory));
}

void host_pool::fill(element type, const data_kind& kind, std::uint64_t seed) {
  with_type(type, [&](auto t) {
    using value = typename decltype(t)::type;
    auto* values = reinterpret_cast<value*>(bytes_.get());
    on_threads(look_at_host().hardware_threads, size_ / size_of(type), [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        values[i] = value_at<value>(kind, seed, static_cast<std::uint64_t>(i));
      }
    });
  });
}

void host_pool::fill_copies(const std::byte* source, std::int64_t bytes, std::int64_t stride) {
  std::memset(bytes_.get(), 0, static_cast<std::size_t>(size_));
  for (std::int64_t at = 0; at + bytes <= size_; at += stride) {
    std::memcpy(bytes_.get() + at, source, static_cast<std::size_t>(bytes));
  }
}

double host_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double measure_host_read(const host_pool& pool, int threads, double seconds) {
  const auto* data = reinterpret_cast<const double*>(pool.data());
  const auto pass_by = [&](auto* read, std::int64_t first, std::int64_t count) {
    const double begin = host_seconds();
    on_threads(threads, count, [=](std::int64_t from, std::int64_t to) {
      const double sum = read(data + first, from, to);
      asm volatile("" : : "x"(sum));
    });
    return static_cast<double>(count) * 8 / (host_seconds() - begin) * 1e-9;
  };
  const auto pass = [&](std::int64_t first, std::int64_t count) {
    return std::max(pass_by(read_sum, first, count), pass_by(read_sum_of_pages, first, count));
  };
  const std::int64_t all = pool.size() / 8;
  const std::int64_t window = std::min(all, read_window_bytes / 8);
  double best = 0;
  pass(0, all);  // only wakes the memory
  const double until = host_seconds() + seconds;
  do {
    best = std::max(best, pass(0, all));
    // Shorter looks, too, which a busy machine disturbs less.
    for (std::int64_t first = 0; first + window <= all; first += window) best = std::max(best, pass(first, window));
  } while (host_seconds() < until);
  return best;
}

}  // namespace fanin_perf
