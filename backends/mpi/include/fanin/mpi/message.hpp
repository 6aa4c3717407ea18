// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include <fanin/detail/composite.hpp>
#include <fanin/detail/ranks.hpp>
#include <fanin/mpi/exchange.hpp>
#include <fanin/pending.hpp>

/// What MPI's ranks hand each other of a call, in memory of the host.
namespace fanin::detail {

/// Accumulators that are sums of integers travel as so many words, which are added up: in any order, the same bits.
template <class Accumulator>
struct summed_words {
  static constexpr std::size_t count = 0;
};

/// A T whose bytes lie anywhere.
template <class T>
T copy_at(const std::byte* from) {
  bytes_of<T> room;
  std::memcpy(static_cast<void*>(std::addressof(room)), from, sizeof(T));
  return room.value;
}

/// How the accumulators of a call's reducers travel.
template <class Plain>
struct rank_message;
template <class... R>
struct rank_message<composite<R...>> {
  using plain_type = composite<R...>;
  using accumulators = typename plain_type::accumulator_type;
  static constexpr std::size_t size = sizeof...(R);
  static constexpr std::array<std::size_t, size> words{
      (hands_over_words<R> ? summed_words<reducer_accumulator_t<R>>::count : 0)...};
  static constexpr std::array<std::size_t, size> bytes{(hands_over_words<R> ? 0 : sizeof(reducer_accumulator_t<R>))...};
  static constexpr std::size_t before(const std::array<std::size_t, size>& of, std::size_t at) {
    std::size_t sum = 0;
    for (std::size_t k = 0; k < at; ++k) sum += of[k];
    return sum;
  }

  /// Of what a part gives, which is the accumulator itself where there is one reducer.
  template <class Result>
  static accumulators of_result(const Result& result) {
    if constexpr (size == 1) {
      return {{{result}}};
    } else {
      return result;
    }
  }

  /// As large as any other, and nobody looks at what is in it.
  static rank_part failed_part() {
    return {rank_array<std::byte>(before(bytes, size)), rank_array<std::uint64_t>(before(words, size)), true};
  }
  static rank_part part_of(const accumulators& acc) {
    rank_part part = failed_part();
    part.has_failed = false;
    for_each([&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
      if constexpr (words[I] != 0) {
        using of = summed_words<std::remove_cvref_t<decltype(get<I>(acc))>>;
        of::put(get<I>(acc), part.summed.data() + before(words, I));
      } else {
        std::memcpy(part.gathered.data() + before(bytes, I), std::addressof(get<I>(acc)), bytes[I]);
      }
    });
    return part;
  }
  static accumulators whole_of(const plain_type& c, const rank_part& part) {
    accumulators acc = c.identity();
    for_each([&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
      using type = std::remove_cvref_t<decltype(get<I>(acc))>;
      if constexpr (words[I] != 0) {
        get<I>(acc) = summed_words<type>::get(part.summed.begin() + before(words, I));
      } else {
        get<I>(acc) = detail::copy_at<type>(part.gathered.begin() + before(bytes, I));
      }
    });
    return acc;
  }
  static join_parts join_of(const plain_type& c) {
    return [c](std::byte* into, const std::byte* from) {
      for_each([&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
        if constexpr (words[I] == 0) {
          using type = std::tuple_element_t<I, accumulators>;
          type joined = detail::copy_at<type>(into + before(bytes, I));
          get<I>(c.reducers).join(joined, detail::copy_at<type>(from + before(bytes, I)));
          std::memcpy(into + before(bytes, I), std::addressof(joined), bytes[I]);
        }
      });
    };
  }

 private:
  template <class Use>
  static void for_each(const Use& use) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (use(std::integral_constant<std::size_t, I>{}), ...);
    }(std::make_index_sequence<size>{});
  }
};

}  // namespace fanin::detail
