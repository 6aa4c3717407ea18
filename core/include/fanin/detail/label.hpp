// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <string>

namespace fanin::detail {

/// What a call is named for profilers: a null-terminated string or a std::string, which outlives the call; null:
/// nothing.
class call_label {
 public:
  template <class Text>
    requires std::convertible_to<const Text&, const char*>
  constexpr call_label(const Text& text) : text_{text} {}
  call_label(const std::string& text) : text_{text.c_str()} {}

  constexpr const char* get() const noexcept { return text_; }

 private:
  const char* text_;
};

template <class X>
concept label = std::convertible_to<const X&, call_label>;

}  // namespace fanin::detail
