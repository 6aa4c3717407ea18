// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <fanin/detail/composite.hpp>
#include <fanin/detail/finished_composite.hpp>
#include <fanin/detail/md_places.hpp>
#include <fanin/detail/md_shape.hpp>
#include <fanin/detail/ranks_places.hpp>
#include <fanin/finished.hpp>
#include <fanin/tuple.hpp>

/// What ranks compare of their calls, where they do (check_calls), whatever carries it.
namespace fanin::detail {

/// Words that tell a type from others, the same on all ranks of a program; there without run-time type information.
template <class T>
constexpr const char* name_of() {
  return __PRETTY_FUNCTION__;
}

/// Of what a call has, the types that are the same on all ranks: g may be a lambda of a template, one for each backend.
template <class What>
struct without_g {
  using type = What;
};
template <class G, class... R>
struct without_g<finished_reducers<G, R...>> {
  using type = tuple<R...>;
};
template <class What>
using reducers_without_g = typename without_g<What>::type;

/// The caller's reducers, of whichever stand for them: words that say them are name_of() of this.
template <class R>
struct written_reducer {
  using type = R;
};
template <class R, class Part>
struct written_reducer<places_of_part<R, Part>> : written_reducer<R> {};
template <class R, class Part>
struct written_reducer<counted_in_whole<R, Part>> : written_reducer<R> {};
template <class... What>
struct written_reducers {
  using type = tuple<typename written_reducer<What>::type...>;
};
template <class... R>
struct written_reducers<composite<R...>> : written_reducers<R...> {};
template <class G, class... R>
struct written_reducers<finished_reducers<G, R...>> : written_reducers<R...> {};

/// Whether the caller finishes the reducers: what gives places has a g of Fanin's own.
template <class Composite>
inline constexpr bool finishes = Composite::is_finished;
template <std::size_t Rank, iterate Order, class... R, class... Part>
inline constexpr bool finishes<finished_composite<md_placed<md_results_themselves, Rank, Order, R...>, Part...>> =
    false;

/// What a shape tells of its indices, in the caller's words.
template <class Shape>
struct words_of_shape {
  static constexpr const char* order = nullptr;
};
template <std::size_t Rank, iterate Order>
struct words_of_shape<md_shape<Rank, Order>> {
  static constexpr std::size_t dimensions = Rank;
  static constexpr const char* order = Order == iterate::right ? "iterate::right" : "iterate::left";
};

/// Which form a call has, and with what.
struct rank_call {
  const char* name;
  const char* label;
  const char* types;           ///< what is the same on all ranks: name_of()
  const char* reducers;        ///< name_of() a tuple of the caller's, for words
  bool has_first;              ///< the index of its first element is given
  bool is_finished;            ///< by finished(g, reducers...)
  std::size_t dimensions = 0;  ///< that are reduced, where that is known, and in which order, for words
  const char* order = nullptr;
  std::int64_t results = -1;  ///< of a call with many
};
template <class Composite>
rank_call rank_call_of(const char* name, const char* label, bool has_first) {
  using plain = typename Composite::plain_type;
  return {.name = name,
          .label = label,
          .types = name_of<plain>(),
          .reducers = name_of<typename written_reducers<plain>::type>(),
          .has_first = has_first,
          .is_finished = finishes<Composite>};
}
template <class Composite>
rank_call rank_call_of_many(const char* name, const char* label, bool has_first, std::int64_t results) {
  using reduced = decltype(std::declval<const Composite&>().placed.reduced);  // in one order on all ranks
  using plain = typename Composite::plain_type;
  return {.name = name,
          .label = label,
          .types = name_of<tuple<plain, reduced>>(),
          .reducers = name_of<typename written_reducers<plain>::type>(),
          .has_first = has_first,
          .is_finished = Composite::is_finished,
          .dimensions = words_of_shape<reduced>::dimensions,
          .order = words_of_shape<reduced>::order,
          .results = results};
}

/// The same on all ranks that make the same call.
inline std::uint64_t hash_of(const rank_call& call) noexcept {
  std::uint64_t hash = 14'695'981'039'346'656'037ULL;  // FNV-1a's
  const auto add = [&](std::uint64_t byte) { hash = (hash ^ byte) * 1'099'511'628'211ULL; };
  for (const char* text : {call.name, call.label, call.types}) {
    for (; text != nullptr && *text != '\0'; ++text) add(static_cast<unsigned char>(*text));
    add(0xff);
  }
  add((call.has_first ? 1u : 0u) + (call.is_finished ? 2u : 0u));
  for (int byte = 0; byte < 8; ++byte) add(static_cast<std::uint64_t>(call.results) >> 8 * byte & 0xff);
  return hash;
}

/// What a call is, as the application has written it.
inline std::string words_of_call(const rank_call& call) {
  std::string types = call.reducers;  // of the tuple in it
  const std::size_t begin = types.find('<', types.find("T = "));
  const std::size_t end = types.find_last_of('>');
  if (begin != std::string::npos && end != std::string::npos && end > begin) {
    types = types.substr(begin + 1, end - begin - 1);
    types = types.substr(0, types.find_last_not_of(' ') + 1);
  }
  const bool has_label = call.label != nullptr && *call.label != '\0';
  std::string words = has_label ? "the label \"" + std::string(call.label) + "\" and " : "";
  words += "the reducers " + types;
  if (call.is_finished) words += ", finished";
  if (call.has_first) words += ", with a first index given";
  if (call.dimensions > 0) {
    words += ", over " + std::to_string(call.dimensions) + (call.dimensions == 1 ? " dimension" : " dimensions");
    if (call.order != nullptr) words += std::string(" (") + call.order + ")";
  }
  if (call.results >= 0) words += ", for " + std::to_string(call.results) + " results";
  return words;
}

}  // namespace fanin::detail
