// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Kokkos_Core.hpp>
#include <fanin/kokkos/space.hpp>

#if !defined(KOKKOS_ENABLE_CUDA)
#define FANIN_TEST_ON_PRETENDED_DEVICE 1
/// Where Kokkos has no device, its Serial passes for one: a call goes the ways of devices, whose memory happens to be
/// the host's. For units that read this before anything else of Fanin's backend.
template <>
inline constexpr bool fanin::detail::is_host_space<Kokkos::Serial> = false;
#endif

#include <fanin/kokkos/kokkos.hpp>

namespace fanin_test {

#if FANIN_TEST_ON_PRETENDED_DEVICE
using kokkos_device_space = Kokkos::Serial;
#else
using kokkos_device_space = Kokkos::Cuda;
#endif

}  // namespace fanin_test
