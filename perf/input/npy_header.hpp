// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "npy.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/// Inside of the reader: the pieces that npy.cpp and npz.cpp share.
namespace fanin_perf::detail {

/// Strings and integers, one after the other. Not `+`: g++ 12 warns of `"literal" + string()` where
/// nothing is wrong.
/// nothing is wrong.
template <class... Parts>
[[nodiscard]] std::string text(const Parts&... parts) {
  std::string out;
  const auto append = [&out](const auto& part) {
    if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(part)>>) {
      out.append(std::to_string(part));
    } else {
      out.append(std::string_view(part));
    }
  };
  (append(parts), ...);
  return out;
}

/// Throws input_error: "cannot read SOURCE: PROBLEM; ADVICE".
[[noreturn]] void fail(std::string_view source, std::string_view problem, std::string_view advice);

/// Text out of a file, quoted for a message: control characters (a terminal would obey them) become
/// \xNN, and what is long is cut.
[[nodiscard]] std::string in_quotes(std::string_view raw);

/// A stored element and what becomes of it.
struct element_format {
  element_type type{};        ///< in memory
  std::size_t stored_size{};  ///< bytes in the file
  bool swapped{};             ///< the file's byte order is not this machine's
  std::string note;           ///< of widening, or empty
};

/// What a header says, checked: no dimension is negative, and neither the product of the dimensions
/// nor the bytes, stored or widened, exceed 63 bits (dimensions of 0 left out of the products).
struct npy_header {
  std::string descr;
  element_format format;
  bool fortran_order{};
  std::vector<std::int64_t> shape;
  std::int64_t n{};
};

/// Parses the text between the preamble and the data: the literal of a Python dict with exactly the
/// keys descr, fortran_order and shape. Throws input_error.
[[nodiscard]] npy_header parse_npy_header(std::string_view literal, std::string_view source);

/// Bytes that come one after the other and whose number is declared before.
class byte_source {
 public:
  byte_source(std::string name, std::uint64_t size) : name_(std::move(name)), size_(size) {}
  byte_source(const byte_source&) = delete;
  byte_source& operator=(const byte_source&) = delete;
  virtual ~byte_source() = default;

  /// Writes at most `count` bytes and returns how many; 0 with count > 0 is the end. Throws
  /// input_error.
  virtual std::size_t read(std::byte* to, std::size_t count) = 0;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// Declared, so not to be believed before it has been read.
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

 private:
  std::string name_;
  std::uint64_t size_;
};

/// Reads one .npy to its end, where a source that knows a checksum compares it.
[[nodiscard]] input_array decode_npy(byte_source& from);

/// True for the first bytes of a zip archive.
[[nodiscard]] bool is_zip(std::span<const std::byte> start) noexcept;

/// Reads from an open file, which it takes over, of `size` bytes.
[[nodiscard]] input_array read_npz(std::FILE* file, std::uint64_t size, const std::string& source,
                                   std::string_view array_name);

}  // namespace fanin_perf::detail
