// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <cstddef>
#include <exception>
#include <string>

#include <fanin/detail/composite.hpp>
#include <fanin/detail/finished_composite.hpp>
#include <fanin/detail/md_places.hpp>
#include <fanin/detail/md_shape.hpp>
#include <fanin/detail/ranks_places.hpp>
#include <fanin/error.hpp>
#include <fanin/execution.hpp>
#include <fanin/finished.hpp>
#include <fanin/pending.hpp>
#include <fanin/tuple.hpp>

/// What calls over MPI's ranks have in common: how they are told from others, and that their hosts wait.
namespace fanin::detail {

/// Words that tell a type from others, the same on all ranks of a program; there without run-time type information.
template <class T>
constexpr const char* name_of() {
  return __PRETTY_FUNCTION__;
}

/// Of what a call has, the types that are the same on all ranks: g may be a lambda of a template, one for each backend.
template <class What>
struct without_g {
  using type = What;
};
template <class G, class... R>
struct without_g<finished_reducers<G, R...>> {
  using type = tuple<R...>;
};
template <class What>
using reducers_without_g = typename without_g<What>::type;

/// The caller's reducers, of whichever stand for them: words that say them are name_of() of this.
template <class R>
struct written_reducer {
  using type = R;
};
template <class R, class Part>
struct written_reducer<places_of_part<R, Part>> : written_reducer<R> {};
template <class R, class Part>
struct written_reducer<counted_in_whole<R, Part>> : written_reducer<R> {};
template <class... What>
struct written_reducers {
  using type = tuple<typename written_reducer<What>::type...>;
};
template <class... R>
struct written_reducers<composite<R...>> : written_reducers<R...> {};
template <class G, class... R>
struct written_reducers<finished_reducers<G, R...>> : written_reducers<R...> {};

/// Whether the caller finishes the reducers: what gives places has a g of Fanin's own.
template <class Composite>
inline constexpr bool finishes = Composite::is_finished;
template <std::size_t Rank, iterate Order, class... R, class... Part>
inline constexpr bool finishes<finished_composite<md_placed<md_results_themselves, Rank, Order, R...>, Part...>> =
    false;

/// What a shape tells of its indices, in the caller's words.
template <class Shape>
struct words_of_shape {
  static constexpr const char* order = nullptr;
};
template <std::size_t Rank, iterate Order>
struct words_of_shape<md_shape<Rank, Order>> {
  static constexpr std::size_t dimensions = Rank;
  static constexpr const char* order = Order == iterate::right ? "iterate::right" : "iterate::left";
};

/// A rank's part of a call, whose accumulators are still to come from its backend, as what the exchange takes. What
/// goes wrong with it is the part's, and not the call's, for which other ranks wait.
template <class ToCome, class Accumulators>
class part_under_way : public ToCome {
 public:
  using ToCome::ToCome;

  bool is_ready() noexcept override {
    try {
      return failure_ != nullptr || accumulators_.ready();
    } catch (...) {
      return true;
    }
  }
  /// What may fail.
  template <class Step>
  void attempt(const Step& step) {
    if (failure_ != nullptr) return;
    try {
      step();
    } catch (...) {
      failure_ = std::current_exception();
    }
  }
  /// Why it failed, when it has been taken.
  const std::exception_ptr& failure() const noexcept { return failure_; }

 protected:
  pending<Accumulators> accumulators_;

 private:
  std::exception_ptr failure_;
};

/// A call of an object for which its host waits.
template <class Exec>
class waiting_call {
 public:
  using handle_type = typename backend<Exec>::handle_type;

  waiting_call(const handle_type& handle, const char* name) : handle_{handle}, name_{name} {}

  /// On devices, whose streams may capture.
  void check_may_wait() const {
    if constexpr (!is_host_backend<Exec>) {
      if (backend<Exec>::is_capturing(handle_, name_)) {
        throw state_error(std::string(name_) +
                          " over ranks: the host waits for the other ranks in this call, and the object's stream is "
                          "being captured into a graph; call it outside the capture");
      }
    }
  }
  /// A capture refuses calls that wait, and of those over ranks in other words.
  template <class Call>
  auto in_words(const Call& call) const {
    try {
      return call();
    } catch (const state_error&) {
      check_may_wait();
      throw;
    }
  }

 protected:
  handle_type handle_;
  const char* name_;
};

}  // namespace fanin::detail
