// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <bit>
#include <concepts>
#include <cstdint>

#include <fanin/detail/complex_parts.hpp>
#include <fanin/detail/exact_part.hpp>
#include <fanin/detail/exact_ranks.hpp>
#include <fanin/exact_accumulator.hpp>
#include <fanin/nccl/over.hpp>
#if defined(__CUDACC__)
#include <fanin/cuda/reducer/exact_columns.cuh>
#endif

/// Exact sums over NCCL's ranks. By NCCL's kernels: what a part gives is canonical, so that its digits have 32 bits
/// each, and 2^31 ranks' sum of them 63; the last one is signed and wraps as it should; how many ranks had infinities
/// and NaN stands behind them. A join with nothing makes it canonical again.
namespace fanin::detail {

#if defined(__CUDACC__)

/// To ranks whose memory is reached.
template <class R>
struct sent_exact;
template <class R>
  requires(hands_over_words<R>)
struct sent_by<R> {
  using type = sent_exact<R>;
};

/// A complex number's two.
template <class Number>
struct sent_complex {
  static constexpr int most_words = 2 * Number::most_words;

  struct joined_type {
    typename Number::joined_type real;
    typename Number::joined_type imaginary;

    __device__ int add(const std::uint32_t* words) {
      const int count = real.add(words);
      return count + imaginary.add(words + count);
    }
  };
  template <class Partial>
  __device__ static int put(const Partial& held, const exact_complex_accumulator* rest, std::uint32_t* words) {
    const int count = Number::put(held.real, rest == nullptr ? nullptr : &rest->real, words);
    return count + Number::put(held.imaginary, rest == nullptr ? nullptr : &rest->imaginary, words + count);
  }
};
template <class Accumulator, class Partial>
struct sent_part_of {
  using type = sent_number<Accumulator, Partial>;
};
template <class Limbs>
struct sent_part_of<exact_complex_accumulator, exact_complex_partial<Limbs>> {
  using type = sent_complex<sent_number<exact_accumulator, Limbs>>;
};

template <class R>
struct sent_exact {
  using accumulator = reducer_accumulator_t<R>;
  using partial = typename gathering_t<typename in_columns<R, column_states<>>::type>::partial_type;
  using part = exact_part<accumulator, partial>;
  using sent_part = typename sent_part_of<accumulator, partial>::type;
  using joined_type = typename sent_part::joined_type;
  static constexpr int most_words = sent_part::most_words;

  static constexpr auto reducer(const R& r) { return detail::exact_with_result<part>(r); }
  __device__ static int put(const part& value, std::uint32_t* words) {
    return sent_part::put(value.partial, value.accumulator, words);
  }
  __device__ static joined_type nothing(const R&) { return {}; }
  __device__ static int take(const R&, joined_type& into, const std::uint32_t* words, bool) { return into.add(words); }
  __device__ static reducer_result_t<R> result(const R& r, joined_type& joined) {
    using result_type = reducer_result_t<R>;
    if constexpr (exact_element<result_type>) {
      return joined.template value_as<result_type>();
    } else if constexpr (std::same_as<result_type, accumulator>) {
      return r.result(joined.as_accumulator());
    } else {
      using element = typename result_type::value_type;
      return std::bit_cast<result_type>(complex_parts<result_type>{joined.real.template value_as<element>(),
                                                                   joined.imaginary.template value_as<element>()});
    }
  }
};

#endif

}  // namespace fanin::detail
