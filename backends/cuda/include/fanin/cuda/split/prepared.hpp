// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include <fanin/detail/segments_functor.hpp>

/// What segments(...).prepared() keeps on CUDA.
namespace fanin::detail {

/// A longer segment, or a piece of it.
struct prepared_piece {
  std::int64_t row;
  std::int64_t begin;  ///< of the segment
  std::int64_t end;
  unsigned piece;    ///< pieces of a segment are neighbours in the list
  unsigned counter;  ///< the segment's, which those that come count on; or of_one_block, which has all pieces
};
inline constexpr unsigned of_one_block = ~0u;

/// Segments by what works on them. Shorter ones than those that are listed are found by their offsets.
struct prepared_list {
  const prepared_piece* pieces;  ///< of blocks, those that are cut first; behind them of warps
  std::int64_t cut;              ///< how many pieces of segments that several blocks share
  std::int64_t of_blocks;        ///< how many are of blocks, these among them,
  std::int64_t of_warps;         ///< and of warps
  std::int64_t most_unlisted;    ///< elements
  std::int64_t elements;         ///< of all segments
  std::int64_t elements_listed;  ///< of those that are

  /// Whether what is listed takes a good part of the time.
  bool has_much() const { return elements_listed > elements / 3; }
};

/// The same of a kernel whose threads are short of registers, since many of its blocks are to work at once.
struct prepared_list_of_many : prepared_list {};

template <class All>
inline constexpr bool is_one_of_many_prepared = false;
template <class F, class Offset>
inline constexpr bool is_one_of_many_prepared<prepared_segments_functor<F, Offset, prepared_list_of_many>> = true;

/// Owns the list, with all copies together. The last one waits for the object's work, as a buffer does. What is moved
/// from stays as good.
class cuda_prepared_segments {
 public:
  cuda_prepared_segments(const prepared_list& list, std::shared_ptr<const void> memory)
      : list_{list}, memory_{std::move(memory)} {}
  cuda_prepared_segments(const cuda_prepared_segments&) = default;
  cuda_prepared_segments& operator=(const cuda_prepared_segments&) = default;
  ~cuda_prepared_segments() = default;

  const prepared_list& view() const noexcept { return list_; }

 private:
  prepared_list list_;
  std::shared_ptr<const void> memory_;
};

}  // namespace fanin::detail
