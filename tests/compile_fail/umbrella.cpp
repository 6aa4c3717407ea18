// SPDX-License-Identifier: Apache-2.0
#if defined(WITHOUT_KOKKOS) || defined(DEFAULT_IS_KOKKOS)
#define FANIN_WITHOUT_KOKKOS
#endif
#if defined(DEFAULT_IS_KOKKOS)
#define FANIN_DEFAULT_BACKEND FANIN_BACKEND_KOKKOS
#endif

#include <fanin/fanin.hpp>

// Kokkos's headers are read where its backend is, unless the unit does without; the default backend it cannot do
// without.

#if defined(WITHOUT_KOKKOS) == defined(KOKKOS_VERSION)
#error "the umbrella read Kokkos's headers, or left them out, against what this unit says"
#endif
