// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>

#include <fanin/macros.hpp>

namespace fanin {

/// One index for each dimension, in declared order: an aggregate, trivially copyable, with [], get<>, == and structured
/// bindings. -1 throughout stands for no place.
template <std::size_t Rank>
struct md_index {
  std::int64_t at[Rank];

  FANIN_FUNCTION constexpr std::int64_t& operator[](std::size_t dimension) { return at[dimension]; }
  FANIN_FUNCTION constexpr const std::int64_t& operator[](std::size_t dimension) const { return at[dimension]; }
  static constexpr std::size_t size() { return Rank; }
  friend bool operator==(const md_index&, const md_index&) = default;
};

template <std::size_t Dimension, std::size_t Rank>
FANIN_FUNCTION constexpr std::int64_t& get(md_index<Rank>& index) noexcept {
  static_assert(Dimension < Rank);
  return index.at[Dimension];
}
template <std::size_t Dimension, std::size_t Rank>
FANIN_FUNCTION constexpr const std::int64_t& get(const md_index<Rank>& index) noexcept {
  static_assert(Dimension < Rank);
  return index.at[Dimension];
}
template <std::size_t Dimension, std::size_t Rank>
FANIN_FUNCTION constexpr std::int64_t get(md_index<Rank>&& index) noexcept {
  static_assert(Dimension < Rank);
  return index.at[Dimension];
}

}  // namespace fanin

template <std::size_t Rank>
struct std::tuple_size<fanin::md_index<Rank>> : std::integral_constant<std::size_t, Rank> {};
template <std::size_t I, std::size_t Rank>
struct std::tuple_element<I, fanin::md_index<Rank>> {
  using type = std::int64_t;
};
