// SPDX-License-Identifier: Apache-2.0
#include "npy.hpp"
#include "npy_header.hpp"

#include <zip.h>

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace fanin_perf {
namespace detail {
namespace {

// Deflate spends at least two bits on a copy of at most 258 bytes, so one byte gives 1032 at most.
constexpr std::uint64_t deflate_ratio_limit = 1032;
constexpr std::size_t listed_names_limit = 20;
constexpr std::string_view npy_suffix = ".npy";

class zip_problem {
 public:
  zip_problem() noexcept { zip_error_init(&error_); }
  zip_problem(const zip_problem&) = delete;
  zip_problem& operator=(const zip_problem&) = delete;
  ~zip_problem() { zip_error_fini(&error_); }

  [[nodiscard]] zip_error_t* get() noexcept { return &error_; }
  [[nodiscard]] std::string words() { return zip_error_strerror(&error_); }

 private:
  zip_error_t error_{};
};

struct archive_closer {
  void operator()(zip_t* archive) const noexcept { zip_discard(archive); }
};
using archive_handle = std::unique_ptr<zip_t, archive_closer>;

struct entry_closer {
  void operator()(zip_file_t* entry) const noexcept { zip_fclose(entry); }
};

/// An entry's bytes as they inflate; libzip compares the CRC when the end is read.
class entry_source final : public byte_source {
 public:
  entry_source(std::string name, std::uint64_t size, zip_file_t* entry)
      : byte_source(std::move(name), size), entry_(entry) {}

  std::size_t read(std::byte* to, std::size_t count) override {
    const zip_int64_t taken = zip_fread(entry_.get(), to, count);
    if (taken < 0) {
      fail(name(), text("the archive's entry is damaged (", zip_file_strerror(entry_.get()), ")"),
           "get a fresh copy of the file");
    }
    return static_cast<std::size_t>(taken);
  }

 private:
  std::unique_ptr<zip_file_t, entry_closer> entry_;
};

struct entry {
  zip_uint64_t index;
  std::string name;
};

std::string_view without_suffix(std::string_view name) {
  return name.ends_with(npy_suffix) ? name.substr(0, name.size() - npy_suffix.size()) : name;
}

std::vector<entry> entries_of(zip_t* archive, const std::string& source) {
  std::vector<entry> found;
  const zip_int64_t count = zip_get_num_entries(archive, 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    const auto index = static_cast<zip_uint64_t>(i);
    const char* const name = zip_get_name(archive, index, ZIP_FL_ENC_GUESS);
    if (name == nullptr) {
      fail(source, "the name of an entry of the archive cannot be read", "get a fresh copy of the file");
    }
    if (!std::string_view(name).ends_with('/')) {  // a directory
      found.push_back({index, name});
    }
  }
  return found;
}

std::string listed(const std::vector<entry>& entries) {
  std::string out;
  for (std::size_t i = 0; i < entries.size() && i < listed_names_limit; ++i) {
    out.append(i == 0 ? "" : ", ").append(in_quotes(without_suffix(entries[i].name)));
  }
  if (entries.size() > listed_names_limit) {
    out.append(" and ").append(std::to_string(entries.size() - listed_names_limit)).append(" more");
  }
  return out;
}

/// numpy's rule: an entry is called by its full name or by what stands before ".npy"; the full name
/// wins.
const entry& chosen(const std::vector<entry>& entries, const std::string& source, std::string_view array_name) {
  if (entries.empty()) {
    fail(source, "the archive holds no array", "write it with numpy.savez");
  }
  const entry* found = nullptr;
  const auto choose = [&](auto matches) {
    for (const entry& candidate : entries) {
      if (!matches(std::string_view(candidate.name))) {
        continue;
      }
      if (found != nullptr && array_name.empty()) {
        fail(source, "the archive holds several arrays and none was named", text("name one of ", listed(entries)));
      }
      if (found != nullptr) {
        fail(source, text("the archive holds two entries named ", in_quotes(candidate.name)),
             "write it with numpy.savez");
      }
      found = &candidate;
    }
    return found != nullptr;
  };
  if (array_name.empty()) {
    if (choose([](std::string_view name) { return name.ends_with(npy_suffix); }) ||
        choose([](std::string_view) { return true; })) {
      return *found;
    }
  }
  if (choose([&](std::string_view name) { return name == array_name; }) ||
      choose([&](std::string_view name) { return name.ends_with(npy_suffix) && without_suffix(name) == array_name; })) {
    return *found;
  }
  fail(source, text("the archive holds no array named ", in_quotes(array_name)), text("name one of ", listed(entries)));
}

/// Refuses sizes that the archive's bytes cannot give, so that what is allocated stays in
/// proportion to the file.
void check_entry(const zip_stat_t& status, std::uint64_t archive_size, const std::string& source) {
  constexpr zip_uint64_t needed =
      ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
  const std::string_view fresh_copy = "get a fresh copy of the file";
  if ((status.valid & needed) != needed) {
    fail(source, "the archive does not say the entry's sizes and methods", fresh_copy);
  }
  if (status.encryption_method != ZIP_EM_NONE) {
    fail(source, "the archive's entry is encrypted", "write it with numpy.savez");
  }
  if (status.comp_method != ZIP_CM_STORE && status.comp_method != ZIP_CM_DEFLATE) {
    fail(source, text("the archive's entry is compressed by method ", status.comp_method),
         "write it with numpy.savez or numpy.savez_compressed, which store or deflate");
  }
  const bool stored = status.comp_method == ZIP_CM_STORE;
  const std::uint64_t most = stored ? status.comp_size : status.comp_size * deflate_ratio_limit;
  if (status.comp_size > archive_size || status.size > most || (stored && status.size != status.comp_size)) {
    fail(source,
         text("the archive's entry declares ", status.size, " bytes from ", status.comp_size, " in a file of ",
              archive_size, ", which cannot be"),
         fresh_copy);
  }
}

/// Takes `from` over, also where it throws.
input_array read_archive(zip_source_t* from, std::uint64_t size, const std::string& source,
                         std::string_view array_name) {
  zip_problem problem;
  archive_handle archive(zip_open_from_source(from, ZIP_RDONLY, problem.get()));
  if (!archive) {
    zip_source_free(from);
    fail(source, text("the zip archive is damaged or cut short (", problem.words(), ")"),
         "get a whole copy of the file");
  }
  const std::vector<entry> entries = entries_of(archive.get(), source);
  const entry& wanted = chosen(entries, source, array_name);
  const std::string name = text("array ", in_quotes(without_suffix(wanted.name)), " of ", source);
  zip_stat_t status;
  zip_stat_init(&status);
  if (zip_stat_index(archive.get(), wanted.index, 0, &status) != 0) {
    fail(name, "the archive does not describe it", "get a fresh copy of the file");
  }
  check_entry(status, size, name);
  zip_file_t* const opened = zip_fopen_index(archive.get(), wanted.index, 0);
  if (opened == nullptr) {
    fail(name, text("the archive's entry cannot be opened (", zip_strerror(archive.get()), ")"),
         "get a fresh copy of the file");
  }
  entry_source bytes(name, status.size, opened);
  return decode_npy(bytes);
}

}  // namespace

input_array read_npz(std::FILE* file, std::uint64_t size, const std::string& source, std::string_view array_name) {
  zip_problem problem;
  zip_source_t* const from = zip_source_filep_create(file, 0, -1, problem.get());
  if (from == nullptr) {
    std::fclose(file);
    fail(source, detail::text("the zip archive cannot be read (", problem.words(), ")"),
         "get a whole copy of the file");
  }
  return read_archive(from, size, source, array_name);
}

}  // namespace detail

input_array parse_npz(std::span<const std::byte> bytes, std::string_view name, std::string_view array_name) {
  const std::string source = detail::text("'", name, "'");
  detail::zip_problem problem;
  zip_source_t* const from = zip_source_buffer_create(bytes.data(), bytes.size(), 0, problem.get());
  if (from == nullptr) {
    detail::fail(source, detail::text("the zip archive cannot be read (", problem.words(), ")"),
                 "get a whole copy of the file");
  }
  return detail::read_archive(from, bytes.size(), source, array_name);
}

}  // namespace fanin_perf
