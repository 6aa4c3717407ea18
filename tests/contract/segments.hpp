// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include <fanin/exact_sum.hpp>
#include <fanin/finished.hpp>
#include <fanin/segments.hpp>

#include "contract/contract.hpp"
#include "contract/many.hpp"

/// A result for each segment.
namespace fanin_test {

template <class Offset>
std::vector<Offset> offsets_of(const std::vector<std::int64_t>& lengths, std::int64_t first) {
  std::vector<Offset> offsets{static_cast<Offset>(first)};
  for (const std::int64_t length : lengths) offsets.push_back(static_cast<Offset>(first += length));
  return offsets;
}

/// As mark_matrix, of an element in a segment; -1 where the segment is another one.
struct mark_element {
  const std::int32_t* segment_of;
  std::int32_t* visits;
  FANIN_FUNCTION std::int64_t operator()(std::int64_t s, std::int64_t k) const {
    ++visits[k];
    return s == segment_of[k] ? static_cast<std::int64_t>(mix(static_cast<std::uint64_t>(k)) % 50) : -1'000'000;
  }
};

template <class Fixture>
class segments : public contract<Fixture> {};
TYPED_TEST_SUITE(segments, fixtures, fixture_names);

template <class Offset, class Exec>
void reduce_segments(Exec& exec, const std::vector<std::int64_t>& lengths, std::int64_t first) {
  const std::vector<Offset> host = offsets_of<Offset>(lengths, first);
  std::vector<std::int32_t> of(static_cast<std::size_t>(host.back()), -1);
  std::vector<sum_and_place> expected;
  for (std::size_t s = 0; s < lengths.size(); ++s) {
    const auto begin = static_cast<std::int64_t>(host[s]);
    sum_and_place one = expected_of(lengths[s], [&](std::int64_t k) { return begin + k; });
    auto& [place, at] = fanin::get<1>(one);
    if (at >= 0) at += begin;
    expected.push_back(one);
    for (std::int64_t k = begin; k < begin + lengths[s]; ++k)
      of[static_cast<std::size_t>(k)] = static_cast<std::int32_t>(s);
  }
  placed<Offset, Exec> offsets(exec, host);
  placed<std::int32_t, Exec> segment_of(exec, of);
  placed<std::int32_t, Exec> visits(exec, std::vector<std::int32_t>(of.size(), 0));
  placed<sum_and_place, Exec> out(exec, std::vector<sum_and_place>(lengths.size()));
  const mark_element f{segment_of.data(), visits.data()};
  const auto range = fanin::segments(exec, offsets.span());
  EXPECT_EQ(range.checked().results(), static_cast<std::int64_t>(lengths.size()));
  for (int round = 1; round <= 2; ++round) {
    fanin::parallel_reduce_into(out.data(), range, f, fanin::sum<std::int64_t>{}, fanin::min_loc<std::int64_t>{});
    EXPECT_TRUE(is_same(out.host(), expected));
    synchronize(exec);
    std::vector<std::int32_t> once(of.size(), round);
    std::fill_n(once.begin(), first, 0);
    EXPECT_EQ(visits.host(), once);
  }
}

TYPED_TEST(segments, of_every_length) {
  reduce_segments<std::int32_t>(this->exec(), segment_lengths(false), 5);
  reduce_segments<std::int64_t>(this->exec(), segment_lengths(true), 0);
  reduce_segments<std::uint32_t>(this->exec(), {1'000'000}, 1);
  reduce_segments<std::uint64_t>(this->exec(), {0}, 0);
}

struct number_at {
  const double* x;
  FANIN_FUNCTION double operator()(std::int64_t, std::int64_t k) const { return x[k]; }
};
struct add_number_at {
  const double* x;
  template <class State>
  FANIN_FUNCTION void operator()(std::int64_t, std::int64_t k, State& acc) const {
    acc += x[k];
  }
};

/// The same elements give the same bits, whatever stands before and behind them, and in each run.
TYPED_TEST(segments, a_result_does_not_see_the_others) {
  using exec_type = typename TypeParam::exec_type;
  const std::vector<std::int64_t> lengths{2, 100, 3'000, 20'001, 150'000, 7, 33, 40'000};
  std::vector<double> results[2];
  for (int round = 0; round < 2; ++round) {
    std::vector<std::int64_t> all;
    std::vector<double> numbers;
    for (std::size_t s = 0; s < lengths.size(); ++s) {
      for (std::size_t other = 0; other < (round == 0 ? 0 : 2'000 * s); ++other) {
        all.push_back(static_cast<std::int64_t>(mix(other) % (other == 1'000 ? 70'000 : 20)));
        numbers.resize(numbers.size() + static_cast<std::size_t>(all.back()), 1e100);
      }
      all.push_back(lengths[s]);
      for (std::int64_t k = 0; k < lengths[s]; ++k) {
        numbers.push_back(static_cast<double>(mix(static_cast<std::uint64_t>(k) * 8 + s)) * 0x1p-40);
      }
    }
    const std::vector<std::int64_t> host = offsets_of<std::int64_t>(all, 0);
    placed<std::int64_t, exec_type> offsets(this->exec(), host);
    placed<double, exec_type> x(this->exec(), numbers);
    placed<double, exec_type> out(this->exec(), std::vector<double>(all.size()));
    fanin::parallel_reduce_into("segments", out.data(), fanin::segments(this->exec(), offsets.span()),
                                number_at{x.data()}, fanin::sum<double>{});
    const std::vector<double> got = out.host();
    std::size_t at = 0;
    for (std::size_t s = 0; s < lengths.size(); ++s, ++at) {
      at += round == 0 ? 0 : 2'000 * s;
      results[round].push_back(got[at]);
    }
  }
  EXPECT_EQ(results[0], results[1]);
}

/// What cancels but for a segment's number, twice: with a spill that a block keeps, and by hand.
TYPED_TEST(segments, exact_sums_finished_with_their_number) {
  using exec_type = typename TypeParam::exec_type;
  const std::vector<std::int64_t> lengths{1, 3, 0, 41, 2'001, 1, 40'001, 0};
  std::vector<double> numbers;
  for (std::size_t s = 0; s < lengths.size(); ++s) {
    for (std::int64_t k = 1; k < lengths[s]; ++k) {
      const double large = 0x1p200 * static_cast<double>(1 + (k + 1) / 2);
      numbers.push_back(k % 2 == 0 ? large : -large);
      if (k % 2 == 0) numbers.back() = -numbers[numbers.size() - 2];
    }
    if (lengths[s] > 0) numbers.push_back(static_cast<double>(s));
  }
  const std::vector<std::int32_t> host = offsets_of<std::int32_t>(lengths, 0);
  placed<std::int32_t, exec_type> offsets(this->exec(), host);
  placed<double, exec_type> x(this->exec(), numbers);
  placed<double, exec_type> out(this->exec(), std::vector<double>(lengths.size(), -1));
  fanin::parallel_reduce_into(out.data(), fanin::segments(this->exec(), offsets.span()), add_number_at{x.data()},
                              fanin::finished(residual_of_row{}, fanin::exact_sum<double>{}));
  EXPECT_EQ(out.host(), (std::vector<double>{0, 0, 2, 0, 0, 0, 0, 7}));
}

/// As products with a sparse matrix: of arrays of which one says where to read in another.
struct product_at {
  const double* a;
  const std::int32_t* column;
  const double* x;
  FANIN_FUNCTION double operator()(std::int64_t, std::int64_t k) const { return a[k] * x[column[k]]; }
};

template <class Exec>
struct drawn_products {
  static constexpr std::uint64_t columns = 1'000;

  template <class At>
  static auto drawn(Exec& exec, std::uint64_t count, const At& at) {
    std::vector<std::decay_t<decltype(at(count))>> host;
    for (std::uint64_t k = 0; k < count; ++k) host.push_back(at(k));
    return placed<typename decltype(host)::value_type, Exec>(exec, host);
  }

  placed<double, Exec> a, x;
  placed<std::int32_t, Exec> column;

  drawn_products(Exec& exec, std::uint64_t count)
      : a(drawn(exec, count, [](std::uint64_t k) { return static_cast<double>(mix(k)) * 0x1p-40; })),
        x(drawn(exec, columns, [](std::uint64_t k) { return static_cast<double>(mix(k + 7)) * 0x1p-50; })),
        column(drawn(exec, count, [](std::uint64_t k) { return static_cast<std::int32_t>(mix(~k) % columns); })) {}
  product_at f() { return {a.data(), column.data(), x.data()}; }
};

/// Those that were made ready have the bits of those that were not, each time, also when only a copy is left.
template <class Exec>
void prepare_segments(Exec& exec, const std::vector<std::int64_t>& lengths) {
  const std::vector<std::int64_t> host = offsets_of<std::int64_t>(lengths, 3);
  placed<std::int64_t, Exec> offsets(exec, host);
  drawn_products<Exec> products(exec, static_cast<std::uint64_t>(host.back()));
  placed<double, Exec> out(exec, std::vector<double>(lengths.size(), -1));
  const auto plain = fanin::segments(exec, offsets.span());
  fanin::parallel_reduce_into(out.data(), plain, products.f(), fanin::sum<double>{});
  const std::vector<double> expected = out.host();
  const auto copy = [&] {
    const auto ready = plain.prepared();
    EXPECT_EQ(ready.results(), plain.results());
    EXPECT_EQ(ready.offsets(), plain.offsets());
    return ready;
  }();
  for (int round = 0; round < 3; ++round) {
    placed<double, Exec> again(exec, std::vector<double>(lengths.size(), -1));
    fanin::parallel_reduce_into(again.data(), copy, products.f(), fanin::sum<double>{});
    EXPECT_EQ(again.host(), expected);
  }
  fanin::parallel_reduce_into("of one array", out.data(), plain, number_at{products.a.data()}, fanin::sum<double>{});
  placed<double, Exec> again(exec, std::vector<double>(lengths.size(), -1));
  fanin::parallel_reduce_async("of one array", again.data(), plain.prepared(), number_at{products.a.data()},
                               fanin::sum<double>{})
      .get();
  EXPECT_EQ(again.host(), out.host());
}

TYPED_TEST(segments, prepared_ones_have_the_same_bits) {
  prepare_segments(this->exec(), segment_lengths(false));
  prepare_segments(this->exec(), segment_lengths(true));
  prepare_segments(this->exec(), {});
  prepare_segments(this->exec(), std::vector<std::int64_t>(5'000, 0));
  std::vector<std::int64_t> many_long;  // more than several blocks share at a time
  for (std::int64_t k = 0; k < 270; ++k) many_long.push_back(4'097 + k % 40);
  many_long.insert(many_long.end(), {513, 9'000, 7});
  many_long.push_back(40'000);
  prepare_segments(this->exec(), many_long);
}

TYPED_TEST(segments, prepared_ones_with_places_and_exact_sums) {
  using exec_type = typename TypeParam::exec_type;
  const std::vector<std::int64_t> lengths{0, 5'000, 129, 1, 513, 70'000, 0, 31};
  const std::vector<std::int32_t> host = offsets_of<std::int32_t>(lengths, 0);
  placed<std::int32_t, exec_type> offsets(this->exec(), host);
  std::vector<double> numbers(static_cast<std::size_t>(host.back()), 1);
  for (std::size_t s = 0; s < lengths.size(); ++s) {
    if (lengths[s] > 0) numbers[static_cast<std::size_t>(host[s] + lengths[s] / 2)] = 0x1p60;
  }
  placed<double, exec_type> x(this->exec(), numbers);
  const auto ready = fanin::segments(this->exec(), offsets.span()).prepared();
  placed<double, exec_type> out(this->exec(), std::vector<double>(lengths.size(), -1));
  fanin::parallel_reduce_into(out.data(), ready, add_number_at{x.data()},
                              fanin::finished(residual_of_row{}, fanin::exact_sum<double>{}));
  using place = fanin::value_index<double>;
  placed<place, exec_type> places(this->exec(), std::vector<place>(lengths.size()));
  fanin::parallel_reduce_into(places.data(), ready, number_at{x.data()}, fanin::max_loc<double>{});
  for (std::size_t s = 0; s < lengths.size(); ++s) {
    const auto rest = static_cast<double>(lengths[s] - 1);
    EXPECT_EQ(out.host()[s], lengths[s] == 0 ? static_cast<double>(s) : static_cast<double>(s) - (0x1p60 + rest));
    EXPECT_EQ(places.host()[s].index, lengths[s] == 0 ? -1 : host[s] + lengths[s] / 2);
  }
}

TYPED_TEST(segments, wrong_offsets_are_told_or_give_something) {
  using exec_type = typename TypeParam::exec_type;
  const auto message_of = [&](const std::vector<std::int64_t>& host) {
    placed<std::int64_t, exec_type> offsets(this->exec(), host);
    try {
      (void)fanin::segments(this->exec(), offsets.span()).checked();
    } catch (const fanin::invalid_argument& error) {
      EXPECT_THROW((void)fanin::segments(this->exec(), offsets.span()).prepared(), fanin::invalid_argument);
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(message_of({0, 0, 7}), "");
  EXPECT_EQ(message_of({3}), "");
  EXPECT_EQ(message_of({-1, 3}), "fanin::segments: offsets[0] is negative");
  EXPECT_EQ(message_of({-5}), "fanin::segments: offsets[0] is negative");
  EXPECT_EQ(message_of({0, 2, -5, 1}), "fanin::segments: offsets[2] is negative");
  constexpr std::int64_t most = std::int64_t{1} << 62;
  EXPECT_EQ(message_of({most - 1, most}), "");
  EXPECT_EQ(message_of({most, most + 1}), "fanin::segments: offsets[1] is beyond 2^62");
  EXPECT_EQ(message_of({0, 5, 9, 8, 12, 3}),
            "fanin::segments: offsets[3] is less than offsets[2]: offsets may not fall");
  EXPECT_THROW((void)fanin::segments(this->exec(), std::span<const std::int32_t>()), fanin::invalid_argument);

  placed<std::int64_t, exec_type> offsets(this->exec(), {-9, 4, 2, 10});
  placed<double, exec_type> x(this->exec(), std::vector<double>(10, 1));
  placed<double, exec_type> out(this->exec(), std::vector<double>(3, -1));
  fanin::parallel_reduce_into(out.data(), fanin::segments(this->exec(), offsets.span()), number_at{x.data()},
                              fanin::sum<double>{});
  EXPECT_EQ(out.host()[1], 0);

  placed<std::uint64_t, exec_type> large(this->exec(), {1, std::uint64_t{1} << 63, 3});
  try {
    (void)fanin::segments(this->exec(), large.span()).checked();
    FAIL();
  } catch (const fanin::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "fanin::segments: offsets[1] is beyond 2^62");
  }

  // Every result is written all the same, and segments whose own offsets rise are right.
  placed<std::int64_t, exec_type> falling(this->exec(), {100, 0, 0, 10, 200, 7, 9});
  placed<double, exec_type> ones(this->exec(), std::vector<double>(328, 1));
  placed<double, exec_type> counts(this->exec(), std::vector<double>(6, -1));
  fanin::reduce_into(counts.data(), this->exec(), fanin::segments(ones.span(), falling.span()), fanin::sum<double>{});
  EXPECT_EQ(counts.host(), (std::vector<double>{0, 0, 10, 190, 0, 2}));

  // Of long ones that lie on each other, too.
  const std::vector<std::int64_t> on_each_other{0, 100'000, 50'000, 100'000, 99'000, 30'000, 100'000, 0, 70'000};
  placed<std::int64_t, exec_type> long_ones(this->exec(), on_each_other);
  placed<double, exec_type> many_ones(this->exec(), std::vector<double>(100'000, 1));
  placed<double, exec_type> sums(this->exec(), std::vector<double>(8, -1));
  fanin::reduce_into(sums.data(), this->exec(), fanin::segments(many_ones.span(), long_ones.span()),
                     fanin::sum<double>{});
  EXPECT_EQ(sums.host(), (std::vector<double>{100'000, 0, 50'000, 0, 0, 70'000, 0, 70'000}));

  placed<std::int64_t, exec_type> none(this->exec(), {4});
  fanin::parallel_reduce_into(static_cast<double*>(nullptr), fanin::segments(this->exec(), none.span()),
                              number_at{x.data()}, fanin::sum<double>{});
}

}  // namespace fanin_test
