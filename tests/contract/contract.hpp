// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <fanin/buffer.hpp>
#include <fanin/error.hpp>
#include <fanin/execution.hpp>
#include <fanin/macros.hpp>
#include <fanin/parallel_reduce.hpp>
#include <fanin/range.hpp>
#include <fanin/reduce.hpp>
#include <fanin/reducers.hpp>
#include <fanin/serial/serial.hpp>
#include <fanin/tuple.hpp>

#include "support/data.hpp"
#include "support/functors.hpp"
#include "support/in_order.hpp"
#include "support/oracle.hpp"
#include "support/same.hpp"

/// The contract suite: one set of tests, typed over a fixture. A backend joins with a header in fixtures/ that defines
///
///     struct my_fixture {
///       using exec_type = ...;                                  // the execution object, or a view of one
///       static constexpr const char* name = "...";
///       static constexpr coverage breadth = coverage::full;
///       static std::string unavailable();                       // empty, or why its tests are skipped here
///       exec_type& exec();
///       static double depth(std::size_t n);                     // additions an element takes part in, at most
///     };
///     using fixtures = ::testing::Types<my_fixture, ...>;
///
/// and with one line in CMakeLists.txt.
namespace fanin_test {

/// How many template instances a backend can afford: each is a kernel where nvcc compiles them.
enum class coverage {
  full,      ///< every reducer with every type in every form
  pairwise,  ///< every reducer, every type and every form, not each with each
  spot,      ///< for a variant of a backend that is covered otherwise: what differs
};

/// For a test that a variant of a backend leaves to the backend's own fixture.
inline constexpr const char* left_to_the_default = "left to the backend's default fixture, to save instances";

/// A strategy that finishes on the host has blocking forms only; its fixture says `static constexpr bool into = false`.
template <class Fixture>
inline constexpr bool has_into = [] {
  if constexpr (requires { Fixture::into; }) {
    return Fixture::into;
  } else {
    return true;
  }
}();

struct fixture_names {
  template <class Fixture>
  static std::string GetName(int) {
    return Fixture::name;
  }
};

template <class Exec>
void synchronize(Exec& exec) {
  fanin::backend<Exec>::synchronize(fanin::backend<Exec>::handle(exec));
}

/// Host elements, placed in the backend's memory `offset` elements behind an allocation's start.
template <class T, class Exec>
class placed {
 public:
  placed(Exec& exec, const std::vector<T>& host, std::size_t offset = 0)
      : memory_(exec, offset + host.size()), offset_{offset} {
    std::vector<T> all(offset + host.size());
    if (offset != 0) std::memset(static_cast<void*>(all.data()), 0x5a, offset * sizeof(T));
    std::copy(host.begin(), host.end(), all.begin() + static_cast<std::ptrdiff_t>(offset));
    memory_.copy_from(all);
  }
  const T* data() const { return memory_.data() + offset_; }
  T* data() { return memory_.data() + offset_; }
  std::size_t size() const { return memory_.size() - offset_; }
  std::span<const T> span() const { return {data(), size()}; }
  std::vector<T> host() const {
    std::vector<T> all(memory_.size());
    memory_.copy_to(all);
    return {all.begin() + static_cast<std::ptrdiff_t>(offset_), all.end()};
  }

 private:
  fanin::buffer<T, Exec> memory_;
  std::size_t offset_;
};

/// A place for one result in the backend's memory, poisoned, with guards on both sides.
template <class T, class Exec>
class destination {
 public:
  explicit destination(Exec& exec) : exec_{exec}, memory_(exec, 3 * sizeof(T)) {
    const std::vector<unsigned char> poison(3 * sizeof(T), 0xa5);
    memory_.copy_from(poison);
  }
  T* pointer() { return reinterpret_cast<T*>(memory_.data() + sizeof(T)); }
  /// Waits, and gives what was written; fails the test when a neighbour was touched.
  T get() const {
    synchronize(exec_);
    std::vector<unsigned char> bytes(memory_.size());
    memory_.copy_to(bytes);
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      EXPECT_EQ(bytes[i], 0xa5) << "written before the destination";
      EXPECT_EQ(bytes[2 * sizeof(T) + i], 0xa5) << "written behind the destination";
    }
    T value;
    std::memcpy(static_cast<void*>(&value), bytes.data() + sizeof(T), sizeof(T));
    return value;
  }

 private:
  Exec& exec_;
  fanin::buffer<unsigned char, Exec> memory_;
};

template <class Fixture>
class contract : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = Fixture::unavailable(); !why.empty()) GTEST_SKIP() << why;
    fixture_.emplace();
  }
  typename Fixture::exec_type& exec() { return fixture_->exec(); }

 private:
  std::optional<Fixture> fixture_;
};

}  // namespace fanin_test
