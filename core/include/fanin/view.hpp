// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <fanin/detail/strided.hpp>
#include <fanin/error.hpp>
#include <fanin/macros.hpp>
#include <fanin/md_index.hpp>
#include <fanin/md_range.hpp>

namespace fanin {

/// Elements at a pointer, in 1 to 6 dimensions: element (i, j, ...) stands i * stride(0) + j * stride(1) + ... elements
/// from data(). Strides may be 0 (one element for all indices of the dimension) and negative (backwards; data() is
/// element (0, 0, ...) all the same). Owns nothing; the memory lives as long as it is used. Trivially copyable:
/// functors capture it, and call it on a device. reduce and transform_reduce take it as an array. T may be const.
template <class T, std::size_t Rank>
class view {
  static_assert(Rank >= 1 && Rank <= 6, "fanin: a view has 1 to 6 dimensions");

 public:
  using element_type = T;
  using value_type = std::remove_cv_t<T>;

  /// Of no elements.
  constexpr view() = default;
  /// Row-major: the last index counts fastest, and nothing lies between the elements. Extents are integers of any type
  /// in braces, a std::array, or an md_index. Throws invalid_argument for a negative extent, and where the number of
  /// elements does not fit 64 bits.
  view(T* data, const detail::md_bound (&extents)[Rank]) : view(data, detail::index_of_bounds(extents), packed{}) {}
  template <detail::md_bounds Bounds>
  view(T* data, const Bounds& extents) : view(data, detail::index_of_bounds(extents), packed{}) {}
  /// With strides, in elements. Throws as above.
  view(T* data, const detail::md_bound (&extents)[Rank], const detail::md_bound (&strides)[Rank])
      : view(data, detail::index_of_bounds(extents), detail::index_of_bounds(strides), packed{}) {}
  template <detail::md_bounds Extents, detail::md_bounds Strides>
  view(T* data, const Extents& extents, const Strides& strides)
      : view(data, detail::index_of_bounds(extents), detail::index_of_bounds(strides), packed{}) {}

  /// Of the same elements, which may not be written by it: a view of T as one of const T.
  template <class Other>
    requires(!std::is_same_v<Other, T> && std::is_convertible_v<Other (*)[], T (*)[]>)
  FANIN_FUNCTION constexpr view(const view<Other, Rank>& other)
      : data_{other.data_}, extents_{other.extents_}, strides_{other.strides_} {}

  FANIN_FUNCTION constexpr T* data() const { return data_; }
  static constexpr std::size_t rank() { return Rank; }
  FANIN_FUNCTION constexpr std::int64_t extent(std::size_t r) const { return extents_[r]; }
  FANIN_FUNCTION constexpr std::int64_t stride(std::size_t r) const { return strides_[r]; }
  /// How many elements there are. 0 where any extent is 0.
  FANIN_FUNCTION constexpr std::size_t size() const {
    std::size_t count = 1;
    for (std::size_t r = 0; r < Rank; ++r) count *= static_cast<std::size_t>(extents_[r]);
    return count;
  }

  /// The element at an index of so many integers, which is not checked.
  template <class... Index>
    requires(sizeof...(Index) == Rank && (std::is_convertible_v<Index, std::int64_t> && ...))
  FANIN_FUNCTION constexpr T& operator()(Index... index) const {
    const std::int64_t at[] = {static_cast<std::int64_t>(index)...};
    std::int64_t offset = 0;
    for (std::size_t r = 0; r < Rank; ++r) offset += at[r] * strides_[r];
    return data_[offset];
  }

 private:
  template <class Other, std::size_t OtherRank>
  friend class view;

  struct packed {};
  view(T* data, const md_index<Rank>& extents, const md_index<Rank>& strides, packed)
      : data_{data}, extents_{extents}, strides_{strides} {
    detail::count_elements(extents, "fanin::view");
  }
  view(T* data, const md_index<Rank>& extents, packed) : data_{data}, extents_{extents} {
    if (detail::count_elements(extents, "fanin::view") == 0) return;
    std::int64_t stride = 1;
    for (std::size_t r = Rank; r-- > 0; stride *= extents[r]) strides_[r] = stride;
  }

  T* data_ = nullptr;
  md_index<Rank> extents_{};
  md_index<Rank> strides_{};
};

}  // namespace fanin
