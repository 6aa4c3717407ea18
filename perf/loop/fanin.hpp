// SPDX-License-Identifier: Apache-2.0
#pragma once

// Fanin as a library of forms.hpp, on any execution object.

#include <cstddef>
#include <cstdint>
#include <fanin/fanin.hpp>
#include <span>
#include <utility>

#include "contenders/functors.hpp"
#include "loop/forms.hpp"

namespace fanin_perf::cg {

/// `Place` gives the execution object, the user's kernels, and what stands in its memory.
template <class T, class Place>
class fanin_library {
 public:
  explicit fanin_library(void* stream) : place_(stream), exec_(place_.make_exec()) {}

  template <class F>
  void each(std::int64_t n, const F& f) {
    place_.each(n, f);
  }
  void dot(T* out, const T* a, const T* b, std::int64_t n) {
    fanin::transform_reduce_into(out, exec_, span(a, n), span(b, n), multiply<T>{}, fanin::sum<T>{});
  }
  void squares(T* out, const T* a, std::int64_t n) {
    fanin::transform_reduce_into(out, exec_, span(a, n), square<T>{}, fanin::sum<T>{});
  }
  template <class F>
  void sum(T* out, std::int64_t n, const F& f) {
    fanin::parallel_reduce_into(out, fanin::range(exec_, n), f, fanin::sum<T>{});
  }
  template <class F>
  T sum(std::int64_t n, const F& f) {
    return fanin::parallel_reduce(fanin::range(exec_, n), f, fanin::sum<T>{});
  }
  void read(T* to, const T* from, std::int64_t n) { place_.read(to, from, n); }
  auto& exec() { return exec_; }

 private:
  static std::span<const T> span(const T* a, std::int64_t n) { return {a, static_cast<std::size_t>(n)}; }

  Place place_;
  decltype(std::declval<const Place&>().make_exec()) exec_;
};

/// alpha, of p.q
template <class T>
struct step_length {
  const T* square;
  FANIN_PERF_FUNCTION T operator()(T product) const { return *square / product; }
};

/// r.r and beta, of the new r.r
template <class T>
struct compare_to_last {
  const progress<T>* last;
  FANIN_PERF_FUNCTION progress<T> operator()(T square) const { return {square, square / last->square}; }
};

/// The same, which goes to where the next ones find it, too.
template <class T>
struct note_progress {
  progress<T>* last;
  FANIN_PERF_FUNCTION progress<T> operator()(T square) const { return *last = compare_to_last<T>{last}(square); }
};

/// As fused, with alpha and beta made at the end of the launches whose sums they need. The second result comes to the
/// host where each iteration is looked at.
template <class T, class Library>
class finished final : public form<T, Library> {
 public:
  using form<T, Library>::form;

  T step(std::int64_t) override {
    apply_and_make_alpha();
    const note_progress<T> note{&this->problem_.at->last};
    this->where_ = &note.last->square;
    const progress<T> now = fanin::parallel_reduce(range(), update_vectors(), fanin::finished(note, fanin::sum<T>{}));
    make_direction();
    return now.square;
  }

 private:
  const T* iterate(std::int64_t) override {
    progress<T>* const last = &this->problem_.at->last;
    apply_and_make_alpha();
    fanin::parallel_reduce_into(last, range(), update_vectors(),
                                fanin::finished(compare_to_last<T>{last}, fanin::sum<T>{}));
    make_direction();
    return &last->square;
  }

  auto range() { return fanin::range(this->library_.exec(), this->n()); }
  update<T> update_vectors() const { return this->update_by({&this->problem_.at->alpha}); }
  void apply_and_make_alpha() {
    const step_length<T> alpha{&this->problem_.at->last.square};
    fanin::parallel_reduce_into(&this->problem_.at->alpha, range(), this->apply_matrix(),
                                fanin::finished(alpha, fanin::sum<T>{}));
  }
  void make_direction() { this->library_.each(this->n(), this->direct_by({&this->problem_.at->last.beta})); }
};

}  // namespace fanin_perf::cg
