// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>

#include <fanin/mpi/mpi.hpp>

#pragma GCC visibility push(default)

/// What ranks hand each other of one call.
namespace fanin::detail {

/// So many of T, zeros first. Of one layout in all units of a program, which std::vector has not: another one under
/// -D_GLIBCXX_DEBUG.
template <class T>
class rank_array {
 public:
  rank_array() = default;
  explicit rank_array(std::size_t size) : data_{std::make_unique<T[]>(size)}, size_{size} {}
  rank_array(const T* first, const T* last) : rank_array(static_cast<std::size_t>(last - first)) {
    std::copy(first, last, data());
  }
  rank_array(const rank_array& other) : rank_array(other.begin(), other.end()) {}
  rank_array(rank_array&& other) noexcept
      : data_{std::move(other.data_)}, size_{std::exchange(other.size_, std::size_t{0})} {}
  rank_array& operator=(rank_array other) noexcept {
    data_ = std::move(other.data_);
    size_ = other.size_;
    return *this;
  }
  ~rank_array() = default;

  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  T* data() noexcept { return data_.get(); }
  const T* begin() const noexcept { return data_.get(); }
  const T* end() const noexcept { return data_.get() + size_; }

 private:
  std::unique_ptr<T[]> data_;
  std::size_t size_ = 0;
};

/// A rank's part.
struct rank_part {
  rank_array<std::byte> gathered;    ///< joined in the order of the ranks
  rank_array<std::uint64_t> summed;  ///< added up, modulo 2^64
  bool has_failed = false;           ///< and what it has counts for nothing
};
/// A rank's part that its backend may still be at: what a call's exchange begins with, in its turn.
class part_to_come {
 public:
  part_to_come() = default;
  part_to_come(const part_to_come&) = delete;
  part_to_come& operator=(const part_to_come&) = delete;
  virtual ~part_to_come() = default;

  /// Whether take() would not wait. Does not wait.
  virtual bool is_ready() noexcept = 0;
  /// Once. A part that failed says so, and is as large as any other.
  virtual rank_part take() = 0;
};
/// Joins what a later rank has to what those before it have, while none of them has failed. Where there are no groups,
/// in the thread that waits, so with its rounding mode and stack; else in whichever call goes on with the exchange.
using join_parts = std::function<void(std::byte* into, const std::byte* from)>;

/// Many results, and a rank's part of them: accumulators, one behind the other. What is done with them is, where they
/// are few, in the thread that waits, else in whichever call goes on with the exchange.
class many_to_come {
 public:
  /// Of so many results, and so many bytes of an accumulator and of what comes of it; alike on all ranks.
  many_to_come(std::size_t count, std::size_t of_accumulator, std::size_t of_result)
      : results{count}, accumulator_bytes{of_accumulator}, result_bytes{of_result} {}
  many_to_come(const many_to_come&) = delete;
  many_to_come& operator=(const many_to_come&) = delete;
  virtual ~many_to_come() = default;

  /// Whether take() would not wait. Does not wait.
  virtual bool is_ready() noexcept = 0;
  /// Once: where this rank's are, which may be joined to. Null where the part failed.
  virtual std::byte* take() = 0;
  /// Where results go, of a part that has not failed: perhaps to where its accumulators are, one behind the other as
  /// they are.
  virtual std::byte* place_of_results() const noexcept = 0;
  /// Throws where that has gone since, as a device's memory does with its context.
  virtual void check_place() const = 0;
  /// Those of a later rank to those before it, of so many results.
  virtual void join(std::byte* into, const std::byte* from, std::size_t some) const = 0;
  /// What comes of all ranks' accumulators; from the first to the last, one at a time.
  virtual void make_results(std::byte* to, const std::byte* joined, std::size_t some) const = 0;

  const std::size_t results;
  const std::size_t accumulator_bytes;
  const std::size_t result_bytes;
};

/// One call's exchange: all ranks begin them in the order of their calls, one that waits for its part before those
/// behind it. It keeps its memory until it is done.
class rank_exchange {
 public:
  rank_exchange() = default;
  rank_exchange(const rank_exchange&) = delete;
  rank_exchange& operator=(const rank_exchange&) = delete;
  virtual ~rank_exchange() = default;

  /// Whether the whole's part is there. Does not wait.
  virtual bool is_done() = 0;
  virtual void wait() = 0;
  /// Of all ranks, when it is done; many results are where they go.
  const rank_part& whole() const { return whole_; }
  /// How many ranks have failed.
  std::int64_t failed() const { return failed_; }

 protected:
  rank_part whole_;
  std::int64_t failed_ = 0;
};

struct rank_call;

/// This rank does not take part in a call, for which it had no memory: the others wait for it there, and no later call
/// over the communicator, which would be taken for that one, goes out from here.
void leave_step(mpi_state& state) noexcept;
/// Makes what a rank needs to take part.
template <class Make>
auto make_for_step(mpi_state& state, const Make& make) {
  try {
    return make();
  } catch (const std::bad_alloc&) {
    detail::leave_step(state);
    throw;
  }
}

/// Throws state_error where MPI cannot be called from here, or this rank has not taken part in a call before, and where
/// ranks make different calls, if they compare them.
void check_rank_call(mpi_state& state, const rank_call& call);
/// How many indices the ranks before this one have. Collective.
std::int64_t indices_before(mpi_state& state, std::int64_t count);
/// Makes the bounds of a rank's box those of the smallest one that holds all ranks', or, where all are empty, of none.
/// Collective; `call` has so many dimensions.
void widen_bounds(mpi_state& state, const rank_call& call, bool is_empty, std::span<std::int64_t> lower,
                  std::span<std::int64_t> upper);
int ranks_of(const mpi_state& state) noexcept;
/// Waits; `part` becomes the whole's. Gives how many ranks have failed.
std::int64_t exchange_now(mpi_state& state, rank_part& part, const join_parts& join);
/// May return before it is done, and before it has begun, which it does when its part and those of all calls before it
/// are there and this process is inside of a call of Fanin's over ranks, ready() and get() among them.
std::shared_ptr<rank_exchange> begin_exchange(mpi_state& state, std::shared_ptr<part_to_come> part, join_parts join);
/// The same of many results; `waits` where all ranks wait for it in this call.
std::shared_ptr<rank_exchange> begin_exchange(mpi_state& state, std::shared_ptr<many_to_come> many, bool waits);
/// Throws rank_error.
[[noreturn]] void throw_failed_ranks(const char* call, std::int64_t failed);

}  // namespace fanin::detail

#pragma GCC visibility pop
