// SPDX-License-Identifier: Apache-2.0
#include "support/device_on_host.hpp"
//
#include <gtest/gtest.h>

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include <fanin/cuda/catalogue.hpp>
#include <fanin/cuda/thread/fold_n.cuh>
#include <fanin/cuda/thread/grid_stride.cuh>
#include <fanin/cuda/thread/source.cuh>
#include <fanin/cuda/thread/vectorised.cuh>
#include <fanin/detail/composite.hpp>

#include "support/functors.hpp"

/// The thread stages of the CUDA backend, run on the host by recorded coverage: for every grid, block, count and
/// alignment, every index exactly once and with the element that stands there.
namespace fanin_test {
namespace {

/// The index that an element holds in all its parts, or -1.
template <class T>
  requires std::is_arithmetic_v<T>
std::int64_t index_in(T element) {
  return static_cast<std::int64_t>(element);
}
template <class T>
std::int64_t index_in(const std::complex<T>& element) {
  return element.imag() == -element.real() ? static_cast<std::int64_t>(element.real()) : -1;
}
/// A struct of so many bytes.
template <std::size_t Bytes, std::size_t Alignment>
struct alignas(Alignment) parts {
  std::array<std::int32_t, Bytes / 4> part;
};
template <std::size_t Bytes, std::size_t Alignment>
std::int64_t index_in(const parts<Bytes, Alignment>& element) {
  for (std::size_t k = 0; k < element.part.size(); ++k) {
    if (element.part[k] != element.part[0] + static_cast<std::int32_t>(k)) return -1;
  }
  return element.part[0];
}

template <class T>
struct made_of {
  static T index(std::int64_t i) { return static_cast<T>(i); }
};
template <class T>
struct made_of<std::complex<T>> {
  static std::complex<T> index(std::int64_t i) { return {static_cast<T>(i), static_cast<T>(-i)}; }
};
template <std::size_t Bytes, std::size_t Alignment>
struct made_of<parts<Bytes, Alignment>> {
  static parts<Bytes, Alignment> index(std::int64_t i) {
    parts<Bytes, Alignment> element;
    for (std::size_t k = 0; k < element.part.size(); ++k)
      element.part[k] = static_cast<std::int32_t>(i) + static_cast<std::int32_t>(k);
    return element;
  }
};

/// A reducer that writes down which index was folded.
template <class T>
struct record {
  using value_type = T;
  using accumulator_type = std::int64_t;
  std::uint8_t* visits;
  std::int64_t first;
  bool* wrong;
  std::int64_t identity() const { return 0; }
  void fold(std::int64_t& acc, const T& value, std::int64_t index) const {
    ++visits[index - first];
    if (index_in(value) != index) *wrong = true;
    ++acc;
  }
  void join(std::int64_t& into, std::int64_t from) const { into += from; }
};

/// The same for one that has levels, of which it finds all there are.
template <class T>
struct record_by_level : record<T> {
  template <int Rows, int Columns>
  void fold_batch(std::int64_t& acc, const fanin::tile_batch<Rows, Columns, T>& batch) const {
    for (int k = 0; k < batch.size; ++k) {
      if (batch.counts(k)) this->fold(acc, batch.values[k], batch.index(k));
    }
  }
  template <int Rows, int Columns>
  unsigned fast_level(const std::int64_t&, const fanin::tile_batch<Rows, Columns, T>& batch) const {
    const std::int64_t index = index_in(batch.values[0]) / 7;
    return index % 3 == 2 ? fanin::no_fast_level : static_cast<unsigned>(index % 3 == 1);
  }
  template <int Rows, int Columns>
  void fold_fast(std::int64_t& acc, const fanin::tile_batch<Rows, Columns, T>& batch, unsigned level) const {
    if (level > 1) *this->wrong = true;
    for (int k = 0; k < batch.size; ++k) this->fold(acc, batch.values[k], batch.index(k));
  }
};

struct grid {
  unsigned blocks;
  unsigned threads;
};

const std::vector<grid>& grids() {
  static const std::vector<grid> all{{1, 32}, {1, 96}, {2, 32}, {3, 64}, {5, 96}, {7, 32}};
  return all;
}

const std::vector<std::int64_t>& counts() {
  static const std::vector<std::int64_t> all{0,   1,   2,   3,   4,     5,     7,     15,    16,
                                             17,  31,  32,  33,  63,    65,    127,   255,   256,
                                             257, 511, 513, 767, 1'023, 1'025, 2'047, 4'099, 9'001};
  return all;
}

/// Runs `gather(composite, state)` in every thread of every grid, and looks at what was visited.
template <class T = std::int64_t, class Reducer = record<T>, class Gather>
void expect_coverage(std::int64_t first, std::int64_t count, const std::string& name, const Gather& gather) {
  for (const auto [blocks, threads] : grids()) {
    std::vector<std::uint8_t> visits(static_cast<std::size_t>(count) + 1, 0);
    bool wrong = false;
    std::int64_t total = 0;
    const auto c = fanin::detail::make_composite(Reducer{visits.data(), first, &wrong});
    for_every_thread(blocks, threads, [&] {
      auto spill = c.identity();
      auto state = c.begin(spill);
      gather(c, state);
      total += fanin::get<0>(state);
    });
    const auto where = name + ", " + std::to_string(blocks) + " blocks of " + std::to_string(threads) +
                       ", n = " + std::to_string(count);
    EXPECT_EQ(total, count) << where;
    EXPECT_FALSE(wrong) << where << ": an element under another one's index";
    for (std::int64_t i = 0; i < count; ++i) {
      ASSERT_EQ(visits[static_cast<std::size_t>(i)], 1) << where << ": index " << i;
    }
    EXPECT_EQ(visits.back(), 0) << where << ": beyond the end";
  }
}

using fanin::detail::index_source;
using fanin::detail::make_span_source;

TEST(gather_coverage, grid_stride) {
  for (const std::int64_t first : {std::int64_t{0}, std::int64_t{-5}, std::int64_t{1} << 40}) {
    for (const std::int64_t count : counts()) {
      const index_source<index_itself> source{{}, first, count};
      expect_coverage(first, count, "grid_stride",
                      [&](const auto& c, auto& state) { fanin::detail::gather_grid_stride(source, c, state); });
    }
  }
}

/// Runs fold_n in as many blocks as `chunks` chunks need, and looks at what was visited.
void check_fold_n(std::int64_t first, std::int64_t count, unsigned threads, int chunks) {
  const index_source<index_itself> source{{}, first, count};
  const std::int64_t of_block = static_cast<std::int64_t>(threads) * chunks;
  const auto blocks = static_cast<unsigned>((count + of_block - 1) / of_block);
  std::vector<std::uint8_t> visits(static_cast<std::size_t>(count) + 1, 0);
  bool wrong = false;
  const auto c = fanin::detail::make_composite(record<std::int64_t>{visits.data(), first, &wrong});
  for_every_thread(blocks, threads, [&] {
    auto spill = c.identity();
    auto state = c.begin(spill);
    fanin::detail::gather_fold_n(source, c, state, chunks);
  });
  EXPECT_FALSE(wrong);
  for (std::int64_t i = 0; i <= count; ++i) {
    ASSERT_EQ(visits[static_cast<std::size_t>(i)], i < count ? 1 : 0)
        << "fold_n, " << chunks << " chunks, " << blocks << " blocks of " << threads << ", index " << i << " of "
        << count;
  }
}

/// With one chunk this is `one`.
TEST(gather_coverage, fold_n) {
  for (const std::int64_t first : {std::int64_t{0}, std::int64_t{-5}, std::int64_t{1} << 40}) {
    for (const std::int64_t count : counts()) {
      for (const unsigned threads : {32U, 96U, 256U}) {
        for (const int chunks : {1, 2, 3, 4, 8, 16}) check_fold_n(first, count, threads, chunks);
      }
    }
  }
}

TEST(gather_coverage, indices_in_flight) {
  for (const std::int64_t first : {std::int64_t{0}, std::int64_t{-5}, std::int64_t{1} << 40}) {
    for (const std::int64_t count : counts()) {
      const index_source<index_itself> source{{}, first, count};
      expect_coverage(first, count, "8 indices",
                      [&](const auto& c, auto& state) { fanin::detail::gather_vectorised<8>(source, c, state); });
      expect_coverage(first, count, "1 index",
                      [&](const auto& c, auto& state) { fanin::detail::gather_vectorised<1>(source, c, state); });
    }
  }
}

/// Elements hold their own index, so that a value from elsewhere shows; every start that an array can have.
template <class T>
void check_vectors(const char* name) {
  for (std::size_t offset = 0; offset < 16 / sizeof(T) + 2; ++offset) {
    for (const std::int64_t count : counts()) {
      if (count > std::numeric_limits<T>::max()) continue;
      std::vector<T> memory(offset + static_cast<std::size_t>(count) + 16, T{0});
      T* const x = memory.data() + offset;
      for (std::int64_t i = 0; i < count; ++i) x[i] = static_cast<T>(i);
      const auto source = make_span_source<T>(x, count);
      static_assert(source.has_vectors);
      const auto where = std::string(name) + " from element " + std::to_string(offset);
      expect_coverage(0, count, where + ", 4 loads",
                      [&](const auto& c, auto& state) { fanin::detail::gather_vectorised<4>(source, c, state); });
      expect_coverage(0, count, where + ", 1 load",
                      [&](const auto& c, auto& state) { fanin::detail::gather_vectorised<1>(source, c, state); });
      expect_coverage(0, count, where + ", strided",
                      [&](const auto& c, auto& state) { fanin::detail::gather_grid_stride(source, c, state); });
    }
  }
}

/// By one block, also of more elements than have numbers at once.
TEST(gather_coverage, alone) {
  const auto by_first_block = [](const auto& gather) {
    return [&gather](const auto& c, auto& state) {
      if (blockIdx.x == 0) gather(c, state);
    };
  };
  for (const std::int64_t count : counts()) {
    const index_source<index_itself> source{{}, -5, count};
    expect_coverage(-5, count, "4 indices alone", by_first_block([&](const auto& c, auto& state) {
      fanin::detail::gather_alone<4>(source, c, state);
    }));
    expect_coverage(-5, count, "4 indices alone, 100 at once", by_first_block([&](const auto& c, auto& state) {
      fanin::detail::gather_alone<4, 100>(source, c, state);
    }));
    for (std::size_t offset = 0; offset < 3; ++offset) {
      std::vector<std::int64_t> memory(offset + static_cast<std::size_t>(count) + 1);
      for (std::int64_t i = 0; i < count; ++i) memory[offset + static_cast<std::size_t>(i)] = i;
      const auto span = make_span_source<std::int64_t>(memory.data() + offset, count);
      expect_coverage(
          0, count, "4 vectors alone, from element " + std::to_string(offset),
          by_first_block([&](const auto& c, auto& state) { fanin::detail::gather_alone<4>(span, c, state); }));
    }
  }
}

/// By all threads there are, of one row: in the order of steps, or in rounds with half of one.
TEST(gather_coverage, steps_and_rounds) {
  for (const std::int64_t count : counts()) {
    const index_source<index_itself> source{{}, -5, count};
    const auto by_steps = [&](const auto& gather) {
      return [&gather](const auto& c, auto& state) {
        gather(c, state, static_cast<std::int64_t>(blockIdx.x * blockDim.x + threadIdx.x),
               static_cast<std::int64_t>(gridDim.x * blockDim.x));
      };
    };
    expect_coverage(-5, count, "steps of 4",
                    by_steps([&](const auto& c, auto& state, std::int64_t mine, std::int64_t step) {
                      fanin::detail::gather_in_steps<4>(source, c, state, mine, step, count);
                    }));
    expect_coverage(-5, count, "rounds of 8",
                    by_steps([&](const auto& c, auto& state, std::int64_t mine, std::int64_t step) {
                      fanin::detail::gather_in_rounds<8>(source, c, state, mine, step, count);
                    }));
    expect_coverage(-5, count, "rounds of 16",
                    by_steps([&](const auto& c, auto& state, std::int64_t mine, std::int64_t step) {
                      fanin::detail::gather_in_rounds<16>(source, c, state, mine, step, count);
                    }));
  }
}

TEST(gather_coverage, tiles_by_level) {
  using by_level = record_by_level<std::int64_t>;
  using batch = fanin::tile_batch<4, 2, std::int64_t>;
  static_assert(fanin::detail::composite<by_level>::has_levels<batch>);
  static_assert(!fanin::detail::composite<record<std::int64_t>>::has_levels<batch>);
  for (const std::int64_t count : counts()) {
    const index_source<index_itself> source{{}, -5, count};
    expect_coverage<std::int64_t, by_level>(-5, count, "8 indices", [&](const auto& c, auto& state) {
      fanin::detail::gather_vectorised<8>(source, c, state);
    });
    for (std::size_t offset = 0; offset < 3; ++offset) {
      std::vector<std::int64_t> memory(offset + static_cast<std::size_t>(count) + 1);
      for (std::int64_t i = 0; i < count; ++i) memory[offset + static_cast<std::size_t>(i)] = i;
      const auto span = make_span_source<std::int64_t>(memory.data() + offset, count);
      expect_coverage<std::int64_t, by_level>(
          0, count, "by vectors from element " + std::to_string(offset),
          [&](const auto& c, auto& state) { fanin::detail::gather_vectorised<4>(span, c, state); });
    }
  }
}

TEST(gather_coverage, vectors_of_8_bytes) { check_vectors<std::int64_t>("int64"); }
TEST(gather_coverage, vectors_of_4_bytes) { check_vectors<std::int32_t>("int32"); }
TEST(gather_coverage, vectors_of_2_bytes) { check_vectors<std::int16_t>("int16"); }
TEST(gather_coverage, vectors_of_1_byte) { check_vectors<std::int8_t>("int8"); }

// --- Which source an array has, and that it gives every element -------------------------------------

using fanin::detail::element_at;
using fanin::detail::span_source;
using fanin::detail::span_transform;
using fanin::detail::transformed_source;
using fanin::detail::wide_element_at;
using fanin::detail::with_span_source;

/// Elements that hold their index, `start` bytes behind an address that is a multiple of 16.
template <class T>
class indices_at {
 public:
  indices_at(std::size_t start, std::int64_t count)
      : memory_((start + static_cast<std::size_t>(count) * sizeof(T)) / 16 + 2) {
    data_ = reinterpret_cast<T*>(reinterpret_cast<unsigned char*>(memory_.data()) + start);
    for (std::int64_t i = 0; i < count; ++i) data_[i] = made_of<T>::index(i);
  }
  const T* data() const { return data_; }

 private:
  struct alignas(16) block {
    unsigned char byte[16];
  };
  std::vector<block> memory_;
  T* data_;
};

/// Every way of gathering of a source, with two numbers of loads.
template <class T, class Source>
void expect_all_of(const Source& source, const std::string& name) {
  expect_coverage<T>(0, source.count, name + ", 4",
                     [&](const auto& c, auto& state) { fanin::detail::gather_vectorised<4>(source, c, state); });
  expect_coverage<T>(0, source.count, name + ", 2",
                     [&](const auto& c, auto& state) { fanin::detail::gather_vectorised<2>(source, c, state); });
  expect_coverage<T>(0, source.count, name + ", strided",
                     [&](const auto& c, auto& state) { fanin::detail::gather_grid_stride(source, c, state); });
}

/// That an array which starts `start` bytes behind a multiple of 16 is gathered from Expected, and wholly.
template <class Expected, class T>
void expect_span_source(std::size_t start) {
  const auto name = std::to_string(sizeof(T)) + " bytes from byte " + std::to_string(start);
  for (const std::int64_t count : counts()) {
    if (count > 5'000) continue;
    const indices_at<T> x(start, count);
    with_span_source(x.data(), count, [&](const auto& source) {
      using source_type = std::remove_cvref_t<decltype(source)>;
      const bool is_expected = std::is_same_v<source_type, Expected>;
      ASSERT_TRUE(is_expected) << name;
      expect_all_of<T>(source, name);
      if constexpr (source_type::has_vectors) {
        ASSERT_LE(source.head, count);
        const auto address = reinterpret_cast<std::uintptr_t>(x.data() + source.head);
        if (source.vectors() > 0) {
          ASSERT_EQ(address % 16, 0U) << name;
        }
      }
    });
  }
}

TEST(gather_sources, of_spans_whose_type_says_all) {
  for (const std::size_t start : {0U, 4U, 8U, 12U}) expect_span_source<span_source<std::int32_t>, std::int32_t>(start);
  for (const std::size_t start : {0U, 8U}) expect_span_source<span_source<double>, double>(start);
  using wide = parts<32, 16>;
  using narrow = parts<12, 4>;
  expect_span_source<index_source<wide_element_at<wide>>, wide>(0);
  for (const std::size_t start : {0U, 4U, 8U}) expect_span_source<index_source<element_at<narrow>>, narrow>(start);
}

/// std::complex<float> has 8 bytes and the alignment of 4.
TEST(gather_sources, of_spans_whose_address_decides) {
  using complex = std::complex<float>;
  expect_span_source<span_source<complex>, complex>(0);
  expect_span_source<span_source<complex>, complex>(8);
  expect_span_source<index_source<element_at<complex>>, complex>(4);
  expect_span_source<index_source<element_at<complex>>, complex>(12);
  using wide_complex = std::complex<double>;
  expect_span_source<span_source<wide_complex>, wide_complex>(0);
  expect_span_source<index_source<element_at<wide_complex>>, wide_complex>(8);
  using six_doubles = parts<48, 8>;
  expect_span_source<index_source<wide_element_at<six_doubles>>, six_doubles>(0);
  expect_span_source<index_source<element_at<six_doubles>>, six_doubles>(8);
  using cache_line = parts<64, 4>;
  expect_span_source<index_source<wide_element_at<cache_line>>, cache_line>(0);
  for (const std::size_t start : {4U, 8U, 12U}) {
    expect_span_source<index_source<element_at<cache_line>>, cache_line>(start);
  }
}

/// An address that no element can have is refused in words; nothing is asked of an empty array's.
/// Misaligned ones are refused before (tests/contract/arguments.hpp).
TEST(gather_sources, of_no_span) {
  bool called = false;
  with_span_source(static_cast<const double*>(nullptr), 0, [&](const auto& source) { called = source.count == 0; });
  EXPECT_TRUE(called);
}

/// The index that all arguments hold, or -1 where they are not of one index.
struct index_in_all {
  template <class... T>
  std::int64_t operator()(const T&... x) const {
    const std::int64_t all[] = {index_in(x)...};
    for (const std::int64_t one : all) {
      if (one != all[0]) return -1;
    }
    return all[0];
  }
};

template <class F, class Use>
void with_index_source(const F& f, std::int64_t first, std::int64_t count, const Use& use) {
  using composite = fanin::detail::composite<fanin::sum<std::int64_t>>;
  fanin::detail::with_index_source<fanin::cuda_strategy::one_pass, composite>(f, first, count, use);
}

/// f over arrays that start so many bytes behind a multiple of 16 each.
template <template <class, class...> class Expected, class... T, std::size_t... I>
void expect_transform_source(std::index_sequence<I...>, const std::array<std::size_t, sizeof...(T)>& starts) {
  using transform = span_transform<index_in_all, T...>;
  using expected = Expected<index_in_all, T...>;
  std::string name = "f of arrays from bytes";
  for (const std::size_t start : starts) name.append(1, ' ').append(std::to_string(start));
  for (const std::int64_t count : counts()) {
    if (count > 5'000 || ((sizeof(T) == 1 && count > 127) || ...)) continue;
    const fanin::tuple<indices_at<T>...> x{indices_at<T>(starts[I], count)...};
    const transform f{{}, {fanin::get<I>(x).data()...}};
    with_index_source(f, 0, count, [&](const auto& source) {
      const bool is_expected = std::is_same_v<std::remove_cvref_t<decltype(source)>, expected>;
      ASSERT_TRUE(is_expected) << name;
      expect_all_of<std::int64_t>(source, name);
    });
  }
}

template <class F, class... T>
using by_vectors = transformed_source<F, T...>;
template <class F, class... T>
using by_elements = index_source<span_transform<F, T...>>;

template <template <class, class...> class Expected, class... T>
void expect_transform_source(const std::array<std::size_t, sizeof...(T)>& starts) {
  expect_transform_source<Expected, T...>(std::index_sequence_for<T...>{}, starts);
}

TEST(gather_sources, of_transforms_by_vectors) {
  for (const std::size_t start : {0U, 4U, 8U, 12U}) {
    expect_transform_source<by_vectors, std::int32_t>({start});
    expect_transform_source<by_vectors, std::int32_t, std::int32_t>({start, start + 16});
    expect_transform_source<by_vectors, float, std::int32_t>({start + 16, start});
    expect_transform_source<by_vectors, std::int32_t, std::uint32_t, std::int32_t>({start, start, start});
  }
  for (const std::size_t start : {0U, 8U}) {
    expect_transform_source<by_vectors, std::complex<float>, std::int64_t>({start, start});
    expect_transform_source<by_vectors, std::int64_t, std::uint64_t, std::int64_t>({start, start, start});
  }
  for (const std::size_t start : {0U, 1U, 15U})
    expect_transform_source<by_vectors, std::int8_t, std::uint8_t>({start, start});
  expect_transform_source<by_vectors, std::complex<double>, std::complex<double>>({0, 0});
}

TEST(gather_sources, of_transforms_by_elements) {
  // Addresses that differ modulo 16,
  expect_transform_source<by_elements, std::int32_t, std::int32_t>({0, 4});
  expect_transform_source<by_elements, std::int64_t, std::int64_t>({8, 0});
  expect_transform_source<by_elements, std::int32_t, std::int32_t, std::int32_t>({4, 4, 12});
  // elements of different sizes,
  expect_transform_source<by_elements, float, double>({0, 0});
  expect_transform_source<by_elements, std::uint8_t, std::int64_t>({0, 0});
  // no multiple of the elements' size,
  expect_transform_source<by_elements, std::complex<float>, std::complex<float>>({4, 4});
  expect_transform_source<by_elements, std::complex<double>>({8});
  // and a size that no vector has.
  expect_transform_source<by_elements, parts<12, 4>>({0});
  expect_transform_source<by_elements, parts<64, 4>>({0});
}

/// Indices from elsewhere than 0 go through the functor, whatever the addresses.
TEST(gather_sources, of_other_first_indices) {
  const indices_at<std::int32_t> x(0, 1'000);
  const indices_at<std::int32_t> y(0, 1'000);
  const span_transform<index_in_all, std::int32_t, std::int32_t> f{{}, {x.data(), y.data()}};
  with_index_source(f, 100, 900, [&](const auto& source) {
    const bool is_expected =
        std::is_same_v<std::remove_cvref_t<decltype(source)>, index_source<std::remove_const_t<decltype(f)>>>;
    EXPECT_TRUE(is_expected);
    expect_coverage(100, 900, "from index 100",
                    [&](const auto& c, auto& state) { fanin::detail::gather_vectorised<8>(source, c, state); });
  });
  with_index_source(index_itself{}, -7, 900, [&](const auto& source) {
    const bool is_expected = std::is_same_v<std::remove_cvref_t<decltype(source)>, index_source<index_itself>>;
    EXPECT_TRUE(is_expected);
    expect_coverage(-7, 900, "from index -7",
                    [&](const auto& c, auto& state) { fanin::detail::gather_vectorised<8>(source, c, state); });
  });
}

}  // namespace
}  // namespace fanin_test
