// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include <fanin/detail/finished_composite.hpp>
#include <fanin/detail/ranks.hpp>
#include <fanin/detail/ranks_call.hpp>
#include <fanin/detail/ranks_many.hpp>
#include <fanin/detail/ranks_rows.hpp>
#include <fanin/execution.hpp>
#include <fanin/macros.hpp>
#include <fanin/mpi/call.hpp>
#include <fanin/mpi/exchange.hpp>
#include <fanin/mpi/message.hpp>
#include <fanin/pending.hpp>

/// Calls with many results over MPI's ranks.
namespace fanin::detail {

/// Memory that the host reaches and the backend's work, too.
template <class Exec, std::size_t Alignment>
std::shared_ptr<void> shared_room([[maybe_unused]] const typename backend<Exec>::handle_type& handle,
                                  std::size_t bytes) {
  if constexpr (is_host_backend<Exec>) {
    void* const memory = ::operator new(bytes, std::align_val_t{Alignment});
    return {memory, [](void* made) { ::operator delete(made, std::align_val_t{Alignment}); }};
  } else {
    static_assert(Alignment <= 128, "fanin: over ranks accumulators on devices are aligned to 128 bytes at most");
    return backend<Exec>::shared_room(handle, bytes);
  }
}

/// What the reducers give of each result, with which the call is finished: by the host, or where the object's memory is
/// not the host's by its device. Made where the call is, for whenever they come.
template <class Composite>
using results_of_many = decltype(std::declval<const typename Composite::one_type&>().results_on_host(
    std::declval<const typename Composite::accumulator_type&>()));

template <class Exec, class Composite>
class last_step_of_many {
 public:
  using results_type = results_of_many<Composite>;

  explicit last_step_of_many(const typename backend<Exec>::handle_type&) {}

  void check() const {}
  template <class Put, class Left>
  void operator()(const Put& put, const Left& left, const Composite& all, std::int64_t count,
                  const std::byte* results) const {
    for (std::int64_t at = 0; at < count; ++at, results += sizeof(results_type)) {
      put.put(at, finished(all.at(left.index_of(at)).g, detail::copy_at<results_type>(results)));
    }
  }

 private:
  template <class G, class... Result>
  static auto finished(const G& g, const tuple<Result...>& results) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return finish_on_host<G>::call(g, get<I>(results)...);
    }(std::index_sequence_for<Result...>{});
  }
};

/// f of for_aside.
template <class Put, class Left, class Composite>
struct put_results {
  Put put;
  Left left;
  Composite all;
  const results_of_many<Composite>* results;

  FANIN_FUNCTION void operator()(std::int64_t at) const {
    const auto one = all.at(left.index_of(at));
    put.put(at, detail::finish_with<typename Composite::result_type>(one.g, results[at]));
  }
};
template <class Exec, class Composite>
  requires(!is_host_backend<Exec>)
class last_step_of_many<Exec, Composite> {
 public:
  using results_type = results_of_many<Composite>;

  explicit last_step_of_many(const typename backend<Exec>::handle_type& handle)
      : for_each_{backend<Exec>::template for_aside<Composite>(handle)} {}

  /// Whether the context is there in which the object's memory is.
  void check() const { for_each_.check(); }
  template <class Put, class Left>
  void operator()(const Put& put, const Left& left, const Composite& all, std::int64_t count,
                  const std::byte* results) const {
    for_each_(count, put_results<Put, Left, Composite>{put, left, all, reinterpret_cast<const results_type*>(results)});
  }

 private:
  decltype(backend<Exec>::template for_aside<Composite>(
      std::declval<const typename backend<Exec>::handle_type&>())) for_each_;
};

/// A call's many results, and this rank's part of them.
template <class Exec, class Composite>
class many_of_call final : public part_under_way<many_to_come, void> {
 public:
  many_of_call(const Composite& all, std::int64_t count)
      : part_under_way<many_to_come, void>{static_cast<std::size_t>(count), sizeof(value), sizeof(results_type)},
        all_{all} {}

  template <class Part>
  void begin(const typename backend<Exec>::handle_type& handle, const Part& part) {
    step_.emplace(handle);
    const std::size_t bytes = before_results() + (goes_in_place ? sizeof(value) : sizeof(results_type)) * results;
    room_ = detail::shared_room<Exec, alignment>(handle, bytes);
    accumulators_ = part.into_room_later(static_cast<value*>(room_.get()), detail::reducers_of_part(all_.plain()));
  }

  std::byte* take() override {
    std::byte* taken = nullptr;
    attempt([&] {
      accumulators_.get();
      check_place();
      taken = static_cast<std::byte*>(room_.get());
    });
    return taken;
  }
  std::byte* place_of_results() const noexcept override {
    return static_cast<std::byte*>(room_.get()) + before_results();
  }
  void check_place() const override { step_->check(); }
  void join(std::byte* into, const std::byte* from, std::size_t some) const override {
    for (std::size_t at = 0; at < some; ++at, into += sizeof(value), from += sizeof(value)) {
      value joined = detail::copy_at<value>(into);
      join_one(joined, detail::copy_at<value>(from), std::make_index_sequence<plain_type::size>{});
      std::memcpy(into, std::addressof(joined), sizeof(value));
    }
  }
  void make_results(std::byte* to, const std::byte* joined, std::size_t some) const override {
    const auto anywhere = all_.at({});
    for (std::size_t at = 0; at < some; ++at, to += sizeof(results_type), joined += sizeof(value)) {
      const results_type made =
          anywhere.results_on_host(rank_message<plain_type>::of_result(detail::copy_at<value>(joined)));
      std::memcpy(to, std::addressof(made), sizeof(made));
    }
  }

  /// Writes what comes of the results, when the exchange is over.
  template <class Put, class Left>
  void write(const Put& put, const Left& left) const {
    check_place();
    (*step_)(put, left, all_, static_cast<std::int64_t>(results), place_of_results());
  }

 private:
  using plain_type = typename Composite::plain_type;
  using value = typename part_composite<plain_type>::result_type;
  using results_type = results_of_many<Composite>;
  /// Whether a result of so many bytes may be where its accumulators were: the next ones are behind it.
  static constexpr bool goes_in_place = sizeof(results_type) <= sizeof(value);
  static constexpr std::size_t alignment = std::max(alignof(value), alignof(results_type));

  std::size_t before_results() const noexcept {
    return goes_in_place ? 0 : (results * sizeof(value) + alignment - 1) / alignment * alignment;
  }
  template <std::size_t... I>
  void join_one(value& into, const value& from, std::index_sequence<I...>) const {
    if constexpr (sizeof...(I) == 1) {
      (get<I>(all_.reducers).join(into, from), ...);
    } else {
      (static_cast<void>(get<I>(all_.reducers).join(get<I>(into), get<I>(from))), ...);
    }
  }

  Composite all_;
  std::optional<last_step_of_many<Exec, Composite>> step_;
  std::shared_ptr<void> room_;  ///< of the part's accumulators, and of results
};

/// Waits for all ranks, and writes the results.
template <class Many, class Put, class Left>
void write_results(const char* call, const Many& many, rank_exchange& exchange, const Put& put, const Left& left) {
  exchange.wait();
  if (many.failure() != nullptr) std::rethrow_exception(many.failure());
  if (exchange.failed() != 0) detail::throw_failed_ranks(call, exchange.failed());
  many.write(put, left);
}

/// What is to come from all ranks.
template <class Many, class Put, class Left>
class pending_results_of_ranks final : public pending_slot {
 public:
  pending_results_of_ranks(std::shared_ptr<Many> many, const Put& put, const Left& left,
                           std::shared_ptr<rank_exchange> exchange)
      : many_{std::move(many)}, put_{put}, left_{left}, exchange_{std::move(exchange)} {}

  bool is_ready() noexcept override {
    try {
      return exchange_->is_done();
    } catch (...) {
      return true;  // get() says it again
    }
  }
  void take(void*, std::size_t) override {
    detail::write_results("fanin::pending::get", *many_, *exchange_, put_, left_);
  }
  void release() noexcept override { delete this; }

 private:
  std::shared_ptr<Many> many_;
  Put put_;
  Left left_;
  std::shared_ptr<rank_exchange> exchange_;
};

/// A call with many results over ranks: see detail/ranks_many.hpp.
template <class Exec>
class many_over_ranks : waiting_call<Exec> {
 public:
  using handle_type = typename backend<Exec>::handle_type;

  template <class Composite>
  many_over_ranks(mpi_state& state, const handle_type& handle, const char* name, const char* label,
                  std::type_identity<Composite>, std::int64_t results, bool has_first)
      : waiting_call<Exec>{handle, name}, state_{state}, results_{results} {
    detail::check_rank_call(state, detail::rank_call_of_many<Composite>(name, label, has_first, results));
  }

  void check_alone() const { this->check_may_wait(); }

  /// The host waits for the others, and then writes for the object.
  template <class Put, class Left, class Part, class Composite>
  void into(const Put& put, const Left& left, const Part& part, const Composite& all) const {
    const auto many = begin_part(put, part, all);
    detail::write_results(this->name_, *many, *detail::begin_exchange(state_, many, true), put, left);
  }
  /// What goes wrong with the part comes from get().
  template <class Put, class Left, class Part, class Composite>
  pending<void> later(const Put& put, const Left& left, const Part& part, const Composite& all) const {
    const auto many = begin_part(put, part, all);
    using slot = pending_results_of_ranks<many_of_call<Exec, Composite>, Put, Left>;
    auto exchange = detail::begin_exchange(state_, many, false);  // this rank takes part, whatever comes behind it
    return pending<void>(pending_handle(new slot(many, put, left, std::move(exchange))));
  }

 private:
  template <class Put, class Part, class Composite>
  auto begin_part(const Put& put, const Part& part, const Composite& all) const {
    const auto many =
        detail::make_for_step(state_, [&] { return std::make_shared<many_of_call<Exec, Composite>>(all, results_); });
    many->attempt([&] {
      detail::check_put<Exec>(this->handle_, put, this->name_);
      this->in_words([&] { many->begin(this->handle_, part); });
    });
    return many;
  }

  mpi_state& state_;
  std::int64_t results_;
};

}  // namespace fanin::detail
