// SPDX-License-Identifier: Apache-2.0

// fanin-perf's data: what numbers of each kind are like, and what is said of a kind that there is not.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "harness/data_kinds.hpp"
#include "harness/oracle.hpp"
#include "harness/values.hpp"
#include "harness/worst_data.hpp"

namespace {

using namespace fanin_perf;

template <class T>
class data_kinds : public testing::Test {
 public:
  static std::vector<T> numbers(const char* text, std::uint64_t count = 1 << 16) {
    const data_kind kind = parse_data_kind(text);
    std::vector<T> made;
    for (std::uint64_t i = 0; i < count; ++i) made.push_back(value_at<T>(kind, 3, i));
    return made;
  }
  static std::int64_t count_of(const std::vector<T>& x, bool (*what)(T)) {
    return std::count_if(x.begin(), x.end(), what);
  }
};
using floating = testing::Types<float, double>;
TYPED_TEST_SUITE(data_kinds, floating);

TYPED_TEST(data_kinds, are_like_their_definitions) {
  using T = TypeParam;
  using limits = std::numeric_limits<T>;
  const auto all = [](const std::vector<T>& x, auto holds) { return std::all_of(x.begin(), x.end(), holds); };

  const auto normal = this->numbers("normal");
  long double sum = 0, squares = 0;
  for (const T z : normal) {
    sum += z;
    squares += static_cast<long double>(z) * z;
  }
  EXPECT_NEAR(static_cast<double>(sum) / 65'536, 0, 0.02);
  EXPECT_NEAR(static_cast<double>(squares) / 65'536, 1, 0.03);
  EXPECT_GT(*std::max_element(normal.begin(), normal.end()), T{3});

  const auto loguniform = this->numbers("loguniform:100");
  std::vector<int> binades(100);
  for (const T x : loguniform) {
    const int binade = std::ilogb(x) + 50;
    ASSERT_TRUE(binade >= 0 && binade < 100) << x;
    ++binades[static_cast<std::size_t>(binade)];
  }
  EXPECT_GT(*std::min_element(binades.begin(), binades.end()), 500);
  EXPECT_NEAR(static_cast<double>(this->count_of(loguniform, [](T x) { return x < 0; })), 32'768, 1'000);

  const auto lognormal = this->numbers("lognormal:2");
  EXPECT_TRUE(all(lognormal, [](T x) { return x > 0 && std::isfinite(x); }));
  EXPECT_NEAR(static_cast<double>(this->count_of(lognormal, [](T x) { return x < 1; })), 32'768, 1'000);
  EXPECT_NEAR(static_cast<double>(this->count_of(lognormal, [](T x) { return x > static_cast<T>(std::exp(2.0)); })),
              65'536 * 0.1587, 1'000);

  const auto scaled = this->numbers("scaled");
  EXPECT_TRUE(all(scaled, [](T x) { return std::abs(x) <= T{0x1p14}; }));
  EXPECT_GT(this->count_of(scaled, [](T x) { return std::abs(x) > T{0x1p13}; }), 500);
  EXPECT_GT(this->count_of(scaled, [](T x) { return std::abs(x) < T{0x1p-16}; }), 1'000);

  const auto outliers = this->numbers("outliers:100");
  EXPECT_TRUE(all(outliers, [](T x) { return std::isfinite(x); }));
  EXPECT_NEAR(static_cast<double>(this->count_of(outliers, [](T x) { return x < T{-0.25} || x >= T{0.75}; })),
              655 / 2.0, 150);
  const auto sparse = this->numbers("sparse:10");
  EXPECT_NEAR(static_cast<double>(this->count_of(sparse, [](T x) { return x != 0; })), 6'553.6, 400);

  const auto any = this->numbers("anybits");
  EXPECT_TRUE(all(any, [](T x) { return std::isfinite(x); }));
  EXPECT_LT(*std::min_element(any.begin(), any.end()), limits::max() / -4);
  EXPECT_GT(this->count_of(any, [](T x) { return std::abs(x) < std::sqrt(limits::min()); }), 10'000);

  const auto sorted = this->numbers("sorted");
  EXPECT_TRUE(std::is_sorted(sorted.begin(), sorted.end()));
  EXPECT_GT(sorted.back(), sorted.front());

  const auto denormals = this->numbers("denormals");
  EXPECT_TRUE(all(denormals, [](T x) { return std::abs(x) < limits::min(); }));
  EXPECT_GT(*std::max_element(denormals.begin(), denormals.end()), limits::min() / 2);
}

TYPED_TEST(data_kinds, that_cancel_leave_little) {
  using T = TypeParam;
  const auto x = this->numbers("cancelling", 1024);
  long double sum = 0, magnitude = 0;
  int others = 0;
  for (const T value : x) {
    sum += value;
    magnitude += std::abs(value);
    others += std::count(x.begin(), x.end(), -value) != 0 ? 1 : 0;
  }
  EXPECT_NE(sum, 0);
  EXPECT_LT(std::abs(sum), magnitude * 0x1p-20L);
  EXPECT_GT(others, 950);
  EXPECT_LT(others, 1024);
}

TEST(data_kind, of_what_consists_of_numbers) {
  const data_kind kind = parse_data_kind("anybits");
  using number = std::complex<float>;
  EXPECT_EQ(value_at<number>(kind, 5, 7), number(value_at<float>(kind, 5, 14), value_at<float>(kind, 5, 15)));
  EXPECT_EQ(value_at<std::int32_t>(kind, 5, 7), value_at<std::int32_t>(5, 7));
  EXPECT_EQ(static_cast<float>(value_at<float16>(kind, 5, 7)), static_cast<float>(value_at<float16>(5, 7)));
  EXPECT_EQ(value_at<double>(data_kind{}, 5, 7), value_at<double>(5, 7));
}

TEST(data_kind, has_a_name) {
  for (const char* text :
       {"uniform", "normal", "loguniform:64", "lognormal:0.5", "outliers:1000000", "sparse:3", "anybits"}) {
    EXPECT_EQ(to_text(parse_data_kind(text)), text);
  }
  for (const char* text :
       {"", "norm", "uniform:1", "loguniform", "loguniform:", "loguniform:0", "loguniform:2001", "loguniform:1.5",
        "lognormal:0.01", "lognormal:2x", "outliers:0", "sparse:-1", "lognormal:nan"}) {
    EXPECT_THROW(parse_data_kind(text), std::invalid_argument) << text;
  }
}

TYPED_TEST(data_kinds, of_mixtures_stand_in_runs) {
  const auto x = this->numbers("mixture:4:3*sparse:1000000000000+1*sorted");
  std::int64_t runs = 0;
  for (std::size_t i = 16; i < x.size(); i += 16) {  // the first number of all is 0 in either
    const auto others =
        std::count(x.begin() + static_cast<std::ptrdiff_t>(i), x.begin() + static_cast<std::ptrdiff_t>(i) + 16, 0);
    EXPECT_TRUE(others == 0 || others == 16) << i;
    runs += others == 0 ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(runs), 1'024, 120);
}

/// Slow are numbers of any bits, long runs, and what has both in less than half of it.
TEST(worst_data, are_found) {
  const auto share_of = [](const data_kind& kind) {
    double share = 1;
    std::uint32_t all = 0, any = 0;
    for (int k = 0; k < kind.parts; ++k) {
      all += kind.part[k].weight;
      if (kind.part[k].shape == data_shape::anybits) any += kind.part[k].weight;
    }
    if (any > 0) share -= 0.3;
    if (any > 0 && 2 * any < all) share -= 0.2;
    return share - 0.01 * kind.run_bits;
  };
  const search how{.seed = 5, .seconds = 60, .most_kinds = 3'000};
  const found_data worst = find_worst_data(how, share_of);
  EXPECT_LT(worst.share, 0.4);
  EXPECT_EQ(worst.share, share_of(worst.kind));
  EXPECT_EQ(worst.looked_at, 3'000);
  EXPECT_EQ(find_worst_data(how, share_of).kind, worst.kind);
  EXPECT_EQ(parse_data_kind(to_text(worst.kind)), worst.kind);
  // What was slow once, by chance, is not the worst.
  bool is_first = true;
  const found_data calm =
      find_worst_data({.seconds = 1e-9}, [&](const data_kind&) { return std::exchange(is_first, false) ? 0.1 : 0.9; });
  EXPECT_EQ(calm.share, 0.9);
  EXPECT_EQ(calm.looked_at, 12);
}

/// What rounds may overflow between its first and its last term; what is exact may not.
TEST(oracle, of_numbers_of_any_bits) {
  const double largest = std::numeric_limits<double>::max();
  const std::vector<double> values{largest, largest, -largest, -largest, 1};
  data_source data;
  data.type = element::f64;
  data.array = reinterpret_cast<const std::byte*>(values.data());
  const reference right = right_answer(data, operation::sum, 5);
  const answer nothing = answer::of(std::numeric_limits<double>::quiet_NaN());
  contender exact;
  exact.rounds_once = true;
  EXPECT_EQ(find_fault({}, nothing, right, data, operation::sum, 5), "");
  EXPECT_NE(find_fault(exact, nothing, right, data, operation::exact_sum, 5), "");
  EXPECT_EQ(find_fault({}, nothing, right, data, operation::exact_sum, 5), "");
  const std::vector<double> small{1, 2, 3};
  data.array = reinterpret_cast<const std::byte*>(small.data());
  EXPECT_NE(find_fault({}, nothing, right_answer(data, operation::sum, 3), data, operation::sum, 3), "");
}

}  // namespace
