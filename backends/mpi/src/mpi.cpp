// SPDX-License-Identifier: Apache-2.0
#include <fanin/mpi/mpi.hpp>

#include <array>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fanin/detail/ranks_call.hpp>
#include <fanin/mpi/exchange.hpp>

#include "exchange_of_many.hpp"
#include "exchange_of_result.hpp"
#include "exchange_under_way.hpp"
#include "state.hpp"

namespace fanin {

namespace detail {

namespace {

/// The communicators of this process that have something under way, or may have.
struct all_states {
  std::mutex mutex;
  std::vector<mpi_state*> states;

  /// Never destroyed: communicators may be static objects.
  static all_states& get() {
    static all_states& all = *new all_states;
    return all;
  }
};

/// Waits so.
void wait_for(MPI_Request& request) {
  while (!is_request_over(request)) advance_all();
}

}  // namespace

void advance_all() {
  all_states& all = all_states::get();
  const std::lock_guard lock(all.mutex);
  for (mpi_state* const state : all.states) state->advance();
}

mpi_state::mpi_state(MPI_Comm communicator, const mpi_options& chosen) : options{chosen} {
  const std::string why = why_no_mpi();
  if (!why.empty()) throw state_error("fanin::mpi: " + why);
  if (communicator == MPI_COMM_NULL) throw invalid_argument("fanin::mpi: the communicator is MPI_COMM_NULL");
  if (chosen.gather_up_to < 2) {
    throw invalid_argument("fanin::mpi: gather_up_to is " + std::to_string(chosen.gather_up_to) +
                           "; a group has at least 2 ranks");
  }
  int is_inter = 0;
  check_mpi(MPI_Comm_test_inter(communicator, &is_inter), "MPI_Comm_test_inter");
  if (is_inter != 0) {
    throw invalid_argument("fanin::mpi: the communicator is an inter-communicator; merge it with MPI_Intercomm_merge");
  }
  int level = MPI_THREAD_SINGLE;
  check_mpi(MPI_Query_thread(&level), "MPI_Query_thread");
  needs_its_thread_ = level < MPI_THREAD_SERIALIZED;
  if (needs_its_thread_) {
    int is_main = 0;
    check_mpi(MPI_Is_thread_main(&is_main), "MPI_Is_thread_main");
    if (is_main == 0) {
      throw state_error(
          "fanin::mpi: MPI was initialised for calls of one thread, which this one is not; call MPI_Init_thread with "
          "MPI_THREAD_SERIALIZED or more");
    }
  }
  thread_ = std::this_thread::get_id();

  comm_ = owned_communicator(duplicate_of(communicator));
  ahead_ = owned_communicator(duplicate_of(communicator));
  rank = rank_in(comm());
  size = size_of_comm(comm());
  owned_communicator above;
  MPI_Comm of_level = comm();
  int in_level = rank;
  for (int left = size; left > 1 && size > chosen.gather_up_to;) {
    group_level group;
    group.up = owned_communicator(part_of(of_level, in_level / chosen.gather_up_to, in_level));
    group.down = owned_communicator(duplicate_of(group.up.get()));
    group.rank = rank_in(group.up.get());
    group.size = size_of_comm(group.up.get());
    const bool is_first = group.rank == 0;
    levels_.push_back(std::move(group));
    owned_communicator firsts(part_of(of_level, is_first ? 0 : MPI_UNDEFINED, in_level));
    if (!is_first) break;
    above = std::move(firsts);
    of_level = above.get();
    in_level = rank_in(of_level);
    left = size_of_comm(of_level);
  }
  const std::lock_guard lock(all_states::get().mutex);
  all_states::get().states.push_back(this);
}

mpi_state::~mpi_state() {
  try {
    while (has_under_way()) {
      require_mpi("fanin::mpi::~mpi");
      advance_all();
      std::this_thread::yield();
    }
  } catch (...) {
    // MPI may still write there: what is left is never freed, and whoever waits for it is told.
    for (const auto& one : under_way_) one->abandon();
    [[maybe_unused]] auto* const kept = new (std::nothrow) std::deque(std::move(under_way_));
  }
  const std::lock_guard lock(all_states::get().mutex);
  std::erase(all_states::get().states, this);
}

bool mpi_state::has_under_way() const {
  const std::lock_guard lock(all_states::get().mutex);
  return !under_way_.empty();
}

void mpi_state::add(std::shared_ptr<exchange_under_way> one) {
  const std::lock_guard lock(all_states::get().mutex);
  under_way_.push_back(std::move(one));
}

void mpi_state::advance() {
  bool is_first = true;
  for (const auto& one : under_way_) {
    if (!one->has_begun()) break;  // nor have those behind it
    try {
      one->look(is_first);
    } catch (...) {
      one->fail(std::current_exception());
    }
    is_first = is_first && one->is_complete();
  }
  while (!under_way_.empty() && under_way_.front()->is_complete()) {
    if (under_way_.front()->may_be_written()) {
      [[maybe_unused]] auto* const kept = new (std::nothrow) auto(under_way_.front());
    }
    under_way_.pop_front();
  }
}

void leave_step(mpi_state& state) noexcept { state.leave_step(); }

void check_rank_call(mpi_state& state, const rank_call& call) {
  state.require_mpi(call.name);
  if (state.has_left_step()) throw state_error(std::string(call.name) + mpi_state::why_not_in_step);
  if (state.size == 1 || !state.options.check_calls) return;
  const std::uint64_t hash = hash_of(call);
  std::uint64_t least[] = {hash, ~hash};
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Iallreduce(MPI_IN_PLACE, least, 2, MPI_UINT64_T, MPI_MIN, state.ahead(), &request), "MPI_Iallreduce");
  wait_for(request);
  if (least[0] != hash || least[1] != ~hash) {
    throw state_error(std::string(call.name) + " over ranks: ranks make different calls; that of this one has " +
                      words_of_call(call));
  }
}

std::int64_t indices_before(mpi_state& state, std::int64_t count) {
  std::int64_t before = 0;
  if (state.size == 1) return before;
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Iexscan(&count, &before, 1, MPI_INT64_T, MPI_SUM, state.ahead(), &request), "MPI_Iexscan");
  wait_for(request);
  return state.rank == 0 ? 0 : before;
}

void widen_bounds(mpi_state& state, const rank_call& call, bool is_empty, std::span<std::int64_t> lower,
                  std::span<std::int64_t> upper) {
  check_rank_call(state, call);
  if (state.size == 1) return;
  const std::size_t rank = lower.size();
  std::array<std::int64_t, 2 * 6> least;  // of the lower bounds, and of the upper ones' complements
  least.fill(INT64_MAX);
  for (std::size_t d = 0; d < rank && !is_empty; ++d) {
    least[d] = lower[d];
    least[rank + d] = ~upper[d];
  }
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Iallreduce(MPI_IN_PLACE, least.data(), static_cast<int>(2 * rank), MPI_INT64_T, MPI_MIN, state.ahead(),
                           &request),
            "MPI_Iallreduce");
  wait_for(request);
  const bool are_empty = least[0] == INT64_MAX;
  for (std::size_t d = 0; d < rank; ++d) {
    lower[d] = are_empty ? 0 : least[d];
    upper[d] = are_empty ? 0 : ~least[rank + d];
  }
}

int ranks_of(const mpi_state& state) noexcept { return state.size; }

std::int64_t exchange_now(mpi_state& state, rank_part& part, const join_parts& join) {
  if (state.size == 1) return part.has_failed ? 1 : 0;
  const auto exchange = detail::make_for_step(state, [&] {
    auto one = std::make_shared<exchange_of_result>(state, std::move(part), join);
    state.add(one);
    return one;
  });
  exchange->wait();
  part = exchange->whole();
  return exchange->failed();
}

std::shared_ptr<rank_exchange> begin_exchange(mpi_state& state, std::shared_ptr<part_to_come> part, join_parts join) {
  if (state.size == 1) return std::make_shared<exchange_of_one>(std::move(part));
  auto one = detail::make_for_step(state, [&] {
    auto made = std::make_shared<exchange_of_result>(state, std::move(part), std::move(join));
    state.add(made);
    return made;
  });
  advance_all();
  return one;
}

std::shared_ptr<rank_exchange> begin_exchange(mpi_state& state, std::shared_ptr<many_to_come> many, bool waits) {
  if (state.size == 1) {
    return detail::make_for_step(state, [&] { return std::make_shared<exchange_of_many_of_one>(std::move(many)); });
  }
  auto one = detail::make_for_step(state, [&] {
    auto made = std::make_shared<exchange_of_many>(state, std::move(many), waits);
    state.add(made);
    return made;
  });
  advance_all();
  return one;
}

void throw_failed_ranks(const char* call, std::int64_t failed) {
  throw rank_error(std::string(call) + " over ranks: " + std::to_string(failed) +
                   (failed == 1 ? " rank has failed in its own part, and throws why,"
                                : " ranks have failed in their own parts, and throw why,") +
                   " or in a reducer's join() or result(); there is no result");
}

}  // namespace detail

mpi::mpi(MPI_Comm communicator, const mpi_options& options)
    : state_{std::make_shared<detail::mpi_state>(communicator, options)} {}
mpi::~mpi() = default;

int mpi::rank() const noexcept { return state_->rank; }
int mpi::size() const noexcept { return state_->size; }
const mpi_options& mpi::options() const noexcept { return state_->options; }

}  // namespace fanin
