// SPDX-License-Identifier: Apache-2.0
#include "harness/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "harness/host.hpp"

namespace fanin_perf {
namespace {
constexpr int bar_width = 24;
constexpr double seconds_between_lines = 5;
}  // namespace

progress::progress(int steps)
    : steps_(std::max(steps, 1)), terminal_(isatty(STDERR_FILENO) != 0), begun_(host_seconds()) {}

progress::~progress() {
  clear();
  if (!terminal_ && at_ > 0) {
    fmt::print(stderr, "fanin-perf: {} of {} cases in {:.0f} s\n", at_, steps_, host_seconds() - begun_);
  }
}

void progress::step(std::string_view what) {
  ++at_;
  what_ = what;
  draw();
}

void progress::say(std::string_view line) {
  clear();
  fmt::print(stderr, "fanin-perf: {}\n", line);
  if (terminal_ && at_ > 0) draw();
}

void progress::draw() {
  const double now = host_seconds();
  if (terminal_) {
    const int full = (at_ - 1) * bar_width / steps_;
    const std::string bar =
        std::string(static_cast<std::size_t>(full), '#') + std::string(static_cast<std::size_t>(bar_width - full), '.');
    fmt::print(stderr, "\r\033[K[{}] {}/{} {:.40} {:.0f} s", bar, at_, steps_, what_, now - begun_);
    std::fflush(stderr);
  } else if (now - last_line_ >= seconds_between_lines) {
    last_line_ = now;
    fmt::print(stderr, "fanin-perf: case {} of {}: {} ({:.0f} s)\n", at_, steps_, what_, now - begun_);
  }
}

void progress::clear() const {
  if (terminal_ && at_ > 0) {
    fmt::print(stderr, "\r\033[K");
    std::fflush(stderr);
  }
}

}  // namespace fanin_perf
