// SPDX-License-Identifier: Apache-2.0
// Serial with a functor, and where the CUDA backend is installed its precompiled reductions, from a unit of g++.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <span>
#include <vector>

#include <fanin/fanin.hpp>

#if defined(__CUDACC__)
#error "this unit is for a plain C++ compiler"
#endif

static_assert(FANIN_VERSION >= 100);

namespace {

bool serial_is_right() {
  const std::vector<std::int32_t> x{3, -7, 2};
  const auto [lowest, at] = fanin::parallel_reduce(
      fanin::range(fanin::serial{}, x.size()), [&x](std::int64_t i) { return x[static_cast<std::size_t>(i)]; },
      fanin::min_loc<std::int32_t>{});
  std::vector<float> halves(10'000, 0.5f);
  halves.back() = -1;
  const auto [sum, least] = fanin::reduce(fanin::serial{}, halves, fanin::sum<float>{}, fanin::min_loc<float>{});
  return lowest == -7 && at == 1 && sum == 4998.5f && least.index == 9999;
}

#if FANIN_HAS_CUDA
bool cuda_is_right() {
  std::vector<double> x(1000);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i);
  fanin::cuda gpu;
  const fanin::buffer<double, fanin::cuda> device(gpu, std::span<const double>(x));
  fanin::buffer<double, fanin::cuda> sums(gpu, 10);
  fanin::reduce_into(sums.data(), gpu, fanin::rows(fanin::view<const double, 2>(device.data(), {10, 100})),
                     fanin::sum<double>{});
  std::vector<double> of_rows(10);
  sums.copy_to(of_rows);
  return of_rows[9] == 94950.0 && fanin::reduce(gpu, device.span(), fanin::sum<double>{}) == 499500.0;
}
#endif

}  // namespace

/// The library that is linked is the one whose headers were read.
bool build_is_known() {
  const fanin::build_options build = fanin::build_info();
  std::printf("Fanin %s: %s; default %s; %s; Kokkos %s; CUDA %s\n", build.version, build.backends,
              build.default_backend, build.compiler, build.kokkos, build.cuda);
  return std::strcmp(fanin::version(), FANIN_VERSION_STRING) == 0 && std::strncmp(build.backends, "serial", 6) == 0 &&
         (std::strlen(build.cuda) > 0) == (FANIN_HAS_CUDA == 1) &&
         (std::strlen(build.kokkos) > 0) == (FANIN_HAS_KOKKOS == 1);
}

// With the argument "gpu" it also runs what needs one.
int main(int count, char** arguments) {
  try {
    if (!serial_is_right() || !build_is_known()) return 1;
#if FANIN_HAS_CUDA
    if (count > 1 && std::strcmp(arguments[1], "gpu") == 0 && !cuda_is_right()) return 1;
#else
    static_cast<void>(count);
    static_cast<void>(arguments);
#endif
  } catch (const std::exception& e) {
    std::printf("%s\n", e.what());
    return 1;
  }
  std::printf("correct\n");
  return 0;
}
