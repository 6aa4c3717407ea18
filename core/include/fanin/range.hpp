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

namespace detail {

template <class T>
concept character = std::same_as<T, char> || std::same_as<T, wchar_t> || std::same_as<T, decltype(u8' ')> ||
                    std::same_as<T, char16_t> || std::same_as<T, char32_t>;
template <class T>
concept index_value = std::integral<T> && !std::same_as<T, bool> && !character<T>;

template <index_value T>
std::int64_t to_index(T value, const char* call) {
  if (!std::in_range<std::int64_t>(value)) {
    throw invalid_argument(std::string(call) + ": " + std::to_string(value) + " does not fit a signed 64-bit index");
  }
  return static_cast<std::int64_t>(value);
}

/// Which index and which tag a range hands functors, of the types named in range<...>: one of each at most.
template <class T>
inline constexpr bool is_index_type = std::same_as<T, std::int32_t> || std::same_as<T, std::int64_t>;
template <class T>
inline constexpr bool is_work_tag = std::is_class_v<T> && std::is_empty_v<T> && std::is_default_constructible_v<T>;
template <class... How>
struct first_tag {
  using type = void;
};
template <class First, class... Others>
struct first_tag<First, Others...>
    : std::conditional_t<is_work_tag<First>, std::type_identity<First>, first_tag<Others...>> {};
template <class... How>
struct range_how {
  static_assert(((is_index_type<How> || is_work_tag<How>) && ...),
                "fanin: range<...> and md_range<...> take std::int32_t or std::int64_t, as what functors get for an "
                "index, and an empty class, as a tag that they are called with: fanin::range<std::int32_t>(exec, n), "
                "fanin::range<tag>(exec, n)");
  static_assert((0 + ... + (is_index_type<How> ? 1 : 0)) <= 1 && (0 + ... + (is_work_tag<How> ? 1 : 0)) <= 1,
                "fanin: range<...> and md_range<...> take one type of an index and one tag");
  using index_type = std::conditional_t<(std::same_as<How, std::int32_t> || ...), std::int32_t, std::int64_t>;
  using tag_type = typename first_tag<How...>::type;
};

/// Throws invalid_argument, in words, where an index or the end does not fit Index.
template <class Index>
void check_ends(std::int64_t first, std::int64_t last, const char* call) {
  if constexpr (sizeof(Index) == 4) {
    if (!std::in_range<Index>(first) || !std::in_range<Index>(last)) {
      throw invalid_argument(std::string(call) + ": [" + std::to_string(first) + ", " + std::to_string(last) +
                             ") does not fit a signed 32-bit index; leave <std::int32_t> out, and let the functor take "
                             "std::int64_t");
    }
  }
}

}  // namespace detail

/// The half-open index range [first, last) on an execution object, which hands functors an Index, behind a Tag where
/// that is not void. Cheap to copy. Refers to the object, which must outlive it.
template <class Exec, class Index = std::int64_t, class Tag = void>
class range_policy {
 public:
  using execution_type = Exec;
  using index_type = Index;
  using work_tag = Tag;
  using handle_type = typename backend<Exec>::handle_type;

  /// Throws invalid_argument when last < first, or when last - first or an end does not fit 64 bits, or an end an
  /// Index.
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
    detail::check_ends<Index>(first, last, "fanin::range<std::int32_t>");
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

template <class Exec, class... How>
using range_on_t = range_policy<Exec, typename range_how<How...>::index_type, typename range_how<How...>::tag_type>;

}  // namespace detail

/// [0, n) on `exec`. Throws invalid_argument when n is negative or does not fit 64 bits.
///
/// range<std::int32_t>(exec, n), and so with two ends: functors get their index as an int, so that f(int i) is taken,
/// too; every index, and the end, fits 32 bits, or it throws invalid_argument. Places that reducers tell are
/// std::int64_t all the same. range<Tag>(exec, n), of an empty class: functors are called as f(Tag, i) and
/// f(Tag, i, acc&...), with an object of that type, so that one functor may have several calls. Both in any order.
template <class... How, class Exec, detail::index_value N>
  requires(!std::is_arithmetic_v<std::remove_cvref_t<Exec>>)
auto range(Exec&& exec, N n) {
  return detail::range_on_t<std::remove_cvref_t<Exec>, How...>(detail::handle_of(std::forward<Exec>(exec)), 0,
                                                               detail::to_index(n, "fanin::range"));
}

/// [first, last) on `exec`. Throws invalid_argument when last < first or an extent does not fit 64 bits.
template <class... How, class Exec, detail::index_value First, detail::index_value Last>
  requires(!std::is_arithmetic_v<std::remove_cvref_t<Exec>>)
auto range(Exec&& exec, First first, Last last) {
  return detail::range_on_t<std::remove_cvref_t<Exec>, How...>(detail::handle_of(std::forward<Exec>(exec)),
                                                               detail::to_index(first, "fanin::range"),
                                                               detail::to_index(last, "fanin::range"));
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
