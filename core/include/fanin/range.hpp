// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include <fanin/error.hpp>
#include <fanin/execution.hpp>

namespace fanin {

/// The half-open index range [first, last) on an execution object. Cheap to copy. Refers to the object, which must
/// outlive it.
template <class Exec>
class range_policy {
 public:
  using execution_type = Exec;
  using handle_type = typename backend<Exec>::handle_type;

  /// Throws invalid_argument when last < first, or when last - first or an end does not fit 64 bits.
  range_policy(handle_type handle, std::int64_t first, std::int64_t last)
      : handle_{handle}, first_{first}, last_{last} {
    if (last < first) {
      throw invalid_argument("fanin::range(" + std::to_string(first) + ", " + std::to_string(last) +
                             "): the extent is negative; give first <= last");
    }
    if (first < 0 && last > INT64_MAX + first) {
      throw invalid_argument("fanin::range(" + std::to_string(first) + ", " + std::to_string(last) +
                             "): the extent does not fit a signed 64-bit integer");
    }
  }

  handle_type handle() const noexcept { return handle_; }
  std::int64_t first() const noexcept { return first_; }
  std::int64_t last() const noexcept { return last_; }
  std::int64_t size() const noexcept { return last_ - first_; }

 private:
  handle_type handle_;
  std::int64_t first_;
  std::int64_t last_;
};

namespace detail {

template <class T>
concept character = std::same_as<T, char> || std::same_as<T, wchar_t> || std::same_as<T, decltype(u8' ')> ||
                    std::same_as<T, char16_t> || std::same_as<T, char32_t>;
template <class T>
concept index_value = std::integral<T> && !std::same_as<T, bool> && !character<T>;

template <index_value T>
std::int64_t to_index(T value) {
  if (!std::in_range<std::int64_t>(value)) {
    throw invalid_argument("fanin::range: " + std::to_string(value) + " does not fit a signed 64-bit index");
  }
  return static_cast<std::int64_t>(value);
}

}  // namespace detail

/// [0, n) on `exec`. Throws invalid_argument when n is negative or does not fit 64 bits.
template <class Exec, detail::index_value N>
  requires(!std::is_arithmetic_v<std::remove_cvref_t<Exec>>)
auto range(Exec&& exec, N n) {
  return range_policy<std::remove_cvref_t<Exec>>(detail::handle_of(std::forward<Exec>(exec)), 0, detail::to_index(n));
}

/// [first, last) on `exec`. Throws invalid_argument when last < first or an extent does not fit 64 bits.
template <class Exec, detail::index_value First, detail::index_value Last>
  requires(!std::is_arithmetic_v<std::remove_cvref_t<Exec>>)
auto range(Exec&& exec, First first, Last last) {
  return range_policy<std::remove_cvref_t<Exec>>(detail::handle_of(std::forward<Exec>(exec)), detail::to_index(first),
                                                 detail::to_index(last));
}

/// What fits none of these is refused in words: any other overload is the better one.
template <class Call = void>
auto range(...) {
  static_assert(
      detail::dependent_false<Call>,
      "fanin: range takes [an execution object,] n, or the first index and the one behind the last: integers, "
      "and no bool, character or floating-point number among them");
}

}  // namespace fanin
