// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "contract/contract.hpp"

/// Backend x reducer x type x size x data. Sums and products against a higher-precision oracle, everything else against
/// serial, which has cases checked by hand in core/.
namespace fanin_test {

template <class Reducer, class T>
inline constexpr bool is_sum = std::is_same_v<Reducer, fanin::sum<T>>;
template <class Reducer, class T>
inline constexpr bool is_product = std::is_same_v<Reducer, fanin::prod<T>>;

/// Once, and not in every one of some hundred instances.
inline void expect_right(const ::testing::AssertionResult& right, const char* form, const char* name, std::size_t n,
                         data kind) {
  EXPECT_TRUE(right) << form << " by " << name << " of " << n << " " << name_of(kind);
}

/// One array, on the host and in the backend's memory.
template <class Fixture, class T>
class value_case {
 public:
  using exec_type = typename Fixture::exec_type;

  value_case(exec_type& exec, data kind, std::size_t n)
      : exec_{exec}, kind_{kind}, host_{make_data<T>(kind, n)}, there_{exec, host_} {}

  template <class Reducer>
  void span_form(const char* name) {
    check<Reducer>(name, "reduce", fanin::reduce(exec_, there_.span(), Reducer{}));
  }
  template <class Reducer>
  void functor_form(const char* name) {
    check<Reducer>(name, "parallel_reduce",
                   fanin::parallel_reduce(fanin::range(exec_, there_.size()), at<T>{there_.data()}, Reducer{}));
  }

 private:
  template <class Reducer, class Result>
  void check(const char* name, const char* form, const Result& got) {
    const std::span<const T> x(host_);
    const auto expect = [&](const ::testing::AssertionResult& right) {
      expect_right(right, form, name, host_.size(), kind_);
    };
    if constexpr (is_sum<Reducer, T>) {
      // A sum of whole numbers is exact whatever the order.
      expect(is_sum_of(x, got, kind_ == data::whole_numbers ? -1.0 : Fixture::depth(x.size())));
    } else if constexpr (is_product<Reducer, T>) {
      if (std::integral<T> || kind_ == data::near_one || x.size() < 3) {
        expect(is_product_of(x, got, Fixture::depth(x.size())));
      }
    } else {
      expect(is_same(got, fanin::reduce(in_order, x, Reducer{})));
    }
  }

  exec_type& exec_;
  data kind_;
  std::vector<T> host_;
  placed<T, exec_type> there_;
};

inline std::vector<data> kinds_for(std::size_t n) {
  if (n > 500'000) return {data::random_signed};
  return {data::bit_per_index, data::random_signed, data::whole_numbers, data::huge_and_tiny,
          data::near_one,      data::pairs,         data::flags};
}

template <class Fixture, class T, class Check>
void for_each_case(typename Fixture::exec_type& exec, const Check& check) {
  for (const std::size_t n : sizes()) {
    for (const data kind : kinds_for(n)) {
      value_case<Fixture, T> one(exec, kind, n);
      check(one);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

/// Every reducer over a span; on backends that pay for each instance, fewer of them through a functor.
template <class Fixture, class T>
void check_values(typename Fixture::exec_type& exec) {
  constexpr bool all = Fixture::breadth == coverage::full;
  constexpr bool one_type = Fixture::breadth == coverage::pairwise && std::is_same_v<T, double>;
  for_each_case<Fixture, T>(exec, [](auto& one) {
    one.template span_form<fanin::sum<T>>("sum");
    one.template functor_form<fanin::sum<T>>("sum");
    one.template span_form<fanin::min_loc<T>>("min_loc");
    if constexpr (Fixture::breadth != coverage::spot) {
      one.template span_form<fanin::prod<T>>("prod");
      one.template span_form<fanin::min<T>>("min");
      one.template span_form<fanin::max<T>>("max");
      one.template span_form<fanin::max_loc<T>>("max_loc");
      one.template span_form<fanin::min_max<T>>("min_max");
      one.template span_form<fanin::min_max_loc<T>>("min_max_loc");
      one.template span_form<fanin::land<T>>("land");
      one.template span_form<fanin::lor<T>>("lor");
      if constexpr (std::integral<T>) {
        one.template span_form<fanin::band<T>>("band");
        one.template span_form<fanin::bor<T>>("bor");
      }
    }
    if constexpr (all || one_type) {
      one.template functor_form<fanin::prod<T>>("prod");
      one.template functor_form<fanin::min<T>>("min");
      one.template functor_form<fanin::max<T>>("max");
      one.template functor_form<fanin::min_loc<T>>("min_loc");
      one.template functor_form<fanin::max_loc<T>>("max_loc");
      one.template functor_form<fanin::min_max<T>>("min_max");
      one.template functor_form<fanin::min_max_loc<T>>("min_max_loc");
      one.template functor_form<fanin::land<T>>("land");
      one.template functor_form<fanin::lor<T>>("lor");
    }
    if constexpr (std::integral<T> && (all || std::is_same_v<T, std::int64_t>)) {
      one.template functor_form<fanin::band<T>>("band");
      one.template functor_form<fanin::bor<T>>("bor");
    }
  });
}

}  // namespace fanin_test
