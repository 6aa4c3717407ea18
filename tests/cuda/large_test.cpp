// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <fanin/axes.hpp>
#include <fanin/runs.hpp>
#include <fanin/segments.hpp>

#include "cuda/gpu_test.hpp"
#include "cuda/segment_lanes.hpp"

/// Arrays of more than 2^31 and 2^32 elements, where the GPU has the memory.
namespace fanin_test {
namespace {

class cuda_large : public gpu_test {
 protected:
  static bool has_room(std::size_t bytes) {
    std::size_t free = 0;
    std::size_t total = 0;
    check(cudaMemGetInfo(&free, &total));
    return free > bytes + (std::size_t{1} << 29);
  }
  template <class T>
  static fanin::buffer<T, fanin::cuda> on_gpu(const fanin::cuda& gpu, const std::vector<T>& host) {
    fanin::buffer<T, fanin::cuda> made(gpu, std::ssize(host));
    made.copy_from(host);
    return made;
  }
};

/// x[i] = i mod 2^32 in 32 bits: a dropped or doubled element changes the sum.
struct write_low_word {
  std::uint32_t* x;
  FANIN_FUNCTION void operator()(std::int64_t i) const { x[i] = static_cast<std::uint32_t>(i); }
};

struct write_byte {
  std::uint8_t* x;
  std::int64_t last;
  FANIN_FUNCTION void operator()(std::int64_t i) const {
    x[i] = i == last ? std::uint8_t{200} : static_cast<std::uint8_t>(mix(static_cast<std::uint64_t>(i)) % 199);
  }
};

struct one_of_each {
  FANIN_FUNCTION double operator()(std::int64_t, std::int64_t) const { return 1.0; }
};

/// So many that a block's rounds are whole lines of memory; the last rows are part of one. Modulo the numbers of T.
template <class T>
struct small_of_each {
  FANIN_FUNCTION T operator()(std::int64_t i, std::int64_t j) const {
    return static_cast<T>(i % 1'000) + static_cast<T>(j) * T{1'000'000};
  }
};
template <class T>
void expect_few_columns() {
  const fanin::cuda gpu;
  for (const std::int64_t m : {3, 7, 9, 15, 24, 80, 200}) {
    for (const std::int64_t n : {((std::int64_t{1} << 26) - 1) / m, ((std::int64_t{1} << 26) - 1) / m + 1}) {
      fanin::buffer<T, fanin::cuda> sums(gpu, m);
      fanin::parallel_reduce_into(sums.data(), fanin::columns(gpu, n, m), small_of_each<T>{}, fanin::sum<T>{});
      const std::int64_t of_column = n / 1'000 * (999 * 500) + (n % 1'000) * (n % 1'000 - 1) / 2;
      std::vector<T> found(static_cast<std::size_t>(m));
      sums.copy_to(std::span(found));
      for (std::int64_t j = 0; j < m; ++j) {
        EXPECT_EQ(found[static_cast<std::size_t>(j)], static_cast<T>(of_column + j * 1'000'000 * n)) << m << " columns";
      }
    }
  }
}
TEST_F(cuda_large, a_few_columns_of_many_elements) {
  expect_few_columns<std::uint32_t>();
  expect_few_columns<std::uint64_t>();
}

TEST_F(cuda_large, words_beyond_two_to_the_31) {
  const std::int64_t n = (std::int64_t{1} << 31) + 3;
  if (!has_room(static_cast<std::size_t>(n) * 4)) GTEST_SKIP() << "8.6 GB of GPU memory are not free";
  fanin::cuda gpu;
  fanin::buffer<std::uint32_t, fanin::cuda> x(gpu, n);
  fanin::parallel_for(fanin::range(gpu, n), write_low_word{x.data()});
  // The sum of i, modulo 2^32.
  const auto expected =
      static_cast<std::uint32_t>(static_cast<std::uint64_t>((n - 1) / 2) * static_cast<std::uint64_t>(n));
  EXPECT_EQ(fanin::reduce(gpu, x, fanin::sum<std::uint32_t>{}), expected);
  const auto most = fanin::reduce(gpu, x, fanin::max_loc<std::uint32_t>{});
  EXPECT_EQ(most.value, static_cast<std::uint32_t>(n - 1));
  EXPECT_EQ(most.index, n - 1);
  const auto by_functor = fanin::parallel_reduce(fanin::range(gpu, n), at<std::uint32_t>{x.data()},
                                                 fanin::sum<std::uint32_t>{}, fanin::max_loc<std::uint32_t>{});
  EXPECT_EQ(fanin::get<0>(by_functor), expected);
  EXPECT_EQ(fanin::get<1>(by_functor).index, n - 1);
  const auto tree = gpu.with<fanin::cuda_strategy::shared_tree>();
  EXPECT_EQ(fanin::reduce(tree, x, fanin::sum<std::uint32_t>{}), expected);
  const auto shuffle = gpu.with<fanin::cuda_strategy::shuffle>();
  EXPECT_EQ(fanin::reduce(shuffle, x, fanin::sum<std::uint32_t>{}), expected);
  // From an odd start.
  EXPECT_EQ(fanin::reduce(gpu, x.span().subspan(3), fanin::sum<std::uint32_t>{}), expected - 3);
}

TEST_F(cuda_large, bytes_beyond_two_to_the_32) {
  const std::int64_t n = (std::int64_t{1} << 32) + 5;
  if (!has_room(static_cast<std::size_t>(n))) GTEST_SKIP() << "4.3 GB of GPU memory are not free";
  fanin::cuda gpu;
  fanin::buffer<std::uint8_t, fanin::cuda> x(gpu, n);
  fanin::parallel_for(fanin::range(gpu, n), write_byte{x.data(), n - 2});
  const auto most = fanin::reduce(gpu, x, fanin::max_loc<std::uint8_t>{});
  EXPECT_EQ(most.value, 200);
  EXPECT_EQ(most.index, n - 2);
  // Halves by spans, and the whole by a functor: the same sum on different ways.
  const auto span = x.span();
  const auto half = static_cast<std::size_t>(n / 2);
  const auto left = fanin::reduce(gpu, span.first(half), fanin::sum<std::uint64_t>{});
  const auto right = fanin::reduce(gpu, span.subspan(half), fanin::sum<std::uint64_t>{});
  EXPECT_EQ(fanin::parallel_reduce(fanin::range(gpu, n), at<std::uint8_t>{x.data()}, fanin::sum<std::uint64_t>{}),
            left + right);
}

/// x[k], where k is in the segment that it should be in.
struct number_of_segment {
  const std::int32_t* segment_of;
  const float* x;
  FANIN_FUNCTION float operator()(std::int64_t s, std::int64_t k) const { return s == segment_of[k] ? x[k] : 1e30F; }
};

/// So many that each warp has one for each lane; mostly short ones, some that a warp or several blocks take.
TEST_F(cuda_large, segments_for_all_lanes) {
  std::vector<std::int64_t> offsets{5};
  std::vector<float> x(5);
  std::vector<std::int32_t> segment_of(5, -1);
  for (std::uint64_t s = 0; s < 700'000; ++s) {
    const std::uint64_t draw = mix(s);
    const std::uint64_t most = draw % 3'000 == 0 ? 20'000 : draw % 16 == 0 ? 200 : 4 + s / 10'000;
    for (std::uint64_t k = 0; k < draw / 4'096 % most; ++k) x.push_back(static_cast<float>(mix(x.size()) % 65'536) / 7);
    segment_of.resize(x.size(), static_cast<std::int32_t>(s));
    offsets.push_back(static_cast<std::int64_t>(x.size()));
  }
  fanin::cuda gpu;
  const auto offsets_there = on_gpu(gpu, offsets);
  const auto x_there = on_gpu(gpu, x);
  const auto segment_there = on_gpu(gpu, segment_of);
  const std::size_t n = offsets.size() - 1;
  fanin::buffer<float, fanin::cuda> out(gpu, static_cast<std::int64_t>(n));
  fanin::buffer<float, fanin::cuda> out_of_data(gpu, static_cast<std::int64_t>(n));
  fanin::parallel_reduce_into(out.data(), fanin::segments(gpu, offsets_there.span()),
                              number_of_segment{segment_there.data(), x_there.data()}, fanin::sum<float>{});
  fanin::reduce_into(out_of_data.data(), gpu, fanin::segments(x_there.span(), offsets_there.span()),
                     fanin::sum<float>{});
  std::vector<float> got(n);
  std::vector<float> got_of_data(n);
  out.copy_to(std::span(got));
  out_of_data.copy_to(std::span(got_of_data));
  for (std::size_t s = 0; s < n; ++s) {
    const std::int64_t count = offsets[s + 1] - offsets[s];
    const float expected = sum_by_lanes(x.data() + offsets[s], count);
    if (count <= 4'096) {
      ASSERT_EQ(got[s], expected) << "segment " << s << " of " << count << " elements";
      ASSERT_EQ(got_of_data[s], expected) << "segment " << s << " of " << count << " elements of an array";
    } else {
      ASSERT_NEAR(got[s], expected, 1e-5F * expected) << "segment " << s << " of " << count << " elements";
      ASSERT_NEAR(got_of_data[s], expected, 1e-5F * expected) << "segment " << s << " of " << count << " of an array";
    }
  }
}

struct product_of_two {
  const float* a;
  const float* b;
  FANIN_FUNCTION float operator()(std::int64_t k) const { return a[k] * b[k]; }
};
struct product_in_segment : product_of_two {
  FANIN_FUNCTION float operator()(std::int64_t, std::int64_t k) const { return a[k] * b[k]; }
};

/// A product is rounded before it is added, by whoever adds: the bits are the same in a call of many segments, of few,
/// and of runs, but those of 17 to 128 and of more than 4096.
TEST_F(cuda_large, products_have_the_bits_of_their_elements) {
  std::vector<std::int64_t> offsets{0};
  std::vector<float> a;
  std::vector<float> b;
  std::vector<std::int32_t> keys;
  for (std::uint64_t s = 0; s < 40'000; ++s) {
    const std::uint64_t draw = mix(s);
    const std::uint64_t most = draw % 400 == 0 ? 6'000 : draw % 16 == 0 ? 300 : 40;
    for (std::uint64_t k = 0; k <= draw / 4'096 % most; ++k) {
      a.push_back(static_cast<float>(mix(a.size()) % 65'536) / 7);
      b.push_back(static_cast<float>(mix(a.size()) / 65'536 % 65'536) / 11);
      keys.push_back(static_cast<std::int32_t>(s));
    }
    offsets.push_back(static_cast<std::int64_t>(a.size()));
  }
  fanin::cuda gpu;
  const auto offsets_there = on_gpu(gpu, offsets);
  const auto a_there = on_gpu(gpu, a);
  const auto b_there = on_gpu(gpu, b);
  const auto keys_there = on_gpu(gpu, keys);
  const product_of_two of_run{a_there.data(), b_there.data()};
  const product_in_segment f{of_run};
  const std::size_t n = offsets.size() - 1;
  const auto to_host = [](const auto& there) {
    std::vector<float> host(static_cast<std::size_t>(there.size()));
    there.copy_to(std::span(host));
    return host;
  };
  fanin::buffer<float, fanin::cuda> out(gpu, static_cast<std::int64_t>(n));
  fanin::parallel_reduce_into(out.data(), fanin::segments(gpu, offsets_there.span()), f, fanin::sum<float>{});
  EXPECT_EQ(gpu.last_launch().launches, 2);
  const std::vector<float> of_many = to_host(out);
  for (std::size_t s = 0; s + 100 <= n; s += 100) {
    fanin::parallel_reduce_into(out.data() + s, fanin::segments(gpu, offsets_there.span().subspan(s, 101)), f,
                                fanin::sum<float>{});
  }
  EXPECT_EQ(gpu.last_launch().launches, 1);
  EXPECT_EQ(to_host(out), of_many);
  fanin::buffer<std::int32_t, fanin::cuda> to_keys(gpu, static_cast<std::int64_t>(n));
  ASSERT_EQ(fanin::parallel_reduce(fanin::runs_to(to_keys.span(), out.span()), fanin::runs(gpu, keys_there.span()),
                                   of_run, fanin::sum<float>{}),
            static_cast<std::int64_t>(n));
  const std::vector<float> of_runs = to_host(out);
  for (std::size_t s = 0; s < n; ++s) {
    const std::int64_t count = offsets[s + 1] - offsets[s];
    if (count <= 16 || (count > 128 && count <= 4'096)) {
      ASSERT_EQ(of_runs[s], of_many[s]) << "run " << s << " of " << count << " elements";
    }
  }
}

/// One block has all of them: a segment, and a row, of a reducer whose state stays with the block.
TEST_F(cuda_large, a_segment_beyond_two_to_the_32) {
  const std::int64_t n = (std::int64_t{1} << 32) + 5;
  fanin::cuda gpu;
  fanin::buffer<std::int64_t, fanin::cuda> offsets(gpu, 2);
  const std::int64_t bounds[] = {0, n};
  offsets.copy_from(bounds);
  fanin::buffer<double, fanin::cuda> out(gpu, 1);
  fanin::parallel_reduce_into(out.data(), fanin::segments(gpu, offsets.span()), one_of_each{},
                              fanin::exact_sum<double>{});
  double got = 0;
  out.copy_to(std::span(&got, 1));
  EXPECT_EQ(got, static_cast<double>(n));
}

/// 0 up to `singles`, then another one at each.
struct write_key {
  std::uint8_t* x;
  std::int64_t singles;
  FANIN_FUNCTION void operator()(std::int64_t i) const {
    x[i] = i < singles ? std::uint8_t{0} : static_cast<std::uint8_t>(1 + i % 2);
  }
};

/// A giant run, and short ones behind 2^32.
TEST_F(cuda_large, runs_beyond_two_to_the_32) {
  constexpr std::int64_t singles = (std::int64_t{1} << 32) + 77;
  constexpr std::int64_t n = singles + 600;
  if (!has_room(static_cast<std::size_t>(n) * 2)) GTEST_SKIP() << "8.6 GB of GPU memory are not free";
  fanin::cuda gpu;
  fanin::buffer<std::uint8_t, fanin::cuda> keys(gpu, n);
  fanin::parallel_for(fanin::range(gpu, n), write_key{keys.data(), singles});
  fanin::buffer<std::uint8_t, fanin::cuda> to_keys(gpu, 700);
  fanin::buffer<std::uint64_t, fanin::cuda> sums(gpu, 700);
  EXPECT_EQ(fanin::parallel_reduce(fanin::runs_to(to_keys, sums), fanin::runs(gpu, keys), index_itself{},
                                   fanin::sum<std::uint64_t>{}),
            601);
  std::vector<std::uint64_t> got(700);
  sums.copy_to(got);
  EXPECT_EQ(got[0], static_cast<std::uint64_t>(singles) * static_cast<std::uint64_t>((singles - 1) / 2));
  for (std::size_t k = 1; k <= 600; ++k) EXPECT_EQ(got[k], static_cast<std::uint64_t>(singles) + k - 1);
}

}  // namespace
}  // namespace fanin_test
