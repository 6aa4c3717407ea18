// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <string_view>

#include "cuda/catalogue_support.hpp"

/// That no row goes untested: the units' lists are the catalogue, and what is registered is all of it.
namespace fanin_test {
namespace {

template <class Strategy, class... Other>
constexpr int count_in(fanin::cuda_strategy_list<Other...>) {
  return (0 + ... + (std::is_same_v<Strategy, Other> ? 1 : 0));
}

template <class... Strategy, class... List>
constexpr bool hold_each_once(fanin::cuda_strategy_list<Strategy...>, List... lists) {
  const auto times = [&]<class S>(std::type_identity<S>) { return (0 + ... + count_in<S>(lists)); };
  return ((times(std::type_identity<Strategy>{}) == 1) && ...) && (0 + ... + List::size) == sizeof...(Strategy);
}

static_assert(hold_each_once(fanin::cuda_catalogue{}, rows_of_partials{}, rows_of_global_memory{},
                             rows_of_shared_memory{}, rows_of_unrolled_trees{}, rows_of_one_launch{}),
              "a row of the catalogue is in no unit's list, or in two: see catalogue_support.hpp");

TEST(catalogue_count, every_row_is_registered_with_every_test) {
  const std::string infix = "/catalogue/";
  const auto& all = *::testing::UnitTest::GetInstance();
  int suites = 0;
  int tests_of_row = 0;
  for (int k = 0; k < all.total_test_suite_count(); ++k) {
    const auto& suite = *all.GetTestSuite(k);
    if (std::string_view(suite.name()).find(infix) == std::string_view::npos) continue;
    ++suites;
    if (tests_of_row == 0) tests_of_row = suite.total_test_count();
    EXPECT_EQ(suite.total_test_count(), tests_of_row) << suite.name();
  }
  EXPECT_EQ(suites, fanin::cuda_catalogue::size);
  EXPECT_GE(tests_of_row, 9);
  fanin::cuda_catalogue::for_each([&](auto row) {
    bool found = false;
    for (int k = 0; k < all.total_test_suite_count(); ++k) {
      found |= std::string_view(all.GetTestSuite(k)->name()).ends_with(infix + row.name);
    }
    EXPECT_TRUE(found) << row.name << " has no tests";
  });
}

TEST(catalogue_count, every_list_takes_turns) {
  const auto& all = *::testing::UnitTest::GetInstance();
  int lists = 0;
  for (int k = 0; k < all.total_test_suite_count(); ++k) {
    lists += std::string_view(all.GetTestSuite(k)->name()).find("/catalogue_turns/") != std::string_view::npos ? 1 : 0;
  }
  EXPECT_EQ(lists, 5);
}

}  // namespace
}  // namespace fanin_test
