// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fanin/detail/needs_cxx20.hpp>

#include <stdexcept>
#include <string>

#pragma GCC visibility push(default)

namespace fanin {

/// Base of everything Fanin throws. what() says what was asked, what was wrong and what to do. Fanin prints nothing.
class error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An argument that can be seen to be wrong before anything is launched: a null pointer with n > 0, a negative or
/// overflowing extent, spans of different lengths, a host pointer where the backend needs its own memory, an illegal
/// block size. Nothing was launched, nothing was written, but for what shows only then: more runs than there is room
/// for, and messages of ranks of 2^31 bytes and more.
class invalid_argument : public error {
 public:
  using error::error;
};

/// A call that the object's state forbids: a blocking call on a capturing stream, an object that was moved from,
/// Kokkos after its finalize. Nothing was launched.
class state_error : public error {
 public:
  using error::error;
};

/// Of a call over ranks: the part of another rank failed. what() says how many ranks did. The ranks that failed throw
/// their own errors.
class rank_error : public error {
 public:
  using error::error;
};

}  // namespace fanin

#pragma GCC visibility pop
