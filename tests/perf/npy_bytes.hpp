// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "npy.hpp"

/// .npy and .npz files made by hand, byte by byte, also such as numpy would never write.
namespace npy_bytes {

inline std::string little(std::uint64_t value, std::size_t size) {
  std::string out;
  for (std::size_t i = 0; i < size; ++i, value >>= 8U) {
    out += static_cast<char>(value & 0xffU);
  }
  return out;
}

/// The values' bytes in either byte order.
template <class T>
std::string values(std::initializer_list<T> list, std::endian order = std::endian::little) {
  std::string out;
  for (const T value : list) {
    std::string bytes(sizeof(T), '\0');
    std::memcpy(bytes.data(), &value, sizeof(T));
    if (order != std::endian::native) std::ranges::reverse(bytes);
    out += bytes;
  }
  return out;
}

inline std::string header(std::string_view descr, std::string_view shape, bool fortran = false) {
  std::string out = "{'descr': '";
  out.append(descr).append("', 'fortran_order': ").append(fortran ? "True" : "False");
  return out.append(", 'shape': ").append(shape).append(", }");
}

/// Padded as numpy does it: the data begin at a multiple of 64 bytes.
inline std::string npy(std::string header_text, std::string_view data, int major = 1) {
  const std::size_t length_size = major == 1 ? 2 : 4;
  const std::size_t bare = 8 + length_size + header_text.size() + 1;
  header_text.append((64 - bare % 64) % 64, ' ').append("\n");
  std::string out = "\x93NUMPY";
  out.append(1, static_cast<char>(major)).append(1, '\0');
  return out.append(little(header_text.size(), length_size)).append(header_text).append(data);
}

inline std::uint32_t crc32(std::string_view bytes) {
  std::uint32_t crc = 0xffffffffU;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? 0xedb88320U : 0U);
    }
  }
  return ~crc;
}

/// A deflate stream of blocks that are not compressed.
inline std::string deflated(std::string_view bytes) {
  std::string out;
  do {
    const std::string_view block = bytes.substr(0, 65535);
    bytes.remove_prefix(block.size());
    out += bytes.empty() ? '\x01' : '\0';
    out += little(block.size(), 2) + little(~block.size(), 2);
    out += block;
  } while (!bytes.empty());
  return out;
}

/// What an archive says of an entry; left out, it is the truth.
struct zip_entry {
  std::string name;
  std::string content;
  unsigned method = 0;
  std::optional<std::uint32_t> crc{};
  std::optional<std::uint64_t> size{};  ///< declared, inflated; in a zip64 record where 32 bits do not do
  unsigned flags = 0;
};

inline std::string zip(const std::vector<zip_entry>& entries) {
  constexpr std::uint64_t in_zip64 = 0xffffffffU;
  std::string out;
  std::string directory;
  for (const zip_entry& entry : entries) {
    const std::string packed = entry.method == 8 ? deflated(entry.content) : entry.content;
    const std::uint64_t size = entry.size.value_or(entry.content.size());
    const std::string extra = size < in_zip64 ? "" : little(1, 2) + little(8, 2) + little(size, 8);
    const std::string common = little(45, 2) + little(entry.flags, 2) + little(entry.method, 2) + little(0, 4) +
                               little(entry.crc.value_or(crc32(entry.content)), 4) + little(packed.size(), 4) +
                               little(std::min(size, in_zip64), 4) + little(entry.name.size(), 2) +
                               little(extra.size(), 2);
    directory += "PK\x01\x02" + little(45, 2) + common + little(0, 10) + little(out.size(), 4);
    directory += entry.name + extra;
    out += "PK\x03\x04" + common + entry.name + extra + packed;
  }
  const std::size_t start = out.size();
  out += directory + "PK\x05\x06" + little(0, 4) + little(entries.size(), 2);
  return out + little(entries.size(), 2) + little(directory.size(), 4) + little(start, 4) + little(0, 2);
}

inline std::span<const std::byte> as_bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

inline fanin_perf::input_array parse(const std::string& file, std::string_view array_name = {}) {
  return fanin_perf::parse_array(as_bytes(file), "input", array_name);
}

template <class T>
std::vector<T> elements_of(const fanin_perf::input_array& from) {
  const std::span<const T> all = fanin_perf::elements<T>(from);
  return {all.begin(), all.end()};
}

/// `read` throws an input_error of one line that has all of `parts` in it, and advice after a
/// semicolon.
template <class F>
void expect_refused(F&& read, std::initializer_list<std::string_view> parts) {
  try {
    read();
    ADD_FAILURE() << "it was read, and " << *parts.begin() << " expected";
  } catch (const fanin_perf::input_error& error) {
    const std::string_view text = error.what();
    for (const std::string_view part : parts) {
      EXPECT_NE(text.find(part), std::string_view::npos) << part << "\nis not in\n" << text;
    }
    EXPECT_TRUE(text.starts_with("cannot read ")) << text;
    EXPECT_NE(text.find("; "), std::string_view::npos) << text;
    EXPECT_TRUE(std::ranges::none_of(text, [](char c) { return c > 0 && c < ' '; })) << text;
  }
}

inline void expect_file_refused(const std::string& file, std::initializer_list<std::string_view> parts,
                                std::string_view array_name = {}) {
  expect_refused([&] { static_cast<void>(parse(file, array_name)); }, parts);
}

/// Largest block asked for with an alignment of its own, which in these tests only arrays are;
/// reset by reading.
std::size_t take_largest_allocation();

}  // namespace npy_bytes
