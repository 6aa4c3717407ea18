// SPDX-License-Identifier: Apache-2.0
#pragma once

// An iteration of conjugate gradients in the forms that a solver's author chooses from, over any library.
//
// A library is made from a stream and has, in the order of that stream:
//   each(n, f)             f(i) for each i: the user's kernel, the same for all libraries of a place
//   dot(out, a, b, n)      a.b to *out, which is memory of the place
//   squares(out, a, n)     a.a
//   sum(out, n, f)         the sum of f(i), where each f(i) is called once
//   sum(n, f)              the same, as a value on the host
//   read(to, from, n)      copies to the host, when all that was enqueued is done
// and each form needs some of these.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness/contender.hpp"
#include "loop/kernels.hpp"

namespace fanin_perf::cg {

template <class T>
struct problem {
  vectors<T> of;
  scalars<T>* at;  ///< beside the vectors
  T square;        ///< r.r at the start
  void* stream;    ///< cudaStream_t; null on the host
};

/// Iterations, as calls: run(first, count) does iterations first, first + 1, ...; last() is r.r behind them.
template <class T>
class solver : public call {
 public:
  /// Iteration k, and its r.r on the host.
  virtual T step(std::int64_t k) = 0;
  /// x on the host; waits for what was enqueued.
  virtual std::vector<T> solution() = 0;
};

template <class T, class Library>
class form : public solver<T> {
 public:
  explicit form(const problem<T>& all) : problem_(all), library_(all.stream), where_(all.at->squares) {}

  void run(std::int64_t first, std::int64_t count) final {
    for (std::int64_t k = first; k < first + count; ++k) where_ = iterate(k);
  }
  T step(std::int64_t k) override {
    where_ = iterate(k);
    return read(where_);
  }
  answer last() override { return answer::of(read(where_)); }
  std::vector<T> solution() final {
    std::vector<T> x(static_cast<std::size_t>(n()));
    library_.read(x.data(), problem_.of.x, n());
    return x;
  }

 protected:
  /// Enqueues iteration k; gives where its r.r will stand.
  virtual const T* iterate(std::int64_t k) = 0;

  std::int64_t n() const { return problem_.of.points.points(); }
  apply<T> apply_matrix() const { return {{problem_.of.points, problem_.of.p}, problem_.of.q}; }
  update<T> update_by(const factor<T>& alpha) const { return {problem_.of, alpha}; }
  direct<T> direct_by(const factor<T>& beta) const { return {problem_.of.r, problem_.of.p, beta}; }

  problem<T> problem_;
  Library library_;
  const T* where_;  ///< r.r of the last iteration

 private:
  T read(const T* from) {
    T value = 0;
    library_.read(&value, from, 1);
    return value;
  }
};

/// The kernels of a user's alone, with factors from memory: what an iteration takes without its reductions.
template <class T, class Library>
class kernels_alone final : public form<T, Library> {
 public:
  using form<T, Library>::form;

 private:
  const T* iterate(std::int64_t) override {
    const factor<T> none{&this->problem_.at->zero, &this->problem_.at->one};
    this->library_.each(this->n(), this->apply_matrix());
    this->library_.each(this->n(), this->update_by(none));
    this->library_.each(this->n(), this->direct_by(none));
    return this->problem_.at->squares;
  }
};

/// Reductions of arrays behind the kernels that write them; alpha and beta are quotients in the kernels that use them.
template <class T, class Library>
class over_arrays final : public form<T, Library> {
 public:
  using form<T, Library>::form;

 private:
  const T* iterate(std::int64_t k) override {
    const vectors<T>& v = this->problem_.of;
    scalars<T>& at = *this->problem_.at;
    T* const before = &at.squares[k % 2];
    T* const after = &at.squares[(k + 1) % 2];
    this->library_.each(this->n(), this->apply_matrix());
    this->library_.dot(&at.product, v.p, v.q, this->n());
    this->library_.each(this->n(), this->update_by({before, &at.product}));
    this->library_.squares(after, v.r, this->n());
    this->library_.each(this->n(), this->direct_by({after, before}));
    return after;
  }
};

/// Reductions whose functors do the kernels' work; alpha and beta as above.
template <class T, class Library>
class fused final : public form<T, Library> {
 public:
  using form<T, Library>::form;

 private:
  const T* iterate(std::int64_t k) override {
    scalars<T>& at = *this->problem_.at;
    T* const before = &at.squares[k % 2];
    T* const after = &at.squares[(k + 1) % 2];
    this->library_.sum(&at.product, this->n(), this->apply_matrix());
    this->library_.sum(after, this->n(), this->update_by({before, &at.product}));
    this->library_.each(this->n(), this->direct_by({after, before}));
    return after;
  }
};

/// The same with sums that come to the host, which makes alpha and beta of them.
template <class T, class Library>
class blocking final : public form<T, Library> {
 public:
  explicit blocking(const problem<T>& all) : form<T, Library>(all), square_(all.square) {}

  T step(std::int64_t k) override {
    iterate(k);
    return square_;
  }
  answer last() override { return answer::of(square_); }

 private:
  const T* iterate(std::int64_t k) override {
    const T before = k == 0 ? this->problem_.square : square_;
    const T product = this->library_.sum(this->n(), this->apply_matrix());
    square_ = this->library_.sum(this->n(), this->update_by({.known = before / product}));
    this->library_.each(this->n(), this->direct_by({.known = square_ / before}));
    return nullptr;
  }

  T square_;
};

}  // namespace fanin_perf::cg
