// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <valgrind/callgrind.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>

/// What callgrind counts: calls of one or no element, so that what is counted is what a call costs and not the loop.
namespace fanin_test {

/// What a caller knows at run time only: passed through here, so that nothing is computed while compiling.
struct arguments {
  const double* x;
  std::int64_t first;
  std::int64_t last;
  std::span<const double> span() const { return {x, static_cast<std::size_t>(last - first)}; }
};

/// f(i) = x[i].
struct element {
  const double* x;
  double operator()(std::int64_t i) const { return x[i]; }
};

struct named_call {
  std::string_view name;
  double (*call)(const arguments&);
};

/// Whether what runs now counts.
inline bool is_counting = false;
inline void count(bool from_now_on) {
  if (is_counting != from_now_on) CALLGRIND_TOGGLE_COLLECT;
  is_counting = from_now_on;
}

/// The program: NAME REPETITIONS. Each call gives 1.
inline int count_calls(std::span<const named_call> calls, int word_count, char** words) {
  if (word_count != 3) {
    std::fprintf(stderr, "usage: %s CASE REPETITIONS\n", words[0]);
    return 2;
  }
  const long repetitions = std::strtol(words[2], nullptr, 10);
  for (const named_call& one : calls) {
    if (one.name != words[1]) continue;
    const double x = 1;
    const arguments given{&x, 0, 1};
    if (one.call(given) != 1) {  // also makes what is made once
      std::fprintf(stderr, "%s: a wrong answer\n", words[1]);
      return 1;
    }
    double sum = 0;
    count(true);
    for (long i = 0; i < repetitions; ++i) sum += one.call(given);
    count(false);
    return sum == static_cast<double>(repetitions) ? 0 : 1;
  }
  std::fprintf(stderr, "there is no case %s\n", words[1]);
  return 2;
}

}  // namespace fanin_test
