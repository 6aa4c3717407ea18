// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <fanin/cuda/grid/finisher.cuh>
#include <fanin/cuda/settled_words.cuh>
#include <fanin/detail/composite.hpp>
#include <fanin/detail/finished_composite.hpp>
#include <fanin/device/peer_unit.cuh>
#include <fanin/device/tagged_unit.cuh>
#include <fanin/device/timer.hpp>
#include <fanin/nccl/exchange.hpp>
#include <fanin/nccl/join.cuh>

/// A call over ranks that reach each other's memory is one launch: the thread that holds a part's accumulators writes
/// them into all others' memory, waits for theirs, and joins. They go in 16-byte units, of three words and what says of
/// which call they are, as partial results go from block to block.
///
/// Units of a call stand in one of three slots of a rank's memory for each other one, in turn. Whoever has all messages
/// of call k knows that all ranks have taken those of call k - 1: so others may write those of call k + 1 by now, and
/// none later, and a slot's units have been taken when they are written again.
namespace fanin::detail {

/// What a rank sends for a reducer, as 32-bit words, and what it makes of all ranks': accumulators, as they are.
template <class R>
struct sent_accumulator {
  using accumulator = reducer_accumulator_t<R>;
  using joined_type = accumulator;
  static constexpr int most_words = static_cast<int>((sizeof(accumulator) + 3) / 4);

  /// Whose result of the part is sent.
  static constexpr auto reducer(const R& r) { return reducer_of_part<R>::of(r); }
  __device__ static int put(const accumulator& value, std::uint32_t* words) {
    std::uint32_t settled[most_words] = {};
    detail::settled_words(value, settled);
    ::memcpy(words, settled, sizeof(settled));
    return most_words;
  }
  __device__ static joined_type nothing(const R& r) { return r.identity(); }
  __device__ static int take(const R& r, joined_type& into, const std::uint32_t* words, bool is_first) {
    if (is_first) {
      ::memcpy(static_cast<void*>(&into), words, sizeof(accumulator));
    } else {
      accumulator other = into;
      ::memcpy(static_cast<void*>(&other), words, sizeof(accumulator));
      r.join(into, other);
    }
    return most_words;
  }
  __device__ static reducer_result_t<R> result(const R& r, joined_type& joined) {
    return detail::result_value(r, joined);
  }
};

/// As nccl/exact.hpp has it of exact sums.
template <class R>
struct sent_by {
  using type = sent_accumulator<R>;
};
template <class R>
using sent = typename sent_by<R>::type;

/// A word that says how many there are, twice, and whether the rank has failed; and what is sent for each reducer.
template <class Plain>
struct peer_message;
template <class... R>
struct peer_message<composite<R...>> {
  using joined_type = tuple<typename sent<R>::joined_type...>;

  static constexpr int most_words = 1 + (sent<R>::most_words + ...);
  static constexpr int most_units = (most_words + 2) / 3;
  static constexpr int units_at_once = most_units < 8 ? most_units : 8;  ///< of a slot, of which those are a part
  static constexpr bool is_short = most_units <= 2;                      ///< so that registers hold it
  static constexpr bool fits = most_units <= nccl_peers::units_of_slot;
  static constexpr int room = (most_units + units_at_once) * 3;

  static FANIN_FUNCTION constexpr int units_of(std::uint32_t first_word) {
    return static_cast<int>((first_word / 2 + 2) / 3);
  }
  static auto reducers_of_part(const composite<R...>& c) {
    return c.changed([]<class Reducer>(auto, const Reducer& r) { return sent<Reducer>::reducer(r); });
  }
  template <class... Value>
  __device__ static void put(std::uint32_t* words, const Value&... values) {
    int at = 1;
    ((at += sent<R>::put(values, words + at)), ...);
    end(words, at, 0);
  }
  __device__ static void put_failure(std::uint32_t* words) { end(words, 1, 1); }
  __device__ static joined_type nothing(const composite<R...>& c) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return joined_type{{{sent<R>::nothing(get<I>(c.reducers))}...}};
    }(std::index_sequence_for<R...>{});
  }
  __device__ static void take(const composite<R...>& c, joined_type& into, const std::uint32_t* words, bool is_first) {
    int at = 1;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      ((at += sent<R>::take(get<I>(c.reducers), get<I>(into), words + at, is_first)), ...);
    }(std::index_sequence_for<R...>{});
  }
  template <class Composite>
  __device__ static auto result(const Composite& c, joined_type& joined) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return c.of_results(sent<R>::result(get<I>(c.reducers), get<I>(joined))...);
    }(std::index_sequence_for<R...>{});
  }

 private:
  /// The last unit is whole.
  __device__ static void end(std::uint32_t* words, int count, std::uint32_t failed) {
    words[0] = static_cast<std::uint32_t>(count) * 2 + failed;
    words[count] = 0;
    words[count + 1] = 0;
  }
};

/// The number of a call: not 0, which is what cleared memory gives, and the next slot at each, when it begins anew too.
FANIN_FUNCTION constexpr std::uint32_t number_after(std::uint32_t number) { return number + 1 == 0 ? 1 : number + 1; }
static_assert(UINT32_MAX % nccl_peers::slots == 0);

/// What memory says of a call when it begins: the number of the last one, and whether ranks have been given up.
struct peers_control {
  std::uint64_t words;

  __device__ static peers_control of(const nccl_peers& peers) {
    return {load_half_unit(reinterpret_cast<const tagged_unit*>(peers.control))};
  }
  __device__ std::uint32_t last_number() const { return static_cast<std::uint32_t>(words); }
  __device__ bool are_given_up() const { return words >> 32 != 0; }
};

/// By one thread, a warp's first.
class peer_exchange {
 public:
  __device__ peer_exchange(const nccl_peers& peers, const peers_control& control)
      : peers_{peers}, number_{number_after(control.last_number())}, given_up_{control.are_given_up()} {}

  template <class Message>
  __device__ void send(const std::uint32_t* word) const {
    if (given_up_) return;
    const int units = Message::units_of(word[0]);
    unsigned char* to = peers_.memory + offset(peers_.rank, number_);
#pragma unroll 1
    for (int peer = 0; peer < peers_.size; ++peer, to += peers_.distance) {
      if (peer == peers_.rank) continue;
#pragma unroll(Message::most_units <= 4 ? Message::most_units : 1)
      for (int k = 0; k < units; ++k) {
        const std::uint32_t* const three = word + 3 * k;
        store_unit_of_peer(reinterpret_cast<tagged_unit*>(to) + k,
                           {{three[0], three[1], three[2]}, three[0] ^ three[1] ^ three[2] ^ number_});
      }
    }
  }

  /// Waits for a rank's message. False: it did not come.
  template <class Message>
  __device__ bool receive(std::uint32_t* word, int rank) {
    constexpr int at_once = Message::units_at_once;
    const tagged_unit* const from = slot(rank, number_);
    int units = 1;  // until the first tells
#pragma unroll 1
    for (int first = 0; first < (Message::is_short ? 1 : units); first += at_once) {
      tagged_unit unit[at_once];
      for (int looks = 1; !given_up_; ++looks) {
#pragma unroll
        for (int k = 0; k < at_once; ++k) unit[k] = load_unit_of_peer(from + first + k);
        if (first == 0 && is_there(unit[0])) units = Message::units_of(unit[0].payload[0]);
        if (units > Message::most_units) give_up();  // of another call
        bool there = true;
#pragma unroll
        for (int k = 0; k < at_once; ++k) there &= first + k >= units || is_there(unit[k]);
        if (there || given_up_) break;
        if (looks % looks_before_a_question == 0) ask();
      }
      if (given_up_) return false;
#pragma unroll
      for (int k = 0; k < at_once; ++k) {
        for (int i = 0; i < 3; ++i) word[3 * (first + k) + i] = unit[k].payload[i];
      }
    }
    return true;
  }

  /// Behind the last message.
  __device__ void end() const {
    if (given_up_) return;
    peers_.control[0] = number_;
    // Now and then units that were not written again for long, so that their number does not come once more.
    if (number_ % calls_between_clearings >= nccl_peers::slots) return;
#pragma unroll 1
    for (int rank = 0; rank < peers_.size; ++rank) {
      tagged_unit* const old = slot(rank, number_ + 2);
#pragma unroll 1
      for (int k = 0; k < nccl_peers::units_of_slot; ++k) store_unit_of_peer(old + k, {});
    }
  }

 private:
  static constexpr std::uint32_t calls_between_clearings = 1 << 20;

  __device__ bool is_there(const tagged_unit& unit) const {
    return (unit.payload[0] ^ unit.payload[1] ^ unit.payload[2] ^ unit.tag) == number_;
  }
  /// In each rank's memory, of what one sends.
  __device__ unsigned offset(int from, std::uint32_t number) const {
    const auto size = static_cast<unsigned>(peers_.size);
    return (number % nccl_peers::slots * size + static_cast<unsigned>(from)) * (nccl_peers::units_of_slot * 16);
  }
  /// In this one's.
  __device__ tagged_unit* slot(int from, std::uint32_t number) const {
    return reinterpret_cast<tagged_unit*>(peers_.memory + peers_.rank * peers_.distance + offset(from, number));
  }
  /// Gives up where a host did, or patience ends. It stays so: other ranks do not know of it.
  __device__ void ask() {
    given_up_ = load_unit_of_peer(reinterpret_cast<const tagged_unit*>(peers_.control)).payload[1] != 0;
    const std::uint64_t now = nanoseconds_now();
    if (begin_ == 0) begin_ = now;
    if (!given_up_ && now - begin_ > peers_.patience_ns) give_up();
  }
  __device__ void give_up() {
    given_up_ = true;
    peers_.control[1] = 1;
  }

  static constexpr int looks_before_a_question = 32;

  const nccl_peers& peers_;
  std::uint64_t begin_ = 0;  ///< of the first question
  std::uint32_t number_;
  bool given_up_;
};

/// As nccl_answer, of any result.
template <class Result>
struct peer_answer {
  alignas(nccl_answer<Result>) unsigned char bytes[sizeof(nccl_answer<Result>)];
};

/// What finishes a part where ranks reach each other's memory: g of finished(g, ...), whose arguments are what a part
/// sends. What it gives is for the host; device memory it writes itself, since a result may not come.
template <class Composite>
struct exchange_of_peers {
  using result_type = typename Composite::result_type;
  using message = peer_message<typename Composite::plain_type>;

  Composite c;
  nccl_peers peers;
  nccl_destination<result_type> destination;  ///< its mailbox is not used

  template <class... Value>
  __device__ peer_answer<result_type> operator()(const Value&... own) const {
    return with(peers_control::of(peers), own...);
  }
  /// The same where what memory says is there already.
  template <class... Value>
  __device__ peer_answer<result_type> with(const peers_control& control, const Value&... own) const {
    return exchanged(control, [&](std::uint32_t* words) { message::put(words, own...); });
  }
  __device__ void fail() const {
    exchanged(peers_control::of(peers), [](std::uint32_t* words) { message::put_failure(words); });
  }

 private:
  template <class Put>
  __device__ peer_answer<result_type> exchanged(const peers_control& control, const Put& put) const {
    peer_exchange exchange(peers, control);
    std::uint32_t mine[message::room];
    std::uint32_t other[message::room];
    if constexpr (message::is_short) ::memset(other, 0, sizeof(other));
    put(mine);
    exchange.template send<message>(mine);
    auto joined = message::nothing(c);
    std::uint64_t failed = 0;
#pragma unroll 1
    for (int rank = 0; rank < peers.size; ++rank) {
      const bool is_own = rank == peers.rank;
      if (!is_own && !exchange.template receive<message>(other, rank)) {
        failed |= rank_did_not_come;
        break;
      }
      const std::uint32_t* words = other;
      if constexpr (message::is_short) {  // an address that is chosen is one of local memory
#pragma unroll
        for (int k = 0; k < message::room; ++k) other[k] = is_own ? mine[k] : other[k];
      } else if (is_own) {
        words = mine;
      }
      if ((words[0] & 1) != 0) failed |= part_failed;
      // All messages are waited for, but nothing of the user's is called where a rank has failed.
      if (failed == 0) message::take(c, joined, words, rank == 0);
    }
    exchange.end();
    peer_answer<result_type> bytes;
    if (failed == 0) {
      const nccl_answer<result_type> answer{message::result(c, joined), 0};
      if (destination.out != nullptr) *destination.out = answer.result;
      ::memcpy(bytes.bytes, &answer, sizeof(bytes));
    } else {
      bytes = {};
      reinterpret_cast<nccl_answer<result_type>&>(bytes).failed = failed;
      if (destination.failures != nullptr) *static_cast<volatile std::uint64_t*>(destination.failures) = failed;
    }
    return bytes;
  }
};

/// The number of a call, and whether ranks have been given up, come with the last look at other blocks, and are no
/// older than that: a host that gives ranks up waits a moment, and no longer, for whoever has not seen it.
template <class Composite, class... Reducer>
struct finisher<finished_composite<exchange_of_peers<Composite>, Reducer...>> {
  static constexpr bool asks_memory = true;

  const finished_composite<exchange_of_peers<Composite>, Reducer...>& c;
  peers_control control{};

  __device__ void look() { control = peers_control::of(c.g.peers); }
  template <class... Result>
  __device__ auto operator()(const Result&... results) const {
    return c.g.with(control, results...);
  }
};

template <class G, class... Reducer>
constexpr finished_composite<G, Reducer...> finished_part(const G& g, const composite<Reducer...>& reducers) {
  return {reducers, g};
}

/// A rank whose part failed says so.
template <class Composite>
__global__ void __launch_bounds__(32) send_failure_kernel(const exchange_of_peers<Composite> exchange) {
  if (threadIdx.x == 0) exchange.fail();
}
template <class Composite>
void launch_failure(cuda_session& session, const exchange_of_peers<Composite>& exchange) {
  void* arguments[] = {detail::argument(exchange)};
  detail::launch_warp(session, detail::kernel_pointer(&send_failure_kernel<Composite>), "send_failure", arguments);
}

}  // namespace fanin::detail
