// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What a multiprocessor has room for.
namespace fanin::detail {

/// Threads at least, of every device that this code is compiled for: 1024 in compute capability 7.5, 1536 or 2048 from
/// 8.0 on. Of bounds that ask for more ptxas warns.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
inline constexpr int least_threads_of_multiprocessor = 1024;
#else
inline constexpr int least_threads_of_multiprocessor = 1536;
#endif

}  // namespace fanin::detail
