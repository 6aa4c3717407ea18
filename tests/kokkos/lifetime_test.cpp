// SPDX-License-Identifier: Apache-2.0
// Kokkos lives once in a process, so that every case runs its body in a process of its own, which exits with 0 when all
// was well.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "spaces.hpp"

namespace {

using object = fanin::kokkos<>;
using object_backend = fanin::backend<object>;

std::int64_t sum_of_ten(object& exec) {
  return fanin::parallel_reduce(fanin::range(exec, 10), index_itself{}, fanin::sum<std::int64_t>{});
}

void demand(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "not so: %s\n", what);
  std::_Exit(3);
}

template <class Call>
void demand_state_error(const Call& call, const char* what) {
  try {
    call();
  } catch (const fanin::state_error& error) {
    demand(std::string(error.what()).find("finalised") != std::string::npos, error.what());
    return;
  }
  demand(false, what);
}

/// Runs after Fanin's own exit handler when it is registered before.
void demand_finalized_at_exit() {
  std::atexit([] { demand(Kokkos::is_finalized(), "Kokkos is finalised at exit"); });
}

void first_use_initialises() {
  demand_finalized_at_exit();
  demand(!Kokkos::is_initialized(), "nobody has initialised Kokkos");
  object exec;
  demand(Kokkos::is_initialized(), "the first object initialised Kokkos");
  demand(sum_of_ten(exec) == 45, "a sum");
}

void default_object_initialises() {
  demand_finalized_at_exit();
  demand(sum_of_ten(object_backend::default_object()) == 45, "a sum");
  std::thread([] { demand(sum_of_ten(object_backend::default_object()) == 45, "a sum in a thread"); }).join();
}

void first_use_in_a_thread() {
  demand_finalized_at_exit();
  std::thread([] { demand(sum_of_ten(object_backend::default_object()) == 45, "a sum in a thread"); }).join();
  demand(sum_of_ten(object_backend::default_object()) == 45, "a sum");
}

void objects_live_beyond_exit_handlers() {
  demand_finalized_at_exit();
  static object in_static_storage;
  static fanin::buffer<double, object> memory(in_static_storage, 100);
  demand(sum_of_ten(in_static_storage) == 45, "a sum");
  // A thread that is still there when the process ends, with a default object of its own.
  static std::atomic<bool> ready{false};
  std::thread([] {
    demand(sum_of_ten(object_backend::default_object()) == 45, "a sum in a thread");
    ready = true;
    for (;;) std::this_thread::yield();
  }).detach();
  while (!ready) std::this_thread::yield();
}

void scope_initialises_and_finalises() {
  std::optional<object> survivor;
  {
    const fanin::kokkos_scope scope;
    demand(scope.owns() && Kokkos::is_initialized(), "the scope initialised Kokkos");
    const fanin::kokkos_scope inner;
    demand(!inner.owns(), "an inner scope does not own Kokkos");
    survivor.emplace();
    demand(sum_of_ten(*survivor) == 45, "a sum");
    demand(sum_of_ten(object_backend::default_object()) == 45, "a sum");
  }
  demand(Kokkos::is_finalized(), "the scope finalised Kokkos");
  demand_state_error([&] { sum_of_ten(*survivor); }, "an object refuses after the scope");
  demand_state_error([] { const fanin::kokkos_scope again; }, "a second scope refuses");
}

void scope_leaves_an_earlier_owner_alone() {
  demand_finalized_at_exit();
  object exec;
  {
    const fanin::kokkos_scope scope;
    demand(!scope.owns(), "the object came first");
  }
  demand(sum_of_ten(exec) == 45, "a sum after the scope");
}

void application_owns_kokkos() {
  std::optional<object> survivor;
  Kokkos::initialize();
  {
    const fanin::kokkos_scope scope;
    demand(!scope.owns(), "the application owns Kokkos");
    survivor.emplace(Kokkos::DefaultExecutionSpace());
    demand(sum_of_ten(*survivor) == 45, "a sum");
    std::vector<double> host(100, 1.0);
    const fanin::buffer<double, object> memory(*survivor, std::span<const double>(host));
    demand(fanin::reduce(*survivor, memory, fanin::sum<double>{}) == 100, "a sum of a buffer");
  }
  demand(Kokkos::is_initialized() && !Kokkos::is_finalized(), "Fanin left Kokkos alone");
  Kokkos::finalize();
  demand_state_error([&] { sum_of_ten(*survivor); }, "a reduction refuses");
  demand_state_error([&] { survivor->synchronize(); }, "synchronize refuses");
  demand_state_error([&] { (void)survivor->space(); }, "space refuses");
  demand_state_error([&] { fanin::buffer<double, object>(*survivor, 10); }, "a buffer refuses");
  demand_state_error([] { object(); }, "a new object refuses");
  demand_state_error([] { object_backend::default_object(); }, "the default object refuses");
}

void application_does_not_finalise() {
  // Then Kokkos is not finalised at all: it belongs to the application.
  std::atexit([] { demand(!Kokkos::is_finalized(), "Fanin did not finalise the application's Kokkos"); });
  Kokkos::initialize();
  object exec;
  demand(sum_of_ten(exec) == 45, "a sum");
}

void application_finalised_before_the_first_use() {
  Kokkos::initialize();
  Kokkos::finalize();
  demand_state_error([] { object(); }, "an object refuses");
  demand_state_error([] { object_backend::default_object(); }, "the default object refuses");
}

void application_finalises_what_fanin_initialised() {
  object exec;
  demand(sum_of_ten(exec) == 45, "a sum");
  Kokkos::finalize();
  demand_state_error([&] { sum_of_ten(exec); }, "a reduction refuses");
}

/// An instance of the caller's, of which the object holds the last copy when Kokkos goes.
void last_copy_of_an_instance() {
  demand_finalized_at_exit();
  object whole;
  if (whole.space().concurrency() < 2) return;
  static object part{Kokkos::Experimental::partition_space(whole.space(), 1, 1)[0]};
  demand(sum_of_ten(part) == 45, "a sum");
}

void nothing_is_printed() {
  object exec;
  demand(sum_of_ten(exec) == 45, "a sum");
  std::fputs("end of output", stderr);
}

using body = void (*)();

/// Kokkos::Threads takes launches from one host thread only.
constexpr bool takes_any_thread = !fanin::detail::is_kokkos_threads<Kokkos::DefaultExecutionSpace>;

void expect_clean_exit(body run, const char* output = "") {
  if (const char* why = missing_device<Kokkos::DefaultExecutionSpace>()) GTEST_SKIP() << why;
  EXPECT_EXIT(
      {
        run();
        std::exit(0);
      },
      testing::ExitedWithCode(0), output);
}

class kokkos_lifetime : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(kokkos_lifetime, first_use_initialises_and_exit_finalises) { expect_clean_exit(first_use_initialises); }
TEST_F(kokkos_lifetime, so_does_the_default_object) {
  if (!takes_any_thread) GTEST_SKIP() << "Kokkos::Threads is launched from one host thread";
  expect_clean_exit(default_object_initialises);
}
TEST_F(kokkos_lifetime, first_use_may_be_in_a_thread) {
  if (!takes_any_thread) GTEST_SKIP() << "Kokkos::Threads is launched from one host thread";
  expect_clean_exit(first_use_in_a_thread);
}
TEST_F(kokkos_lifetime, objects_may_live_beyond_kokkos) {
  if (!takes_any_thread) GTEST_SKIP() << "Kokkos::Threads is launched from one host thread";
  expect_clean_exit(objects_live_beyond_exit_handlers);
}
TEST_F(kokkos_lifetime, a_scope_initialises_and_finalises) { expect_clean_exit(scope_initialises_and_finalises); }
TEST_F(kokkos_lifetime, a_scope_leaves_an_earlier_owner_alone) {
  expect_clean_exit(scope_leaves_an_earlier_owner_alone);
}
TEST_F(kokkos_lifetime, an_application_may_own_kokkos) { expect_clean_exit(application_owns_kokkos); }
TEST_F(kokkos_lifetime, kokkos_of_the_application_is_not_finalised) {
  expect_clean_exit(application_does_not_finalise);
}
TEST_F(kokkos_lifetime, refuses_when_kokkos_is_gone_already) {
  expect_clean_exit(application_finalised_before_the_first_use);
}
TEST_F(kokkos_lifetime, an_application_may_finalise_what_fanin_initialised) {
  expect_clean_exit(application_finalises_what_fanin_initialised);
}
TEST_F(kokkos_lifetime, the_last_copy_of_an_instance_goes_before_kokkos) {
  expect_clean_exit(last_copy_of_an_instance);
}
TEST_F(kokkos_lifetime, nothing_is_printed) { expect_clean_exit(nothing_is_printed, "^end of output$"); }

}  // namespace
