// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdint>
#include <fanin/reduce.hpp>
#include <fanin/reducers.hpp>
#include <fanin/serial/serial.hpp>
#if FANIN_COUNT_KOKKOS
#include <fanin/kokkos/kokkos.hpp>
#endif

#include "count_calls.hpp"

namespace {

using fanin_test::arguments;
using fanin_test::element;

struct multiply {
  double operator()(double a, double b) const { return a * b; }
};

[[gnu::noinline]] double serial_reduce(const arguments& a) {
  return fanin::reduce(fanin::serial{}, a.span(), fanin::sum<double>{});
}

[[gnu::noinline]] double serial_min_loc(const arguments& a) {
  return fanin::reduce(fanin::serial{}, a.span(), fanin::min_loc<double>{}).value;
}

[[gnu::noinline]] double serial_parallel_reduce(const arguments& a) {
  return fanin::parallel_reduce(fanin::range(fanin::serial{}, a.first, a.last), element{a.x}, fanin::sum<double>{});
}

/// Two arrays, whose lengths are compared.
[[gnu::noinline]] double serial_transform_reduce(const arguments& a) {
  return fanin::transform_reduce(fanin::serial{}, a.span(), a.span(), multiply{}, fanin::sum<double>{});
}

[[gnu::noinline]] double check_range(const arguments& a) {
  return static_cast<double>(fanin::range(fanin::serial{}, a.first, a.last).size());
}

[[gnu::noinline]] double check_span(const arguments& a) {
  return static_cast<double>(
      fanin::detail::check_span<fanin::serial, double>(fanin::serial{}, a.span(), "fanin::reduce"));
}

#if FANIN_COUNT_KOKKOS
const fanin::kokkos<Kokkos::Serial>& kokkos_object() {
  static const fanin::kokkos<Kokkos::Serial> object;
  return object;
}

[[gnu::noinline]] double kokkos_serial_reduce(const arguments& a) {
  return fanin::reduce(kokkos_object(), a.span(), fanin::sum<double>{});
}

[[gnu::noinline]] double kokkos_serial_parallel_reduce(const arguments& a) {
  return fanin::parallel_reduce(fanin::range(kokkos_object(), a.first, a.last), element{a.x}, fanin::sum<double>{});
}
#endif

constexpr auto calls = std::to_array<fanin_test::named_call>({
    {"serial_reduce", serial_reduce},
    {"serial_min_loc", serial_min_loc},
    {"serial_parallel_reduce", serial_parallel_reduce},
    {"serial_transform_reduce", serial_transform_reduce},
    {"check_range", check_range},
    {"check_span", check_span},
#if FANIN_COUNT_KOKKOS
    {"kokkos_serial_reduce", kokkos_serial_reduce},
    {"kokkos_serial_parallel_reduce", kokkos_serial_parallel_reduce},
#endif
});

}  // namespace

int main(int count, char** words) { return fanin_test::count_calls(calls, count, words); }
