// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "contract/contract.hpp"
#include "support/expect_invalid.hpp"

/// Bad input of the contract's list, each case: an invalid_argument in words, and nothing launched or written.
namespace fanin_test {

template <class Fixture>
class arguments : public contract<Fixture> {};
TYPED_TEST_SUITE(arguments, fixtures, fixture_names);

TYPED_TEST(arguments, negative_extents) {
  auto& exec = this->exec();
  expect_invalid([&] { fanin::range(exec, -1); }, "negative");
  expect_invalid([&] { fanin::range(exec, INT64_MIN); }, "negative");
  expect_invalid([&] { fanin::range(exec, 5, 4); }, "negative");
  expect_invalid([&] { fanin::range(exec, INT64_MAX, INT64_MIN); }, "negative");
}

TYPED_TEST(arguments, overflowing_extents) {
  auto& exec = this->exec();
  expect_invalid([&] { fanin::range(exec, INT64_MIN, INT64_MAX); }, "64-bit");
  expect_invalid([&] { fanin::range(exec, -1, INT64_MAX); }, "64-bit");
  expect_invalid([&] { fanin::range(exec, UINT64_MAX); }, "64-bit");
  expect_invalid([&] { fanin::range(exec, std::uint64_t{1} << 63); }, "64-bit");
  expect_invalid([&] { fanin::range(exec, 0, UINT64_MAX); }, "64-bit");
  // The largest that fit.
  EXPECT_EQ(fanin::range(exec, INT64_MAX).size(), INT64_MAX);
  EXPECT_EQ(fanin::range(exec, -1, INT64_MAX - 1).size(), INT64_MAX);
  EXPECT_EQ(fanin::range(exec, INT64_MIN, -1).size(), INT64_MAX);
}

TYPED_TEST(arguments, null_arrays) {
  auto& exec = this->exec();
  const fanin::sum<std::int64_t> sum;
  const std::span<const std::int64_t> null(static_cast<const std::int64_t*>(nullptr), 3);
  placed<std::int64_t, typename TypeParam::exec_type> x(exec, {1, 2, 3});
  destination<std::int64_t, typename TypeParam::exec_type> out(exec);
  expect_invalid([&] { fanin::reduce(exec, null, sum); }, "null");
  expect_invalid([&] { fanin::reduce("labelled", exec, null, sum); }, "null");
  expect_invalid([&] { fanin::reduce_into(out.pointer(), exec, null, sum); }, "null");
  expect_invalid([&] { fanin::transform_reduce(exec, null, multiply{}, sum); }, "null");
  expect_invalid([&] { fanin::transform_reduce(exec, null, x.span(), multiply{}, sum); }, "null");
  expect_invalid([&] { fanin::transform_reduce(exec, x.span(), null, multiply{}, sum); }, "null");
  expect_invalid([&] { fanin::transform_reduce_into(out.pointer(), exec, x.span(), null, multiply{}, sum); }, "null");
  // The destination was left alone.
  const auto untouched = static_cast<std::uint64_t>(out.get());
  EXPECT_EQ(untouched, 0xa5a5a5a5a5a5a5a5U);
}

TYPED_TEST(arguments, misaligned_arrays) {
  auto& exec = this->exec();
  const fanin::sum<std::int64_t> sum;
  placed<std::int64_t, typename TypeParam::exec_type> x(exec, {1, 2, 3});
  destination<std::int64_t, typename TypeParam::exec_type> out(exec);
  const auto address = reinterpret_cast<std::uintptr_t>(x.data());
  const std::span<const std::int64_t> crooked(reinterpret_cast<const std::int64_t*>(address + 4), 2);
  const auto two = x.span().first(2);
  expect_invalid([&] { fanin::reduce(exec, crooked, sum); }, "fanin::reduce: the array's address");
  expect_invalid([&] { fanin::reduce_into(out.pointer(), exec, crooked, sum); }, "fanin::reduce_into: the array's");
  expect_invalid([&] { fanin::transform_reduce(exec, crooked, multiply{}, sum); }, "fanin::transform_reduce: the arr");
  expect_invalid([&] { fanin::transform_reduce(exec, two, crooked, multiply{}, sum); }, "alignment, 8 bytes");
  expect_invalid([&] { fanin::transform_reduce_into(out.pointer(), exec, crooked, two, multiply{}, sum); },
                 "fanin::transform_reduce_into: the array's address");
  EXPECT_EQ(fanin::reduce(exec, crooked.first(0), sum), 0);
  auto* const crooked_out = reinterpret_cast<std::int64_t*>(address + 4);
  expect_invalid([&] { fanin::reduce_into(crooked_out, exec, two, sum); },
                 "fanin::reduce_into: the destination's address");
}

TYPED_TEST(arguments, null_destinations) {
  auto& exec = this->exec();
  const fanin::sum<std::int64_t> sum;
  std::int64_t* const nowhere = nullptr;
  placed<std::int64_t, typename TypeParam::exec_type> x(exec, {1, 2, 3});
  expect_invalid([&] { fanin::parallel_reduce_into(nowhere, fanin::range(exec, 3), index_itself{}, sum); },
                 "destination is null");
  expect_invalid([&] { fanin::parallel_reduce_into(nowhere, fanin::range(exec, 0), index_itself{}, sum); },
                 "destination is null");
  expect_invalid([&] { fanin::reduce_into(nowhere, exec, x.span(), sum); }, "destination is null");
  expect_invalid([&] { fanin::transform_reduce_into(nowhere, exec, x.span(), multiply{}, sum); },
                 "destination is null");
}

TYPED_TEST(arguments, lengths_that_differ) {
  auto& exec = this->exec();
  const fanin::sum<std::int64_t> sum;
  placed<std::int64_t, typename TypeParam::exec_type> x(exec, {1, 2, 3});
  placed<std::int64_t, typename TypeParam::exec_type> y(exec, {1, 2});
  destination<std::int64_t, typename TypeParam::exec_type> out(exec);
  const std::span<const std::int64_t> none;
  expect_invalid([&] { fanin::transform_reduce(exec, x.span(), y.span(), multiply{}, sum); }, "3, 2");
  expect_invalid([&] { fanin::transform_reduce(exec, y.span(), x.span(), multiply{}, sum); }, "2, 3");
  expect_invalid([&] { fanin::transform_reduce(exec, x.span(), none, multiply{}, sum); }, "3, 0");
  expect_invalid([&] { fanin::transform_reduce(exec, none, x.span(), multiply{}, sum); }, "0, 3");
  expect_invalid([&] { fanin::transform_reduce_into(out.pointer(), exec, x.span(), y.span(), multiply{}, sum); },
                 "3, 2");
  if constexpr (TypeParam::breadth != coverage::spot) {
    expect_invalid([&] { fanin::transform_reduce(exec, x.span(), x.span(), y.span(), multiply{}, sum); }, "3, 3, 2");
  }
}

TYPED_TEST(arguments, copies) {
  auto& exec = this->exec();
  using exec_type = typename TypeParam::exec_type;
  fanin::buffer<std::int32_t, exec_type> three(exec, 3);
  std::vector<std::int32_t> host{1, 2, 3};
  std::vector<std::int32_t> longer(4);
  three.copy_from(host);
  expect_invalid([&] { three.copy_from(longer); }, "4 elements do not fit a destination of 3");
  expect_invalid([&] { three.copy_to(longer); }, "3 elements do not fit a destination of 4");
  const std::span<std::int32_t> there = three.span();
  const std::span<std::int32_t> null(static_cast<std::int32_t*>(nullptr), 3);
  expect_invalid([&] { fanin::copy_from_host(exec, longer, there); }, "4 elements do not fit a destination of 3");
  expect_invalid([&] { fanin::copy_to_host(exec, there, std::span(longer)); }, "do not fit");
  expect_invalid([&] { fanin::copy_from_host(exec, null, there); }, "null");
  expect_invalid([&] { fanin::copy_from_host(exec, host, null); }, "null");
  expect_invalid([&] { fanin::copy_to_host(exec, null, std::span(host)); }, "null");
  expect_invalid([&] { fanin::copy_to_host(exec, there, null); }, "null");
  // Nothing of all that was written.
  std::vector<std::int32_t> back(3);
  three.copy_to(back);
  EXPECT_EQ(back, host);
}

TYPED_TEST(arguments, buffers) {
  auto& exec = this->exec();
  using exec_type = typename TypeParam::exec_type;
  using buffer = fanin::buffer<double, exec_type>;
  expect_invalid([&] { buffer(exec, -1); }, "negative");
  expect_invalid([&] { buffer(exec, INT64_MAX); }, "overflow");
  expect_invalid([&] { buffer(exec, (INT64_MAX / 8) + 1); }, "overflow");
  expect_invalid([&] { buffer(exec, UINT64_MAX); }, "64-bit");
}

/// After a refused call the object works as before.
TYPED_TEST(arguments, a_refusal_leaves_the_object_usable) {
  auto& exec = this->exec();
  const fanin::sum<std::int64_t> sum;
  const std::span<const std::int64_t> null(static_cast<const std::int64_t*>(nullptr), 3);
  for (int i = 0; i < 3; ++i) {
    EXPECT_THROW(fanin::reduce(exec, null, sum), fanin::error);
    EXPECT_EQ(fanin::parallel_reduce(fanin::range(exec, 101), index_itself{}, sum), 5'050);
  }
}

}  // namespace fanin_test
