// SPDX-License-Identifier: Apache-2.0
// libFuzzer's entry. From the root of the repository, with the finds kept out of the tracked seeds:
//   fanin_fuzz_npy -max_total_time=60 -dict=perf/input/fuzz_npy.dict build/corpus
//   perf/input/fuzz_seeds
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>

#include "npy.hpp"

namespace {

/// Traps where an array that was accepted is not what the reader promises.
void check(const fanin_perf::input_array& read) {
  const auto require = [](bool holds) {
    if (!holds) std::abort();
  };
  require(read.n >= 0 && !read.dtype.empty() && !read.source.empty());
  require(read.data.size() == static_cast<std::size_t>(read.n) * fanin_perf::size_of(read.type));
  require(reinterpret_cast<std::uintptr_t>(read.data.data()) % read.data.alignment == 0);

  // Every byte is there and was written: a branch on each, for the sanitizers to see.
  std::size_t zeros = 0;
  for (const std::byte byte : std::span(read.data.data(), read.data.size())) {
    if (byte == std::byte{0}) ++zeros;
  }
  require(zeros <= read.data.size());
  require(fanin_perf::visit_elements(read, [](auto all) { return all.size(); }) == static_cast<std::size_t>(read.n));

  require(fanin_perf::numpy_flat_index(read, -1) == -1);
  if (read.n > 0) {
    // The ends stay where they are in either order.
    require(fanin_perf::numpy_flat_index(read, 0) == 0);
    require(fanin_perf::numpy_flat_index(read, read.n - 1) == read.n - 1);
    const std::int64_t middle = fanin_perf::numpy_flat_index(read, read.n / 2);
    require(middle >= 0 && middle < read.n);
  }
}

void try_reading(std::span<const std::byte> bytes, std::string_view array_name) {
  try {
    check(fanin_perf::parse_array(bytes, "fuzz", array_name));
  } catch (const fanin_perf::input_error&) {
    // Any other exception is a find.
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  try_reading(bytes, "");
  try_reading(bytes, "a");
  return 0;
}
