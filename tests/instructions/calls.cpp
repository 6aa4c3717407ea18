// SPDX-License-Identifier: Apache-2.0
// What callgrind counts: calls of one or no element, so that what is counted is what a call costs and not the loop.
//
// calls <case> <repetitions>

#include <valgrind/callgrind.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fanin/reduce.hpp>
#include <fanin/reducers.hpp>
#include <fanin/serial/serial.hpp>
#include <span>
#include <string_view>
#if FANIN_COUNT_KOKKOS
#include <fanin/kokkos/kokkos.hpp>
#endif

namespace {

/// What a caller knows at run time only: passed through here, so that nothing is computed while compiling.
struct arguments {
  const double* x;
  std::int64_t first;
  std::int64_t last;
  std::span<const double> span() const { return {x, static_cast<std::size_t>(last - first)}; }
};

struct element {
  const double* x;
  double operator()(std::int64_t i) const { return x[i]; }
};
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

struct named_call {
  std::string_view name;
  double (*call)(const arguments&);
};

constexpr auto calls = std::to_array<named_call>({
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

int main(int count, char** words) {
  if (count != 3) {
    std::fprintf(stderr, "usage: %s CASE REPETITIONS\n", words[0]);
    return 2;
  }
  const long repetitions = std::strtol(words[2], nullptr, 10);
  for (const named_call& one : calls) {
    if (one.name != words[1]) continue;
    const double x = 1;
    const arguments given{&x, 0, 1};
    if (one.call(given) != 1) {  // also makes what is made once
      std::fprintf(stderr, "%s: a wrong answer\n", words[1]);
      return 1;
    }
    double sum = 0;
    CALLGRIND_TOGGLE_COLLECT;
    for (long i = 0; i < repetitions; ++i) sum += one.call(given);
    CALLGRIND_TOGGLE_COLLECT;
    return sum == static_cast<double>(repetitions) ? 0 : 1;
  }
  std::fprintf(stderr, "there is no case %s\n", words[1]);
  return 2;
}
