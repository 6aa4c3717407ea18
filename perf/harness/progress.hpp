// SPDX-License-Identifier: Apache-2.0
#pragma once

// How far the run is, on stderr: a bar on a terminal, a line every now and then elsewhere.

#include <string>
#include <string_view>

namespace fanin_perf {

class progress {
 public:
  explicit progress(int steps);
  ~progress();
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;

  /// One more step begins; `what` says which.
  void step(std::string_view what);

  /// A line of its own, above the bar.
  void say(std::string_view line);

 private:
  void draw();
  void clear() const;

  int steps_;
  int at_ = 0;
  bool terminal_;
  double begun_;
  double last_line_ = -1e9;
  std::string what_;
};

}  // namespace fanin_perf
