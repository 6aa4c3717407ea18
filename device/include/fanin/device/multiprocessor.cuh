// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What a multiprocessor has room for.
namespace fanin::detail {

/// Threads at least, of every device that this code is compiled for: 1024 in compute capability 7.5, 2048 in 8.0, 9.0,
/// 10.0 and 10.3, 1536 in others. Of bounds that ask for more ptxas warns.
#if !defined(__CUDA_ARCH__)
inline constexpr int least_threads_of_multiprocessor = 1536;
#elif __CUDA_ARCH__ < 800
inline constexpr int least_threads_of_multiprocessor = 1024;
#elif __CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900 || __CUDA_ARCH__ == 1000 || __CUDA_ARCH__ == 1030
inline constexpr int least_threads_of_multiprocessor = 2048;
#else
inline constexpr int least_threads_of_multiprocessor = 1536;
#endif

}  // namespace fanin::detail
