// SPDX-License-Identifier: Apache-2.0
#pragma once

// Functions of a library that is loaded while the program runs.

#include <dlfcn.h>

namespace fanin_perf {

/// Whether `library`, of dlopen, has the function; `to` then is it.
template <class Function>
bool look_up(void* library, const char* name, Function& to) {
  to = reinterpret_cast<Function>(dlsym(library, name));
  return to != nullptr;
}

}  // namespace fanin_perf
