// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "simulator/machine/hash.hpp"
#include "simulator/machine/strand.hpp"

namespace simulator {

namespace {

/// None where the sanitizer watches each allocation's end.
constexpr std::size_t arena_bytes = memory_is_checked ? 0 : std::size_t{1} << 20;

}  // namespace

unsigned char* allocate_aligned(std::size_t alignment, std::size_t bytes) {
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment, std::max<std::size_t>(bytes, 1)) != 0) throw std::bad_alloc();
  return static_cast<unsigned char*>(memory);
}

device_memory::device_memory(generator& random) : random_{random}, truth_(arena_bytes) {
  if (arena_bytes > 0) arena_ = allocate_aligned(4096, arena_bytes);
}
device_memory::~device_memory() {
  for (const allocation& one : allocated_) release(one);
  std::free(arena_);
}

void device_memory::begin(const schedule& how) {
  for (const allocation& one : allocated_) release(one);
  allocated_.clear();
  arena_used_ = 0;
  plain_stores_are_late_ = how.plain_stores_are_late && !sees_races;  // a race is one whenever stores arrive
  plain_loads_are_new_ = how.plain_loads_are_new;
  version = 1;
}

void* device_memory::allocate(std::size_t bytes) {
  leave_kernel();
  const std::size_t room = (std::max<std::size_t>(bytes, 1) + 255) / 256 * 256;
  unsigned char* memory = nullptr;
  if (arena_used_ + room <= arena_bytes) {
    memory = arena_ + arena_used_;
    arena_used_ += room;
  } else {
    memory = allocate_aligned(256, bytes);
  }
  fill_with_nonsense(memory, bytes);
  allocated_.push_back({memory, bytes});
  return memory;
}

bool device_memory::deallocate(void* memory) {
  const auto found =
      std::find_if(allocated_.begin(), allocated_.end(), [&](const allocation& one) { return one.memory == memory; });
  if (found == allocated_.end()) return false;
  leave_kernel();
  fill_with_nonsense(found->memory, found->bytes);
  release(*found);
  allocated_.erase(found);
  return true;
}

bool device_memory::is_allocated(const void* address) const {
  return !is_within(address, arena_, arena_bytes) ||
         std::any_of(allocated_.begin(), allocated_.end(),
                     [&](const allocation& one) { return is_within(address, one.memory, one.bytes); });
}

void device_memory::release(const allocation& one) const {
  if (!is_within(one.memory, arena_, arena_bytes)) std::free(one.memory);
}

void device_memory::fill_with_nonsense(void* memory, std::size_t bytes) {
  auto* const to = static_cast<unsigned char*>(memory);
  const std::uint64_t word = random_.next() | 0x0101010101010101ULL;
  std::size_t k = 0;
  for (; k + 8 <= bytes; k += 8) std::memcpy(to + k, &word, 8);
  for (; k < bytes; ++k) to[k] = static_cast<unsigned char>(word);
}

// --- Accesses

unsigned char* device_memory::arrived_at(const void* address) {
  if (!is_viewed(address)) return const_cast<unsigned char*>(static_cast<const unsigned char*>(address));
  return truth_.data() + offset_of(address);
}

void device_memory::load_arrived(void* to, const void* from, std::size_t bytes) {
  if (!is_viewed(from)) {
    std::memcpy(to, from, bytes);
    return;
  }
  const std::size_t offset = offset_of(from);
  auto* const value = static_cast<unsigned char*>(to);
  collect_stores(piece_at(offset));
  std::memcpy(value, truth_.data() + offset, bytes);
  for (const late_word& word : owner_->late) {
    for (std::size_t k = 0; k < 4; ++k) {
      const std::size_t at = word.at + k;
      if ((word.mask >> (8 * k) & 0xff) != 0 && at >= offset && at < offset + bytes) {
        value[at - offset] = static_cast<unsigned char>(word.value >> (8 * k));
      }
    }
  }
}

void device_memory::load_own(void* value, const void* from, const block_view& by, unsigned thread) const {
  for (const late_unit& unit : late_units_) {
    if (unit.to == from && unit.by == &by && unit.thread == thread) std::memcpy(value, unit.value.data(), unit.bytes);
  }
}

void* device_memory::begin_update(void* address, std::size_t bytes) {
  if (!is_viewed(address)) return address;
  const std::size_t offset = offset_of(address);
  collect_stores(piece_at(offset));
  std::erase_if(owner_->late, [&](const late_word& word) {
    if (word.at + 4 <= offset || word.at >= offset + bytes) return false;
    arrive(word);
    return true;
  });
  return truth_.data() + offset;
}

void device_memory::end_update(void* address, std::size_t bytes) {
  if (!is_viewed(address)) return;
  const std::size_t offset = offset_of(address);
  std::memcpy(arena_ + offset, truth_.data() + offset, bytes);
  std::memcpy(owner_->bytes.data() + offset, truth_.data() + offset, bytes);
  note_difference(piece_at(offset));
}

// --- Stores that are under way

void device_memory::arrive(const late_word& word) {
  word.put(truth_.data());
  if (owner_ == nullptr) word.put(arena_);
  note_difference(piece_at(word.at));
  ++version;
}
void device_memory::arrive(const late_unit& unit) {
  std::memcpy(arrived_at(unit.to), unit.value.data(), unit.bytes);
  if (owner_ == nullptr) std::memcpy(unit.to, unit.value.data(), unit.bytes);
  if (is_viewed(unit.to)) note_difference(piece_at(offset_of(unit.to)));
  ++version;
}

void device_memory::arrive_all_of(block_view& of) {
  for (const late_word& word : of.late) arrive(word);
  of.late.clear();
  std::erase_if(late_units_, [&](const late_unit& unit) {
    if (unit.by != &of) return false;
    arrive(unit);
    return true;
  });
}

void device_memory::arrive_unit(std::size_t k) {
  arrive(late_units_[k]);
  late_units_.erase(late_units_.begin() + static_cast<std::ptrdiff_t>(k));
}
void device_memory::arrive_word(block_view& of, std::size_t k) {
  arrive(of.late[k]);
  of.late.erase(of.late.begin() + static_cast<std::ptrdiff_t>(k));
}

bool device_memory::arrive_one() {
  if (!late_units_.empty()) {
    std::size_t k = random_.below(late_units_.size());
    for (std::size_t earlier = 0; earlier < k; ++earlier) {
      if (late_units_[earlier].to == late_units_[k].to) k = earlier;
    }
    arrive_unit(k);
    return true;
  }
  if (!views_are_on_) return false;
  collect_stores();
  for (block_view* const view : views_) {
    if (view->late.empty()) continue;
    take_over(nullptr);
    arrive_word(*view, random_.below(view->late.size()));
    return true;
  }
  return false;
}

/// Of those to one place the first.
std::vector<std::size_t> device_memory::first_units() const {
  std::vector<std::size_t> found;
  for (std::size_t k = 0; k < late_units_.size(); ++k) {
    const bool is_first = std::none_of(late_units_.begin(), late_units_.begin() + static_cast<std::ptrdiff_t>(k),
                                       [&](const late_unit& earlier) { return earlier.to == late_units_[k].to; });
    if (is_first) found.push_back(k);
  }
  return found;
}

std::size_t device_memory::count_under_way() {
  take_over(nullptr);
  std::size_t count = first_units().size();
  for (const block_view* const view : views_) count += view->late.size();
  return count;
}

void device_memory::arrive_number(std::size_t k) {
  const std::vector<std::size_t> units = first_units();
  if (k < units.size()) return arrive_unit(units[k]);
  k -= units.size();
  for (block_view* const view : views_) {
    if (k < view->late.size()) return arrive_word(*view, k);
    k -= view->late.size();
  }
}

std::uint64_t device_memory::state() {
  take_over(nullptr);
  std::uint64_t state = mixed(0, truth_.data(), viewed_bytes_);
  for (const late_unit& unit : late_units_) {
    // In no order, but for stores to one place.
    state += mixed(mixed(unit.thread, reinterpret_cast<std::uintptr_t>(unit.to)), unit.value.data(), unit.bytes);
  }
  for (const block_view* const view : views_) {
    state = mixed(state, view->bytes.data(), view->bytes.size());
    for (const late_word& word : view->late) state += mixed(mixed(word.at, word.value), word.mask);
  }
  return state;
}

}  // namespace simulator
