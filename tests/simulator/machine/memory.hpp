// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "simulator/machine.hpp"
#include "simulator/machine/generator.hpp"

/// Device memory, which blocks share, and where their stores arrive late.
namespace simulator {

inline bool is_within(const void* address, const unsigned char* memory, std::size_t bytes) {
  const auto* const at = static_cast<const unsigned char*>(address);
  return memory != nullptr && at >= memory && at < memory + bytes;
}

/// Uninitialised, for std::free; of no byte more than is asked for.
unsigned char* allocate_aligned(std::size_t alignment, std::size_t bytes);

/// Up to four bytes that were stored plainly and have not arrived.
struct late_word {
  std::size_t at;
  std::uint32_t value;
  std::uint32_t mask;
  void put(unsigned char* memory) const;
};

/// Pieces of the memory, one a bit: so that a switch from one block to another copies only what differs.
using pieces = std::uint64_t;
inline constexpr std::size_t bytes_of_piece = 512;
inline constexpr pieces all_pieces = ~pieces{0};
inline pieces piece_at(std::size_t offset) { return pieces{1} << (offset / bytes_of_piece); }

/// What a block sees of the memory, and what it stored there that has not arrived.
struct block_view {
  std::vector<unsigned char> bytes;
  std::vector<late_word> late;
  pieces different = 0;  ///< in which it may see something else than what has arrived
};

/// A relaxed store that has not arrived.
struct late_unit {
  const block_view* by;
  unsigned thread;
  void* to;
  std::array<unsigned char, 16> value;
  std::size_t bytes;
};

/// Small allocations stand in an arena. Where views are on, it holds what its owner sees, the block whose thread runs,
/// and `truth_` holds what has arrived; the host and streams see that. A block's plain stores are found by comparing.
class device_memory {
 public:
  explicit device_memory(generator& random);
  ~device_memory();
  device_memory(const device_memory&) = delete;
  device_memory& operator=(const device_memory&) = delete;

  /// As new.
  void begin(const schedule& how);
  void* allocate(std::size_t bytes);
  bool deallocate(void* memory);
  const std::vector<allocation>& allocated() const { return allocated_; }
  /// As far as that is known.
  bool is_allocated(const void* address) const;
  void fill_with_nonsense(void* memory, std::size_t bytes);

  /// Counts what arrived.
  std::uint64_t version = 1;
  void note_change() { ++version; }

  // --- Blocks
  /// A block begins; `is_alone` if no other one runs.
  void begin_view(block_view& of, bool is_alone);
  /// It ends: all its stores arrive.
  void end_view(block_view& of);
  /// Kernels are lost, and what they stored.
  void forget_views();
  /// Its thread runs now, or the host (null).
  void take_over(block_view* next);
  void leave_kernel() { take_over(nullptr); }

  // --- Accesses of the owner's threads
  /// All that the block stored arrives, and it sees all that has arrived.
  void fence();
  void refresh();
  void store_relaxed(const late_unit& unit) { late_units_.push_back(unit); }
  /// What has arrived, and what the owner itself stored.
  void load_arrived(void* to, const void* from, std::size_t bytes);
  void load_own(void* value, const void* from, const block_view& by, unsigned thread) const;
  void* begin_update(void* address, std::size_t bytes);
  void end_update(void* address, std::size_t bytes);
  unsigned char* arrived_at(const void* address);

  // --- Stores that are under way
  /// One, which is drawn.
  bool arrive_one();
  /// Those that may arrive next, by number.
  std::size_t count_under_way();
  void arrive_number(std::size_t k);
  /// Everything that is there or under way.
  std::uint64_t state();

 private:
  bool is_viewed(const void* address) const { return views_are_on_ && is_within(address, arena_, viewed_bytes_); }
  std::size_t offset_of(const void* address) const {
    return static_cast<std::size_t>(static_cast<const unsigned char*>(address) - arena_);
  }
  void release(const allocation& one) const;
  unsigned char* seen_by(block_view* view) { return view == nullptr ? truth_.data() : view->bytes.data(); }
  template <class Use>
  void for_each_piece(pieces some, const Use& use) const;
  void collect_stores(pieces of = all_pieces);
  void collect_stores(std::size_t at, std::size_t bytes);
  void copy(unsigned char* to, const unsigned char* from, pieces some) const;
  void note_difference(pieces some);
  void update_view(block_view& of);
  void arrive(const late_word& word);
  void arrive(const late_unit& unit);
  void arrive_all_of(block_view& of);
  void arrive_unit(std::size_t k);
  void arrive_word(block_view& of, std::size_t k);
  std::vector<std::size_t> first_units() const;

  generator& random_;
  unsigned char* arena_ = nullptr;
  std::size_t arena_used_ = 0;
  std::vector<allocation> allocated_;

  bool plain_stores_are_late_ = false;
  bool plain_loads_are_new_ = false;
  bool views_are_on_ = false;
  std::size_t viewed_bytes_ = 0;
  std::vector<unsigned char> truth_;
  block_view* owner_ = nullptr;
  std::vector<block_view*> views_;
  std::vector<late_unit> late_units_;
};

/// Memory of the host under another address for the device, where each aligned word of 8 bytes arrives on its own.
class mapped_memory {
 public:
  void begin() { all_.clear(); }
  void* allocate(std::size_t bytes, std::uint64_t nonsense, void*& of_device);
  bool deallocate(const void* of_host);
  void* address_of_device(const void* of_host) const;
  /// Every word that the device wrote, or each with some luck.
  void send(bool all, generator& random);

 private:
  struct words {
    std::vector<std::uint64_t> host;
    std::vector<std::uint64_t> device;
    std::vector<std::uint64_t> sent;  ///< what of the device has arrived
    std::vector<std::uint64_t> left;  ///< what stood at the host then
  };
  std::vector<std::unique_ptr<words>> all_;
};

}  // namespace simulator
