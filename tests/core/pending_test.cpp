// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstddef>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

#include <fanin/detail/many.hpp>
#include <fanin/error.hpp>
#include <fanin/pending.hpp>

/// fanin::pending by itself: what is in it, once.
namespace fanin_test {
namespace {

/// A backend's, which counts what is done with it.
struct counting_slot final : fanin::detail::pending_slot {
  int takes = 0;
  int releases = 0;
  bool is_there = true;
  bool is_ready() noexcept override { return is_there; }
  void take(void* to, std::size_t bytes) override {
    ++takes;
    if (!is_there) throw std::runtime_error("it will not come");
    ASSERT_EQ(bytes, sizeof(int));
    *static_cast<int*>(to) = 42;
  }
  void release() noexcept override { ++releases; }
  fanin::pending<int> pending() { return fanin::pending<int>(fanin::detail::pending_handle(this)); }
};

void expect_nothing_in(fanin::pending<int>& none) {
  EXPECT_FALSE(none.valid());
  for (const bool looks : {true, false}) {
    try {
      static_cast<void>(looks ? static_cast<int>(none.ready()) : none.get());
      ADD_FAILURE() << "nothing was thrown";
    } catch (const fanin::state_error& refused) {
      const std::string call = looks ? "fanin::pending::ready: there is no" : "fanin::pending::get: there is no";
      EXPECT_NE(std::string(refused.what()).find(call), std::string::npos) << refused.what();
    }
  }
}

TEST(pending, is_got_once) {
  fanin::pending<int> empty;
  expect_nothing_in(empty);
  counting_slot slot;
  fanin::pending<int> all[] = {fanin::pending<int>(7), slot.pending(),
                               fanin::pending<int>(std::make_exception_ptr(std::out_of_range("seven")))};
  for (const auto& one : all) EXPECT_TRUE(one.valid() && one.ready());
  EXPECT_EQ(all[0].get(), 7);
  EXPECT_EQ(all[1].get(), 42);
  EXPECT_THROW(all[2].get(), std::out_of_range);
  for (auto& one : all) expect_nothing_in(one);
  EXPECT_EQ(slot.takes, 1);
  EXPECT_EQ(slot.releases, 1);
}

TEST(pending, gives_its_slot_back_once) {
  counting_slot dropped;
  static_cast<void>(dropped.pending());
  EXPECT_EQ(dropped.releases, 1);
  EXPECT_EQ(dropped.takes, 0);

  counting_slot failed;
  failed.is_there = false;
  fanin::pending<int> one = failed.pending();
  EXPECT_FALSE(one.ready());
  EXPECT_THROW(one.get(), std::runtime_error);
  expect_nothing_in(one);
  EXPECT_EQ(failed.releases, 1);

  counting_slot first;
  counting_slot second;
  fanin::pending<int> moved = first.pending();
  fanin::pending<int> other(std::move(moved));
  expect_nothing_in(moved);
  EXPECT_EQ(first.releases, 0);
  other = second.pending();
  EXPECT_EQ(first.releases, 1);
  EXPECT_EQ(second.releases, 0);
  auto& itself = other;
  other = std::move(itself);
  EXPECT_EQ(other.get(), 42);
  EXPECT_EQ(second.releases, 1);
  other = fanin::pending<int>(3);
  moved = std::move(other);
  expect_nothing_in(other);
  EXPECT_EQ(moved.get(), 3);
}

/// Of a call whose results stand elsewhere.
TEST(pending, of_nothing_says_that_it_is_done) {
  fanin::pending<void> empty;
  EXPECT_FALSE(empty.valid());
  EXPECT_THROW(empty.get(), fanin::state_error);
  struct done_slot final : fanin::detail::pending_slot {
    int takes = 0;
    int releases = 0;
    bool is_ready() noexcept override { return false; }
    void take(void*, std::size_t) override { ++takes; }
    void release() noexcept override { ++releases; }
  } slot;
  fanin::pending<void> all[] = {fanin::detail::pending_of_nothing(),
                                fanin::pending<void>(fanin::detail::pending_handle(&slot)),
                                fanin::pending<void>(std::make_exception_ptr(std::out_of_range("seven")))};
  EXPECT_TRUE(all[0].ready() && !all[1].ready() && all[2].ready());
  all[0].get();
  all[1].get();
  EXPECT_THROW(all[2].get(), std::out_of_range);
  for (auto& one : all) {
    EXPECT_FALSE(one.valid());
    EXPECT_THROW(one.get(), fanin::state_error);
  }
  EXPECT_EQ(slot.takes, 1);
  EXPECT_EQ(slot.releases, 1);
}

}  // namespace
}  // namespace fanin_test
