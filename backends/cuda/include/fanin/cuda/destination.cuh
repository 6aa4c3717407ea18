// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <fanin/cuda/session.hpp>
#include <fanin/cuda/settled_words.cuh>

namespace fanin::detail {

/// Where a kernel leaves its result: in device memory, or in a mailbox that the host watches.
template <class Result>
struct cuda_destination {
  Result* out = nullptr;
  cuda_mailbox mailbox = {};
  bool takes_partials = false;  ///< of every block, which the host joins: no block waits for another

  __device__ void deliver(const Result& result) const {
    if (mailbox.words == nullptr) {
      *out = result;
    } else {
      post(result, 0);
    }
  }

  /// Writes `value` as the mailbox's item number `index`. By a warp's first lane.
  template <class T>
  __device__ void post(const T& value, unsigned index) const {
    constexpr int words = mailbox_words(sizeof(T));
    std::uint32_t word[words] = {};
    detail::settled_words(value, word);
    volatile std::uint64_t* const to = mailbox.words + std::size_t{index} * words;
#pragma unroll(words <= 16 ? words : 1)
    for (int k = 0; k < words; ++k) to[k] = std::uint64_t{mailbox.sequence} << 32 | word[k];
  }
};

}  // namespace fanin::detail
