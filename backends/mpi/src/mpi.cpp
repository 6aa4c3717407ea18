// SPDX-License-Identifier: Apache-2.0
#include <fanin/mpi/mpi.hpp>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fanin/mpi/exchange.hpp>

namespace fanin {

namespace detail {

namespace {

void check_mpi(int code, const char* function) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw mpi_error(std::string("fanin::mpi: ") + function + ": " + std::string(text, static_cast<std::size_t>(length)),
                  code);
}

/// Empty, or why MPI cannot be called.
std::string why_no_mpi() {
  int is_initialised = 0;
  int is_finalised = 0;
  MPI_Initialized(&is_initialised);
  MPI_Finalized(&is_finalised);
  if (is_finalised != 0) return "MPI has been finalised; what uses it ends before MPI_Finalize";
  if (is_initialised == 0) return "MPI is not initialised; call MPI_Init or MPI_Init_thread first";
  return {};
}

/// A communicator of its own. Freed by all of its ranks, unless MPI has been finalised.
class owned_communicator {
 public:
  owned_communicator() = default;
  explicit owned_communicator(MPI_Comm comm) : comm_{comm} {
    if (comm_ != MPI_COMM_NULL) check_mpi(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  }
  owned_communicator(owned_communicator&& other) noexcept : comm_{std::exchange(other.comm_, MPI_COMM_NULL)} {}
  owned_communicator& operator=(owned_communicator&& other) noexcept {
    std::swap(comm_, other.comm_);
    return *this;
  }
  ~owned_communicator() {
    if (comm_ != MPI_COMM_NULL && why_no_mpi().empty()) MPI_Comm_free(&comm_);
  }
  MPI_Comm get() const noexcept { return comm_; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

MPI_Comm duplicate_of(MPI_Comm comm) {
  MPI_Comm own = MPI_COMM_NULL;
  check_mpi(MPI_Comm_dup(comm, &own), "MPI_Comm_dup");
  return own;
}
MPI_Comm part_of(MPI_Comm comm, int color, int key) {
  MPI_Comm part = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split(comm, color, key, &part), "MPI_Comm_split");
  return part;
}
int rank_in(MPI_Comm comm) {
  int rank = 0;
  check_mpi(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  return rank;
}
int size_of_comm(MPI_Comm comm) {
  int size = 0;
  check_mpi(MPI_Comm_size(comm, &size), "MPI_Comm_size");
  return size;
}

/// A group of consecutive ranks, whose first one joins what all have. Up and down have communicators of their own, so
/// that calls that go up need no order with those that come down.
struct group_level {
  owned_communicator up;
  owned_communicator down;
  int rank = 0;
  int size = 0;
};

std::uint64_t hash_of(const char* text, std::uint64_t hash) {
  for (; text != nullptr && *text != '\0'; ++text) {
    hash = (hash ^ static_cast<unsigned char>(*text)) * 1'099'511'628'211ULL;
  }
  return (hash ^ 0xff) * 1'099'511'628'211ULL;
}

/// Messages begin with whether their rank has failed.
constexpr std::size_t status_bytes = sizeof(std::uint64_t);

/// Before the words that are summed up: how many have failed.
std::vector<std::uint64_t> message_to_sum(const rank_part& part) {
  std::vector<std::uint64_t> words;
  words.reserve(1 + part.summed.size());
  words.push_back(part.has_failed ? 1 : 0);
  words.insert(words.end(), part.summed.begin(), part.summed.end());
  return words;
}
std::vector<std::byte> message_to_gather(const rank_part& part) {
  std::vector<std::byte> bytes(status_bytes + part.gathered.size());
  const std::uint64_t status = part.has_failed ? 1 : 0;
  std::memcpy(bytes.data(), &status, status_bytes);
  std::copy(part.gathered.begin(), part.gathered.end(), bytes.begin() + status_bytes);
  return bytes;
}
/// Of `count` messages one behind the other the first becomes what all of them together say. A join that throws is a
/// failure, which all ranks learn of.
void join_messages(std::byte* messages, int count, std::size_t bytes, const join_parts& join) {
  std::uint64_t failed = 0;
  std::memcpy(&failed, messages, status_bytes);
  for (int rank = 1; rank < count; ++rank) {
    const std::byte* const from = messages + static_cast<std::size_t>(rank) * bytes;
    std::uint64_t status = 0;
    std::memcpy(&status, from, status_bytes);
    failed += status;
    try {
      join(messages + status_bytes, from + status_bytes);
    } catch (...) {
      ++failed;
    }
  }
  std::memcpy(messages, &failed, status_bytes);
}

int count_for_mpi(std::size_t count) {
  if (count > static_cast<std::size_t>(INT_MAX)) {
    throw invalid_argument("fanin::mpi: the accumulators of a call have " + std::to_string(count) +
                           " bytes, and MPI counts to 2^31 - 1");
  }
  return static_cast<int>(count);
}

class exchange_under_way;

/// Goes on with what is under way over any communicator: what another rank waits for may need a step of this one's.
void advance_all();
/// Looks before a thread gives its core away between them: a result of two ranks' 600 bytes takes 0.7 us without, 2.3
/// with. MPI's own looks do where it knows that there are more ranks than cores.
constexpr int most_looks = 1'000;
/// Waits so.
void wait_for(MPI_Request& request) {
  int is_over = 0;
  while (true) {
    check_mpi(MPI_Test(&request, &is_over, MPI_STATUS_IGNORE), "MPI_Test");
    if (is_over != 0) return;
    advance_all();
  }
}

}  // namespace

class mpi_state {
 public:
  mpi_state(MPI_Comm communicator, const mpi_options& options);
  mpi_state(const mpi_state&) = delete;
  mpi_state& operator=(const mpi_state&) = delete;
  ~mpi_state();

  void require_mpi(const char* call) const {
    const std::string why = why_no_mpi();
    if (!why.empty()) throw state_error(std::string(call) + " over ranks: " + why);
    if (needs_its_thread_ && std::this_thread::get_id() != thread_) {
      throw state_error(std::string(call) +
                        " over ranks: MPI was initialised for calls of one thread, which this one is not; call "
                        "MPI_Init_thread with MPI_THREAD_SERIALIZED or more");
    }
  }

  /// Begins what may begin, in the order of the calls, and makes way for what has been begun: the oldest first, which
  /// alone is between groups.
  void advance();
  void add(std::shared_ptr<exchange_under_way> one);
  bool has_under_way() const;
  bool is_grouped() const noexcept { return !levels_.empty(); }

  MPI_Comm comm() const noexcept { return comm_.get(); }
  /// For what a call tells the others before its exchange, which may have to wait for the exchanges of calls before it.
  MPI_Comm ahead() const noexcept { return ahead_.get(); }
  std::vector<group_level>& levels() noexcept { return levels_; }

  const mpi_options options;
  int rank = 0;
  int size = 1;

 private:
  owned_communicator comm_;
  owned_communicator ahead_;
  std::vector<group_level> levels_;  ///< that this rank is in, from the bottom
  std::deque<std::shared_ptr<exchange_under_way>> under_way_;
  std::thread::id thread_;
  bool needs_its_thread_ = false;
};

namespace {

/// By collectives that do not wait. Words are summed up by one over all ranks. What is gathered, too, where there are
/// no groups; else it goes from group to group, gathered up to the first rank of all, and broadcast down.
class exchange_under_way final : public rank_exchange {
 public:
  exchange_under_way(mpi_state& state, std::shared_ptr<part_to_come> part, join_parts join)
      : state_{&state}, part_{std::move(part)}, join_{std::move(join)} {}
  /// Of a part that is there.
  exchange_under_way(mpi_state& state, rank_part part, join_parts join) : state_{&state}, join_{std::move(join)} {
    whole_ = std::move(part);
  }

  bool is_done() override {
    if (is_complete_ || state_ == nullptr) return true;
    state_->require_mpi("fanin::pending::ready");
    advance_all();
    return is_complete_;
  }
  void wait() override {
    if (is_complete_ && error_ != nullptr) std::rethrow_exception(error_);
    if (is_complete_) return;
    if (state_ == nullptr) refuse_what_is_gone();
    state_->require_mpi("fanin::pending::get");
    for (int looks = 0; !is_complete_; ++looks) {
      if (looks > most_looks) std::this_thread::yield();
      advance_all();
    }
    if (error_ != nullptr) std::rethrow_exception(error_);
  }
  /// Its communicator goes away and has not got it.
  void abandon() noexcept { state_ = nullptr; }

  bool is_complete() const noexcept { return is_complete_; }
  /// Whether it has, now. Those of all calls before it have.
  bool has_begun() {
    if (has_begun_) return true;
    if (part_ != nullptr && !part_->is_ready()) return false;
    has_begun_ = true;
    try {
      if (part_ != nullptr) whole_ = std::exchange(part_, nullptr)->take();
      begin();
    } catch (...) {
      error_ = std::current_exception();
      is_complete_ = true;
    }
    return true;
  }
  /// One look; goes on to further steps where it may.
  void look(bool may_go_on) {
    if (is_complete_ || !is_over(of_sums_)) return;
    while (has_gathered_ && !is_over_everywhere_) {
      if (!is_over(of_step_)) return;
      if (state_->is_grouped() && !may_go_on) return;
      finish_step();
    }
    if (has_sums_) {
      failed_ = static_cast<std::int64_t>(sums_[0]);
      whole_.summed.assign(sums_.begin() + 1, sums_.end());
    }
    is_complete_ = true;
  }

 private:
  [[noreturn]] static void refuse_what_is_gone() {
    throw state_error(
        "fanin::pending::get: the communicator of this result went away and MPI could not complete what was under way");
  }
  static bool is_over(MPI_Request& request) {
    if (request == MPI_REQUEST_NULL) return true;
    int flag = 0;
    check_mpi(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), "MPI_Test");
    return flag != 0;
  }

  void begin() {
    has_sums_ = !whole_.summed.empty();
    has_gathered_ = !whole_.gathered.empty() || !has_sums_;
    if (has_sums_) {
      sums_ = message_to_sum(whole_);
      check_mpi(MPI_Iallreduce(MPI_IN_PLACE, sums_.data(), count_for_mpi(sums_.size()), MPI_UINT64_T, MPI_SUM,
                               state_->comm(), &of_sums_),
                "MPI_Iallreduce");
    }
    if (has_gathered_) {
      mine_ = message_to_gather(whole_);
      bytes_ = mine_.size();
      if (state_->is_grouped()) {
        send_up(0);
      } else {
        all_.resize(bytes_ * static_cast<std::size_t>(state_->size));
        const int count = count_for_mpi(all_.size()) / state_->size;
        check_mpi(
            MPI_Iallgather(mine_.data(), count, MPI_BYTE, all_.data(), count, MPI_BYTE, state_->comm(), &of_step_),
            "MPI_Iallgather");
      }
    }
  }

  void send_up(std::size_t level) {
    group_level& group = state_->levels()[level];
    if (group.rank == 0) all_.resize(bytes_ * static_cast<std::size_t>(group.size));
    const int count = count_for_mpi(bytes_ * static_cast<std::size_t>(group.size)) / group.size;
    check_mpi(MPI_Igather(mine_.data(), count, MPI_BYTE, all_.data(), count, MPI_BYTE, 0, group.up.get(), &of_step_),
              "MPI_Igather");
    level_ = level;
  }
  void send_down(std::size_t level) {
    group_level& group = state_->levels()[level];
    check_mpi(MPI_Ibcast(mine_.data(), count_for_mpi(bytes_), MPI_BYTE, 0, group.down.get(), &of_step_), "MPI_Ibcast");
    level_ = level;
    is_going_down_ = true;
  }
  void take_whole(const std::byte* message) {
    std::uint64_t failed = 0;
    std::memcpy(&failed, message, status_bytes);
    failed_ = static_cast<std::int64_t>(failed);
    whole_.gathered.assign(message + status_bytes, message + bytes_);
    is_over_everywhere_ = true;
  }
  /// The step's request is over.
  void finish_step() {
    if (!state_->is_grouped()) {
      join_messages(all_.data(), state_->size, bytes_, join_);
      take_whole(all_.data());
    } else if (is_going_down_) {
      if (level_ == 0) {
        take_whole(mine_.data());
      } else {
        send_down(level_ - 1);
      }
    } else {
      group_level& group = state_->levels()[level_];
      if (group.rank == 0) {
        join_messages(all_.data(), group.size, bytes_, join_);
        mine_.assign(all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(bytes_));
      }
      if (group.rank == 0 && level_ + 1 < state_->levels().size()) {
        send_up(level_ + 1);
      } else {
        send_down(level_);
      }
    }
  }

  mpi_state* state_;
  std::shared_ptr<part_to_come> part_;  ///< until it has begun, unless it was there
  join_parts join_;
  bool has_begun_ = false;
  bool has_sums_ = false;
  bool has_gathered_ = false;
  bool is_going_down_ = false;
  bool is_over_everywhere_ = false;
  std::atomic<bool> is_complete_ = false;  ///< set with all_states' mutex held
  std::size_t bytes_ = 0;
  std::size_t level_ = 0;
  std::exception_ptr error_;  ///< of MPI's, or memory's, when it began
  std::vector<std::uint64_t> sums_;
  std::vector<std::byte> mine_;
  std::vector<std::byte> all_;
  MPI_Request of_sums_ = MPI_REQUEST_NULL;
  MPI_Request of_step_ = MPI_REQUEST_NULL;
};

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

void advance_all() {
  all_states& all = all_states::get();
  const std::lock_guard lock(all.mutex);
  for (mpi_state* const state : all.states) state->advance();
}

/// Of one rank, where whoever looks takes the part.
class exchange_of_one final : public rank_exchange {
 public:
  explicit exchange_of_one(std::shared_ptr<part_to_come> part) : part_{std::move(part)} {}
  bool is_done() override { return part_ == nullptr || part_->is_ready(); }
  void wait() override {
    if (part_ == nullptr) return;
    whole_ = std::exchange(part_, nullptr)->take();
    failed_ = whole_.has_failed ? 1 : 0;
  }

 private:
  std::shared_ptr<part_to_come> part_;
};

}  // namespace

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
    one->look(is_first);
    is_first = is_first && one->is_complete();
  }
  while (!under_way_.empty() && under_way_.front()->is_complete()) under_way_.pop_front();
}

void check_rank_call(mpi_state& state, const rank_call& call) {
  state.require_mpi(call.name);
  if (state.size == 1 || !state.options.check_calls) return;
  const std::uint64_t hash =
      hash_of(call.has_first ? "first" : "",
              hash_of(call.reducers, hash_of(call.label, hash_of(call.name, 14'695'981'039'346'656'037ULL))));
  std::uint64_t least[] = {hash, ~hash};
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Iallreduce(MPI_IN_PLACE, least, 2, MPI_UINT64_T, MPI_MIN, state.ahead(), &request), "MPI_Iallreduce");
  wait_for(request);
  if (least[0] != hash || least[1] != ~hash) {
    throw state_error(std::string(call.name) +
                      " over ranks: ranks make different calls; on this one it has the label \"" +
                      (call.label == nullptr ? "" : call.label) + "\" and reduces by " + call.reducers);
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

int ranks_of(const mpi_state& state) noexcept { return state.size; }

std::int64_t exchange_now(mpi_state& state, rank_part& part, const join_parts& join) {
  if (state.size == 1) return part.has_failed ? 1 : 0;
  const auto exchange = std::make_shared<exchange_under_way>(state, std::move(part), join);
  state.add(exchange);
  exchange->wait();
  part = exchange->whole();
  return exchange->failed();
}

std::shared_ptr<rank_exchange> begin_exchange(mpi_state& state, std::shared_ptr<part_to_come> part, join_parts join) {
  if (state.size == 1) return std::make_shared<exchange_of_one>(std::move(part));
  auto one = std::make_shared<exchange_under_way>(state, std::move(part), std::move(join));
  state.add(one);
  advance_all();
  return one;
}

void throw_failed_ranks(const char* call, std::int64_t failed) {
  throw rank_error(std::string(call) + " over ranks: " + std::to_string(failed) +
                   (failed == 1 ? " rank has failed" : " ranks have failed") +
                   " in its own part, and throws why; there is no result on any rank");
}

}  // namespace detail

mpi::mpi(MPI_Comm communicator, const mpi_options& options)
    : state_{std::make_shared<detail::mpi_state>(communicator, options)} {}
mpi::~mpi() = default;

int mpi::rank() const noexcept { return state_->rank; }
int mpi::size() const noexcept { return state_->size; }
const mpi_options& mpi::options() const noexcept { return state_->options; }

}  // namespace fanin
