// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "npy.hpp"
#include "npy_bytes.hpp"

namespace {

using fanin_perf::input_array;
using npy_bytes::elements_of;
using npy_bytes::expect_file_refused;
using npy_bytes::header;
using npy_bytes::npy;
using npy_bytes::parse;
using npy_bytes::values;
using npy_bytes::zip;
using npy_bytes::zip_entry;

std::string array_of(std::int32_t value) { return npy(header("<i4", "(1,)"), values({value})); }

std::int64_t only_element(const std::string& archive, std::string_view name = {}) {
  return elements_of<std::int64_t>(parse(archive, name)).at(0);
}

TEST(npz, reads_stored_and_deflated_entries) {
  std::string data;
  for (std::int32_t i = 0; i < 50'000; ++i) data += values({i * 40'009});
  const std::string array = npy(header("<i4", "(50000,)"), data);
  for (const unsigned method : {0U, 8U}) {
    const input_array read = parse(zip({{.name = "x.npy", .content = array, .method = method}}), "x");
    const std::vector<std::int64_t> got = elements_of<std::int64_t>(read);
    ASSERT_EQ(got.size(), 50'000U);
    for (std::int32_t i = 0; i < 50'000; ++i) ASSERT_EQ(got[static_cast<std::size_t>(i)], i * 40'009);
    EXPECT_EQ(read.source, "array 'x' of 'input'");
  }
}

TEST(npz, finds_an_array_by_numpy_s_rule) {
  const std::string archive = zip({{.name = "folder/", .content = ""},
                                   {.name = "a.npy", .content = array_of(1)},
                                   {.name = "b", .content = array_of(2)},
                                   {.name = "b.npy", .content = array_of(3)},
                                   {.name = "folder/c.npy", .content = array_of(4), .method = 8}});
  EXPECT_EQ(only_element(archive, "a"), 1);
  EXPECT_EQ(only_element(archive, "a.npy"), 1);
  EXPECT_EQ(only_element(archive, "b"), 2);
  EXPECT_EQ(only_element(archive, "b.npy"), 3);
  EXPECT_EQ(only_element(archive, "folder/c"), 4);
  expect_file_refused(archive, {"'input'", "several arrays", "'a', 'b', 'b', 'folder/c'"});
  expect_file_refused(archive, {"no array named 'd'", "'a', 'b', 'b', 'folder/c'"}, "d");
  expect_file_refused(archive, {"no array named 'folder/'"}, "folder/");
}

TEST(npz, needs_no_name_for_a_single_array) {
  EXPECT_EQ(only_element(zip({{.name = "a.npy", .content = array_of(5)}})), 5);
  EXPECT_EQ(only_element(zip({{.name = "a", .content = array_of(6)}})), 6);
  EXPECT_EQ(only_element(zip({{.name = "readme.txt", .content = "x"}, {.name = "a.npy", .content = array_of(7)}})), 7);
  expect_file_refused(zip({}), {"'input'", "holds no array"});
  expect_file_refused(zip({{.name = "a/", .content = ""}}), {"holds no array"});
  expect_file_refused(zip({{.name = "readme.txt", .content = "hello"}}),
                      {"array 'readme.txt' of 'input'", "mark of a .npy file"});
}

TEST(npz, refuses_ambiguous_names_and_cuts_long_lists) {
  expect_file_refused(zip({{.name = "a.npy", .content = array_of(1)}, {.name = "a.npy", .content = array_of(2)}}),
                      {"two entries named 'a.npy'"}, "a");
  std::vector<zip_entry> many;
  for (int i = 0; i < 25; ++i) {
    many.push_back({.name = std::string("n").append(std::to_string(i)).append(".npy"), .content = array_of(i)});
  }
  expect_file_refused(zip(many), {"'n0', 'n1'", "'n19' and 5 more"}, "a");
  EXPECT_EQ(only_element(zip(many), "n24"), 24);
}

TEST(npz, names_may_be_beyond_ascii_but_do_not_reach_the_terminal_raw) {
  constexpr unsigned utf8 = 0x800;
  const std::string archive = zip(
      {{.name = "h\xc3\xb6he.npy", .content = array_of(8), .flags = utf8}, {.name = "b.npy", .content = array_of(9)}});
  EXPECT_EQ(only_element(archive, "h\xc3\xb6he"), 8);
  expect_file_refused(archive, {"'h\xc3\xb6he', 'b'"});
  expect_file_refused(archive, {"named 'a\\x1b[2J'"}, "a\x1b[2J");
  for (const unsigned flags : {0U, utf8}) {
    expect_file_refused(zip({{.name = "a\x1b[2J.npy", .content = array_of(1), .flags = flags}}), {"'input'"}, "b");
  }
}

TEST(npz, checks_the_crc) {
  for (const unsigned method : {0U, 8U}) {
    expect_file_refused(zip({{.name = "a.npy", .content = array_of(1), .method = method, .crc = 1U}}),
                        {"array 'a' of 'input'", "damaged", "CRC"});
    expect_file_refused(
        zip({{.name = "a.npy", .content = npy(header("<i4", "(0,)"), ""), .method = method, .crc = 1U}}), {"CRC"});
    std::string archive = zip({{.name = "a.npy", .content = array_of(0x01020304), .method = method}});
    const std::size_t at = archive.find("\x04\x03\x02\x01");
    ASSERT_NE(at, std::string::npos);
    archive[at] ^= 1;
    expect_file_refused(archive, {"CRC"});
  }
}

TEST(npz, refuses_sizes_that_cannot_be_before_it_allocates) {
  npy_bytes::take_largest_allocation();
  const std::string tera = npy(header("<f8", "(137438953472,)"), values({1.0}));
  const std::uint64_t tera_size = tera.size() - 8 + (std::uint64_t{1} << 40U);
  for (const unsigned method : {0U, 8U}) {
    // The header alone lies; the header and the archive do, and agree.
    expect_file_refused(zip({{.name = "a.npy", .content = tera, .method = method}}), {"truncated"});
    expect_file_refused(zip({{.name = "a.npy", .content = tera, .method = method, .size = tera_size}}),
                        {"declares 1099511627904 bytes", "which cannot be"});
  }
  expect_file_refused(zip({{.name = "a.npy", .content = array_of(1), .size = 4U}}), {"which cannot be"});
  expect_file_refused(zip({{.name = "a.npy", .content = array_of(1), .method = 8, .size = 0xffffffff'ffffffffU}}),
                      {"cannot read"});
  EXPECT_EQ(npy_bytes::take_largest_allocation(), 0U);
}

TEST(npz, does_not_inflate_past_the_declared_size) {
  const std::string array = npy(header("<f8", "(2,)"), values({1.0, 2.0}));
  const std::string more = array + std::string(1'000'000, 'x');
  npy_bytes::take_largest_allocation();
  // The archive declares what the header takes, and the stream goes on.
  expect_file_refused(zip({{.name = "a.npy", .content = more, .method = 8, .size = array.size()}}),
                      {"array 'a' of 'input'"});
  expect_file_refused(zip({{.name = "a.npy", .content = array, .method = 8, .size = array.size() - 8}}), {"truncated"});
  expect_file_refused(zip({{.name = "a.npy", .content = array, .method = 8, .size = array.size() + 8}}),
                      {"bytes follow"});
  // The stream ends before what was declared.
  const std::string longer = npy(header("<f8", "(3,)"), values({1.0, 2.0}));
  expect_file_refused(zip({{.name = "a.npy", .content = longer, .method = 8, .size = longer.size() + 8}}),
                      {"array 'a' of 'input'"});
  EXPECT_LE(npy_bytes::take_largest_allocation(), 24U);
}

TEST(npz, refuses_encrypted_and_exotic_entries) {
  expect_file_refused(zip({{.name = "a.npy", .content = array_of(1), .flags = 1}}), {"encrypted"});
  expect_file_refused(zip({{.name = "a.npy", .content = array_of(1), .method = 12}}),
                      {"compressed by method 12", "numpy.savez"});
  expect_file_refused(zip({{.name = "a.npy", .content = npy(header("|O", "(1,)"), "pickled"), .method = 8}}),
                      {"array 'a' of 'input'", "unpickling"});
  expect_file_refused(zip({{.name = "a.npy", .content = ""}}), {"array 'a'", "empty"});
}

TEST(npz, refuses_an_archive_cut_anywhere) {
  const std::string whole = zip({{.name = "a.npy", .content = array_of(1), .method = 8}});
  for (std::size_t length = 0; length < whole.size(); ++length) {
    expect_file_refused(whole.substr(0, length), {"'input'"});
  }
  EXPECT_EQ(only_element(whole), 1);
}

TEST(npz, survives_every_flipped_byte) {
  const std::string whole = zip({{.name = "a.npy", .content = array_of(1), .method = 8}});
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(~damaged[at]);
    try {
      // Read, where the byte says nothing about the array (a date, a name): then the array is
      // right.
      EXPECT_EQ(only_element(damaged), 1) << at;
    } catch (const fanin_perf::input_error&) {
      continue;
    }
  }
}

}  // namespace
