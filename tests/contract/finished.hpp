// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <fanin/exact_sum.hpp>
#include <fanin/finished.hpp>

#include "contract/contract.hpp"

/// finished(g, reducers...): g once, on the backend, with the results of all; and functors that write.
namespace fanin_test {

struct summary {
  double mean;
  std::int64_t least_at;
  std::int32_t count;
};
inline bool same(const summary& a, const summary& b) {
  return same(a.mean, b.mean) && a.least_at == b.least_at && a.count == b.count;
}

/// g of an exact sum and a place, which counts its calls in the backend's memory.
struct summarise {
  std::int32_t* calls;
  std::int64_t n;
  FANIN_FUNCTION summary operator()(double sum, const fanin::value_index<double>& least) const {
    ++*calls;
    return {n > 0 ? sum / static_cast<double>(n) : -1, least.index, 7};
  }
};

/// r[i] -= alpha q[i] with alpha from the backend's memory, and gives r[i]^2.
struct subtract {
  double* r;
  const double* q;
  const double* alpha;
  FANIN_FUNCTION double operator()(std::int64_t i) const {
    r[i] -= *alpha * q[i];
    return r[i] * r[i];
  }
};

/// The new square and its ratio to the old one, which stands where the new one goes.
struct progress {
  double square;
  double ratio;
};
struct compare_to_last {
  const progress* last;
  FANIN_FUNCTION progress operator()(double square) const { return {square, square / last->square}; }
};
struct divide_by {
  const double* by;
  FANIN_FUNCTION double operator()(double value) const { return value / *by; }
};
struct first_progress {
  FANIN_FUNCTION progress operator()(double square) const { return {square, 1}; }
};

template <class Fixture>
class finished : public contract<Fixture> {};
TYPED_TEST_SUITE(finished, fixtures, fixture_names);

TYPED_TEST(finished, every_form_over_an_array) {
  using exec_type = typename TypeParam::exec_type;
  for (const std::size_t n : few_sizes()) {
    const auto host = make_data<double>(data::random_signed, n);
    placed<double, exec_type> x(this->exec(), host);
    placed<std::int32_t, exec_type> calls(this->exec(), {0, 0, 0});
    destination<summary, exec_type> out(this->exec());
    const auto count = static_cast<std::int64_t>(n);
    const summary blocking = fanin::reduce(
        this->exec(), x.span(),
        fanin::finished(summarise{calls.data(), count}, fanin::exact_sum<double>{}, fanin::min_loc<double>{}));
    fanin::reduce_into(
        out.pointer(), this->exec(), x.span(),
        fanin::finished(summarise{calls.data() + 1, count}, fanin::exact_sum<double>{}, fanin::min_loc<double>{}));
    auto later = fanin::reduce_async(
        this->exec(), x.span(),
        fanin::finished(summarise{calls.data() + 2, count}, fanin::exact_sum<double>{}, fanin::min_loc<double>{}));
    const summary written = out.get();
    std::int32_t none = 0;
    const summary expected = fanin::reduce(
        in_order, host, fanin::finished(summarise{&none, count}, fanin::exact_sum<double>{}, fanin::min_loc<double>{}));
    const auto [sum, least] = fanin::reduce(in_order, host, fanin::exact_sum<double>{}, fanin::min_loc<double>{});
    EXPECT_TRUE(same(expected, summarise{&none, count}(sum, least)));
    EXPECT_TRUE(same(blocking, expected)) << "n = " << n;
    EXPECT_TRUE(same(written, expected)) << "n = " << n;
    EXPECT_TRUE(same(later.get(), expected)) << "n = " << n;
    EXPECT_EQ(calls.host(), (std::vector<std::int32_t>{1, 1, 1})) << "n = " << n;
  }
}

/// As in a solver: each call reads what the one before left on the backend, and nothing waits in between.
TYPED_TEST(finished, a_chain_of_updates) {
  using exec_type = typename TypeParam::exec_type;
  constexpr int rounds = 4;
  for (const std::size_t n : few_sizes()) {
    if (n == 0) continue;
    // Powers of two and small whole numbers: every sum is exact.
    std::vector<double> r(n);
    std::vector<double> q(n, 2);
    for (std::size_t i = 0; i < n; ++i) r[i] = static_cast<double>(i % 5) - 1;
    placed<double, exec_type> on_r(this->exec(), r);
    placed<double, exec_type> on_q(this->exec(), q);
    placed<double, exec_type> four(this->exec(), {4.0});
    placed<double, exec_type> alpha(this->exec(), {0.0});
    destination<progress, exec_type> out(this->exec());
    const auto all = fanin::range(this->exec(), n);
    fanin::reduce_into(alpha.data(), this->exec(), four.span(),
                       fanin::finished(divide_by{four.data()}, fanin::sum<double>{}));
    fanin::parallel_reduce_into(out.pointer(), all, subtract{on_r.data(), on_q.data(), alpha.data()},
                                fanin::finished(first_progress{}, fanin::sum<double>{}));
    for (int k = 1; k < rounds; ++k) {
      fanin::parallel_reduce_into(out.pointer(), all, subtract{on_r.data(), on_q.data(), alpha.data()},
                                  fanin::finished(compare_to_last{out.pointer()}, fanin::sum<double>{}));
    }
    double before = 0;
    double after = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double last = r[i] - 2 * (rounds - 1);
      before += last * last;
      r[i] -= 2 * rounds;
      after += r[i] * r[i];
    }
    const progress got = out.get();
    EXPECT_EQ(got.square, after) << "n = " << n;
    EXPECT_EQ(got.ratio, after / before) << "n = " << n;
    EXPECT_EQ(on_r.host(), r) << "n = " << n;
  }
}

/// transform_reduce calls f once for each element, too.
struct write_element {
  std::int32_t* visits;
  FANIN_FUNCTION std::int32_t operator()(std::int32_t x) const {
    ++visits[x];
    return x;
  }
};

TYPED_TEST(finished, elements_are_visited_once) {
  using exec_type = typename TypeParam::exec_type;
  for (const std::size_t n : sizes()) {
    std::vector<std::int32_t> numbers(n);
    for (std::size_t i = 0; i < n; ++i) numbers[i] = static_cast<std::int32_t>(i);
    placed<std::int32_t, exec_type> x(this->exec(), numbers, n % 4);
    placed<std::int32_t, exec_type> visits(this->exec(), std::vector<std::int32_t>(n, 0));
    const auto count = static_cast<std::int64_t>(n);
    EXPECT_EQ(fanin::transform_reduce(this->exec(), x.span(), write_element{visits.data()},
                                      fanin::sum<std::int32_t, std::int64_t>{}),
              count * (count - 1) / 2);
    EXPECT_EQ(visits.host(), std::vector<std::int32_t>(n, 1)) << "n = " << n;
  }
}

}  // namespace fanin_test
