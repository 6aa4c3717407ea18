// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>

#include "simulator/machine.hpp"
#include "support/data.hpp"

/// Schedules drawn from seeds. Environment:
///   FANIN_SIMULATOR_SEED=n     replays one schedule of the case that runs (choose it with --gtest_filter)
///   FANIN_SIMULATOR_FIRST=n    the first seed; 0
///   FANIN_SIMULATOR_COUNT=n    seeds a case, or a call of one
///   FANIN_SIMULATOR_SECONDS=n  for each case, instead of a number of seeds
namespace simulator_test {

inline std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// So many schedules, and fewer under a sanitizer.
inline std::uint64_t count_of_seeds(std::uint64_t otherwise) {
#if defined(SIMULATOR_SCHEDULES_ARE_ONE_OF)
  otherwise = (otherwise + SIMULATOR_SCHEDULES_ARE_ONE_OF - 1) / SIMULATOR_SCHEDULES_ARE_ONE_OF;
#endif
  return from_environment("FANIN_SIMULATOR_COUNT", otherwise);
}

/// What follows from a seed beside the schedule.
class choices {
 public:
  explicit choices(std::uint64_t seed) : state_{fanin_test::mix(seed)} {}
  std::size_t below(std::size_t end) { return static_cast<std::size_t>((state_ = fanin_test::mix(state_)) % end); }
  template <class T, std::size_t N>
  T one_of(const T (&values)[N]) {
    return values[below(N)];
  }

 private:
  std::uint64_t state_;
};

/// One schedule of story(choices, text), which gives what is wrong, and tells in `text` what it does. What went wrong,
/// or nothing.
template <class Story>
std::string run_seed(std::uint64_t seed, const Story& story) {
  const simulator::schedule how(seed);
  simulator::begin(how);
  const std::uint64_t races_before = simulator::races_seen();
  choices draw(seed);
  std::string text;
  std::string wrong;
  try {
    wrong = story(draw, text);
  } catch (const std::exception& failure) {
    wrong = failure.what();
  }
  if (simulator::races_seen() != races_before) wrong += "\n  a race, of which ThreadSanitizer tells above";
  return wrong.empty() ? "" : how.text() + text + "\n  " + wrong;
}

/// run(seed) for all of them, until some have failed; says what the first few of those say. scripts/test.sh adds up
/// what it prints.
template <class Run>
void for_each_seed(std::uint64_t otherwise, const Run& run) {
  const auto begun = std::chrono::steady_clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count(); };
  const auto seconds = static_cast<double>(from_environment("FANIN_SIMULATOR_SECONDS", 0));
  const simulator::counts before = simulator::counted();
  if (std::getenv("FANIN_SIMULATOR_SEED") != nullptr) {
    if (const std::string wrong = run(from_environment("FANIN_SIMULATOR_SEED", 0)); !wrong.empty())
      ADD_FAILURE() << wrong;
    return;
  }
  const std::uint64_t first = from_environment("FANIN_SIMULATOR_FIRST", 0);
  constexpr int enough = 10;
  int red = 0;
  std::uint64_t seed = first;
  for (; red < enough && (seconds > 0 ? elapsed() < seconds : seed - first < otherwise); ++seed) {
    const std::string wrong = run(seed);
    if (!wrong.empty() && ++red <= 3) ADD_FAILURE() << wrong;
  }
  EXPECT_EQ(red, 0) << "of " << seed - first << " schedules";
  const simulator::counts after = simulator::counted();
  std::cout << after.schedules - before.schedules << " schedules, " << after.launches - before.launches << " launches, "
            << after.switches - before.switches << " switches, " << elapsed() << " s\n";
}

}  // namespace simulator_test
