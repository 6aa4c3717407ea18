// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>
#include <type_traits>

#include <Kokkos_Core.hpp>
#include <fanin/error.hpp>

/// What the backend needs to know of a Kokkos execution space.
namespace fanin::detail {

#if defined(KOKKOS_ENABLE_SERIAL)
template <class Space>
inline constexpr bool is_kokkos_serial = std::is_same_v<Space, Kokkos::Serial>;
#else
template <class Space>
inline constexpr bool is_kokkos_serial = false;
#endif
#if defined(KOKKOS_ENABLE_OPENMP)
template <class Space>
inline constexpr bool is_kokkos_openmp = std::is_same_v<Space, Kokkos::OpenMP>;
#else
template <class Space>
inline constexpr bool is_kokkos_openmp = false;
#endif
#if defined(KOKKOS_ENABLE_THREADS)
template <class Space>
inline constexpr bool is_kokkos_threads = std::is_same_v<Space, Kokkos::Threads>;
#else
template <class Space>
inline constexpr bool is_kokkos_threads = false;
#endif

/// Runs on the host, in ordinary memory.
template <class Space>
inline constexpr bool is_host_space = std::is_same_v<typename Space::memory_space, Kokkos::HostSpace>;

/// A launch has ended when it returns, so that no fence is needed.
template <class Space>
inline constexpr bool is_synchronous = is_kokkos_serial<Space> || is_kokkos_openmp<Space> || is_kokkos_threads<Space>;

/// Whether Kokkos itself lets one host thread at a time run on an instance. Others keep a reduction's workspace in the
/// instance without a lock (kokkos#3999), also between a kernel's end and the host's reading of its result.
#if defined(KOKKOS_ENABLE_ATOMICS_BYPASS)
template <class Space>
inline constexpr bool locks_instances = is_kokkos_openmp<Space>;
#else
template <class Space>
inline constexpr bool locks_instances = is_kokkos_openmp<Space> || is_kokkos_serial<Space>;
#endif

/// One mutex for an instance of a space that does not lock by itself: objects that share an instance (every default
/// one does) share it. Unequal instances may meet in one mutex, which costs time only.
inline std::mutex& instance_mutex(std::uint32_t instance) {
  static std::array<std::mutex, 128> mutexes;
  return mutexes[instance % mutexes.size()];
}

/// Calls `launch` when no other host thread is inside Fanin on this instance.
template <class Space, class Launch>
decltype(auto) launch_alone(const Space& space, const Launch& launch) {
  if constexpr (locks_instances<Space>) {
    return launch();
  } else {
    const std::lock_guard lock(detail::instance_mutex(Kokkos::Tools::Experimental::device_id(space)));
    if constexpr (is_kokkos_threads<Space>) {
      try {
        return launch();
      } catch (const std::runtime_error& failure) {
        throw state_error(std::string("fanin::kokkos<Kokkos::Threads>: refused by Kokkos: ") + failure.what() +
                          "; launch from the host thread that initialised Kokkos");
      }
    } else {
      return launch();
    }
  }
}

/// Refuses host memory where the space cannot reach it. Kokkos has no question for that; CUDA's own is asked for
/// Kokkos::Cuda, and for other devices nothing can be seen before the launch.
template <class Space>
void check_kokkos_memory([[maybe_unused]] const void* pointer, [[maybe_unused]] const char* what) {
#if defined(KOKKOS_ENABLE_CUDA)
  if constexpr (std::is_same_v<Space, Kokkos::Cuda>) {
    cudaPointerAttributes attributes{};
    const cudaError_t status = cudaPointerGetAttributes(&attributes, pointer);
    if (status != cudaSuccess) (void)cudaGetLastError();
    if (status != cudaSuccess || attributes.type == cudaMemoryTypeUnregistered) {
      throw invalid_argument(std::string(what) +
                             " is host memory, which Kokkos::Cuda does not reach; give a device pointer, as from "
                             "fanin::buffer or a View in Kokkos::CudaSpace");
    }
  }
#endif
}

}  // namespace fanin::detail
