// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <fanin/macros.hpp>

/// What nodes of graphs sum.
namespace fanin_perf_ranks {

/// Ends the program, with which a launcher ends the others.
inline void check(cudaError_t code) {
  if (code == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(code));
  std::abort();
}

/// What is summed: small integers, whose sums and sums of parts are exact, in floats too.
struct small_element {
  std::int64_t first;
  FANIN_FUNCTION int operator()(std::int64_t i) const { return static_cast<int>((first + i) * 7 % 11) - 5; }
};
inline double sum_of_small(std::int64_t begin, std::int64_t end) {
  const auto up_to = [](std::int64_t n) {  // eleven in a row give 0
    double sum = 0;
    for (std::int64_t i = n / 11 * 11; i < n; ++i) sum += small_element{0}(i);
    return sum;
  };
  return up_to(end) - up_to(begin);
}

/// Slices of an array that no cache holds, in turn, of `elements` each.
template <class T>
class slices {
 public:
  static constexpr std::int64_t most_bytes = std::int64_t{1} << 28;

  slices(std::int64_t elements, int rank)
      : elements_{elements},
        count_{std::max<std::int64_t>(most_bytes / static_cast<std::int64_t>(sizeof(T)) / elements, 1)},
        rank_{rank} {
    check(cudaMalloc(&data_, static_cast<std::size_t>(elements_ * count_) * sizeof(T)));
  }
  slices(const slices&) = delete;
  slices& operator=(const slices&) = delete;
  ~slices() { cudaFree(data_); }

  T* data(std::int64_t slice) const { return data_ + slice % count_ * elements_; }
  std::int64_t elements() const { return elements_; }
  std::int64_t all_elements() const { return elements_ * count_; }
  std::int64_t first(std::int64_t slice, int rank) const {
    return (static_cast<std::int64_t>(rank) * count_ + slice % count_) * elements_;
  }
  double expected(std::int64_t slice, bool is_of_all, int ranks) const {
    double sum = 0;
    for (int rank = is_of_all ? 0 : rank_; rank < (is_of_all ? ranks : rank_ + 1); ++rank) {
      sum += sum_of_small(first(slice, rank), first(slice, rank) + elements_);
    }
    return sum;
  }

 private:
  std::int64_t elements_;
  std::int64_t count_;
  int rank_;
  T* data_ = nullptr;
};

}  // namespace fanin_perf_ranks
