// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cuda/gpu_test.hpp"

/// Blocking calls: partial results that the host joins, the mailbox they come by, and what the object keeps for it.
namespace fanin_test {
namespace {

using cuda_blocking = gpu_test;

/// Around what a warp joins, what is posted of one word each, and of several.
const std::vector<int>& telling_grids() {
  static const std::vector<int> all{1,  2,  3,  17, 31,  32,  33,  34,  35,  63,  64,
                                    65, 84, 85, 86, 100, 127, 128, 129, 130, 257, 1'000};
  return all;
}

/// reduce() and reduce_into() of the same elements, tuning and reducers: the same bits.
template <class View, class T, class... Reducer>
void expect_the_same_bits(fanin::cuda& gpu, const View& view, std::span<const T> x, const std::string& name,
                          const Reducer&... reducers) {
  using result = fanin::detail::result_t<Reducer...>;
  destination<result, fanin::cuda> out(gpu);
  fanin::reduce_into(out.pointer(), view, x, reducers...);
  const fanin::cuda_launch ordered = gpu.last_launch();
  const result got = fanin::reduce(view, x, reducers...);
  EXPECT_EQ(gpu.last_launch(), ordered) << name;
  ASSERT_TRUE(is_same(got, out.get())) << name << ", grid " << ordered.grid_size << " of " << ordered.block_size;
}

template <class T, class... Reducer>
void check_every_grid(const Reducer&... reducers) {
  fanin::cuda gpu;
  const std::size_t n = 400'003;
  const placed<T, fanin::cuda> x(gpu, make_data<T>(data::random_signed, n), 1);
  for (const int grid : telling_grids()) {
    for (const int block : {32, 96, 512, 1024}) {
      expect_the_same_bits(gpu, gpu.with({.block_size = block, .grid_size = grid}), x.span(), "n = 400'003",
                           reducers...);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
  // The plan's own grids: every size of a few thousand, and larger steps.
  for (std::size_t part = 1; part <= n; part += part / 64 + 1) {
    expect_the_same_bits(gpu, gpu.with(), x.span().first(part), "n = " + std::to_string(part), reducers...);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST_F(cuda_blocking, float_sums_are_those_of_the_into_form) { check_every_grid<float>(fanin::sum<float>{}); }
TEST_F(cuda_blocking, double_sums_are_those_of_the_into_form) { check_every_grid<double>(fanin::sum<double>{}); }
/// Of six words a block, fewer blocks post.
TEST_F(cuda_blocking, several_reducers_are_those_of_the_into_form) {
  check_every_grid<double>(fanin::sum<double>{}, fanin::min_loc<double>{});
}

/// Values whose gaps nobody sets: a word and a byte in 16 bytes; a byte, a gap, two bytes, a gap, 8 bytes.
struct alignas(16) word_and_byte {
  std::uint32_t word;
  std::uint8_t byte;
  friend bool operator==(const word_and_byte&, const word_and_byte&) = default;
};
struct with_gaps {
  std::uint8_t byte;
  std::uint16_t two;
  std::uint64_t eight;
  friend bool operator==(const with_gaps&, const with_gaps&) = default;
};
FANIN_FUNCTION void add_to(word_and_byte& into, const word_and_byte& from) {
  into.word += from.word;
  into.byte = static_cast<std::uint8_t>(into.byte + from.byte);
}
FANIN_FUNCTION void add_to(with_gaps& into, const with_gaps& from) {
  into.byte = static_cast<std::uint8_t>(into.byte + from.byte);
  into.two = static_cast<std::uint16_t>(into.two + from.two);
  into.eight += from.eight;
}
FANIN_FUNCTION void set_to(word_and_byte& value, std::uint64_t i) {
  value.word = static_cast<std::uint32_t>(i * 2'654'435'761u);
  value.byte = static_cast<std::uint8_t>(i % 251);
}
FANIN_FUNCTION void set_to(with_gaps& value, std::uint64_t i) {
  value.byte = static_cast<std::uint8_t>(i % 251);
  value.two = static_cast<std::uint16_t>(i * 40'503u);
  value.eight = i * 0x9e37'79b9'7f4a'7c15u;
}
template <class T>
struct member_sums {
  using value_type = T;
  FANIN_FUNCTION T identity() const {
    T value;
    set_to(value, 0);
    return value;
  }
  FANIN_FUNCTION void join(T& into, const T& from) const { add_to(into, from); }
};
template <class T>
struct member_values {
  FANIN_FUNCTION T operator()(std::int64_t i) const {
    T value;
    set_to(value, static_cast<std::uint64_t>(i));
    return value;
  }
};

template <class T>
void expect_values_with_gaps(fanin::cuda& gpu, const char* type) {
  const member_sums<T> by;
  T expected = by.identity();
  std::int64_t done = 0;
  destination<T, fanin::cuda> out(gpu);
  for (const std::int64_t n : {0, 1, 31, 32, 33, 127, 129, 255, 300, 511, 1'023, 4'097, 20'000, 200'001}) {
    for (; done < n; ++done) add_to(expected, member_values<T>{}(done));
    const auto range = fanin::range(gpu, n);
    EXPECT_EQ(fanin::parallel_reduce(range, member_values<T>{}, by), expected) << type << ", n = " << n;
    EXPECT_EQ(fanin::parallel_reduce_async(range, member_values<T>{}, by).get(), expected) << type << ", n = " << n;
    fanin::parallel_reduce_into(out.pointer(), range, member_values<T>{}, by);
    EXPECT_EQ(out.get(), expected) << type << ", n = " << n;
  }
}
TEST_F(cuda_blocking, values_with_gaps) {
  fanin::cuda gpu;
  for (int k = 0; k < 20; ++k) {
    expect_values_with_gaps<word_and_byte>(gpu, "a word and a byte");
    expect_values_with_gaps<with_gaps>(gpu, "a byte, two, eight");
  }
}

/// A sum modulo a number that stands in device memory: only a device can join. Its other members have names that
/// Fanin's own reducers and composites use.
struct sum_modulo {
  using value_type = std::uint64_t;
  const std::uint64_t* modulus;
  int rank = 0;
  int reducers = 0;
  int of_rank = 0;
  FANIN_FUNCTION std::uint64_t identity() const { return 0; }
  FANIN_FUNCTION void join(std::uint64_t& into, const std::uint64_t& from) const {
    into = (into + from % *modulus) % *modulus;
  }
};
static_assert(
    fanin::detail::may_post_partials<fanin::cuda_strategy::one_pass, fanin::detail::composite<fanin::sum<double>>>);
static_assert(!fanin::detail::may_post_partials<fanin::cuda_strategy::one_pass, fanin::detail::composite<sum_modulo>>);
static_assert(!fanin::detail::may_post_partials<fanin::cuda_strategy::one_pass,
                                                fanin::detail::composite<fanin::sum<std::uint64_t>, sum_modulo>>);

TEST_F(cuda_blocking, a_reducer_with_members_is_joined_on_the_device) {
  fanin::cuda gpu;
  const std::uint64_t modulus = 1'000'000'007;
  const placed<std::uint64_t, fanin::cuda> there(gpu, std::vector<std::uint64_t>{modulus});
  const std::size_t n = 100'003;
  const auto host = make_data<std::uint64_t>(data::random_signed, n);
  const placed<std::uint64_t, fanin::cuda> x(gpu, host);
  std::uint64_t expected = 0;
  for (const std::uint64_t value : host) expected = (expected + value % modulus) % modulus;
  for (const int grid : {0, 1, 2, 33, 34, 100, 128, 129}) {
    const auto view = gpu.with({.grid_size = grid});
    EXPECT_EQ(fanin::reduce(view, x.span(), sum_modulo{.modulus = there.data()}), expected) << "grid " << grid;
  }
}

/// What an object keeps does not grow with n, and no call of a size asks for more than the first did.
TEST_F(cuda_blocking, workspace_stays_below_a_megabyte) {
  fanin::cuda gpu;
  const placed<double, fanin::cuda> x(gpu, make_data<double>(data::random_signed, 5'000'000));
  destination<double, fanin::cuda> out(gpu);
  for (const std::size_t n : {std::size_t{1}, std::size_t{1'000}, std::size_t{100'000}, std::size_t{5'000'000}}) {
    const auto part = x.span().first(n);
    const auto all_calls = [&] {
      fanin::reduce(gpu, part, fanin::sum<double>{});
      fanin::reduce(gpu, part, fanin::min_max_loc<double>{});
      fanin::parallel_reduce(fanin::range(gpu, n), at<double>{x.data()}, fanin::sum<double>{});
      fanin::reduce_into(out.pointer(), gpu, part, fanin::sum<double>{});
      gpu.synchronize();
    };
    all_calls();
    const auto allocations = gpu.workspace_allocations();
    const auto bytes = gpu.workspace_bytes();
    EXPECT_LT(bytes, std::size_t{1} << 20) << "n = " << n;
    for (int round = 0; round < 20; ++round) all_calls();
    EXPECT_EQ(gpu.workspace_allocations(), allocations) << "n = " << n;
    EXPECT_EQ(gpu.workspace_bytes(), bytes) << "n = " << n;
  }
}

/// A reducer over the first n elements of an array, with its answers.
template <class T, class Reducer>
class answers {
 public:
  answers(fanin::cuda& gpu, const std::vector<std::size_t>& sizes, data kind)
      : host_{make_data<T>(kind, sizes.back())}, there_(gpu, host_) {
    for (const std::size_t n : sizes) {
      expected_.push_back(fanin::reduce(fanin::serial{}, std::span<const T>(host_).first(n), Reducer{}));
    }
  }
  void check(fanin::cuda& gpu, std::size_t which, std::size_t n) const {
    ASSERT_TRUE(is_same(fanin::reduce(gpu, there_.span().first(n), Reducer{}), expected_[which])) << "n = " << n;
  }

 private:
  std::vector<T> host_;
  placed<T, fanin::cuda> there_;
  std::vector<fanin::reducer_result_t<Reducer>> expected_;
};

/// Calls that leave one, two, three, four or eight words a block in the mailbox, or a result: none takes for its own
/// what another one left.
TEST_F(cuda_blocking, calls_of_every_size_and_type_by_turns) {
  fanin::cuda gpu;
  std::vector<std::size_t> sizes;
  for (std::size_t n = 1; n < 1'500'000; n += n / 6 + 1) sizes.push_back(n);
  // Sums of whole numbers: exact in any order.
  const answers<float, fanin::sum<float>> floats(gpu, sizes, data::whole_numbers);
  const answers<double, fanin::sum<double>> doubles(gpu, sizes, data::whole_numbers);
  const answers<float, fanin::min_loc<float>> places(gpu, sizes, data::random_signed);
  const answers<std::int64_t, fanin::min_max_loc<std::int64_t>> extremes(gpu, sizes, data::random_signed);
  const answers<std::int8_t, fanin::sum<std::int8_t, std::int32_t>> bytes(gpu, sizes, data::random_signed);
  for (std::uint64_t call = 0; call < 20'000; ++call) {
    const std::uint64_t choice = mix(call);
    const std::size_t which = choice / 8 % sizes.size();
    const std::size_t n = sizes[which];
    switch (choice % 5) {
      case 0: floats.check(gpu, which, n); break;
      case 1: doubles.check(gpu, which, n); break;
      case 2: places.check(gpu, which, n); break;
      case 3: extremes.check(gpu, which, n); break;
      default: bytes.check(gpu, which, n); break;
    }
    if (HasFatalFailure()) FAIL() << "call " << call;
  }
}

}  // namespace
}  // namespace fanin_test
