// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>

#include "simulator/machine.hpp"

namespace simulator_test {

/// What a child process told: how many schedules it ran, and which policies went wrong how often.
struct outcome {
  std::uint64_t schedules = 0;
  std::map<std::string, int> red;
};

/// Runs run(tell) in a process of its own, whose crash, or ten seconds without an end, counts as red. tell(policy)
/// before each schedule, tell("red " + policy) when it went wrong.
template <class Run>
outcome in_child(const Run& run) {
  int ends[2] = {};
  if (pipe(ends) != 0) throw std::runtime_error("no pipe");
  simulator::end();
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("no child");
  if (child == 0) {
    close(ends[0]);
    for (const int crash : {SIGSEGV, SIGBUS, SIGILL, SIGFPE}) signal(crash, SIG_DFL);  // at once, not in a sanitizer
    dup2(open("/dev/null", O_WRONLY), 2);                                              // what is said of races
    run([&](const std::string& line) {
      alarm(10);
      const std::string text = line + "\n";
      if (write(ends[1], text.data(), text.size()) < 0) _exit(1);
    });
    if (write(ends[1], "end\n", 4) < 0) _exit(1);
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char some[4096];
  for (ssize_t n = 0; (n = read(ends[0], some, sizeof(some))) > 0;) text.append(some, static_cast<std::size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  outcome all;
  std::string last = "?";
  bool has_ended = false;  // ThreadSanitizer, which is told to, ends a process that crashed with status 0
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    if (line == "end") {
      has_ended = true;
    } else if (line.starts_with("red ")) {
      ++all.red[line.substr(4)];
    } else {
      ++all.schedules;
      last = line;
    }
  }
  if (status != 0 || !has_ended) ++all.red["crash by " + last];
  return all;
}

}  // namespace simulator_test
