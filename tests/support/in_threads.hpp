// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

namespace fanin_test {

/// Runs `body(thread)` in several threads at once and rethrows what one of them threw.
template <class Body>
void in_threads(int count, const Body& body) {
  std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(count));
  std::atomic<int> waiting{count};
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t) {
    threads.emplace_back([&, t] {
      --waiting;
      while (waiting > 0) std::this_thread::yield();
      try {
        body(t);
      } catch (...) {
        thrown[static_cast<std::size_t>(t)] = std::current_exception();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& one : thrown) {
    if (one) std::rethrow_exception(one);
  }
}

}  // namespace fanin_test
