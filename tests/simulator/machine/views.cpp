// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstring>

#include "simulator/machine/memory.hpp"

/// What blocks see of device memory.
namespace simulator {

namespace {

/// Of more device memory than that blocks have no views of their own.
constexpr std::size_t most_viewed_bytes = 64 * bytes_of_piece;

}  // namespace

void late_word::put(unsigned char* memory) const {
  std::uint32_t there = 0;
  std::memcpy(&there, memory + at, 4);
  there = (there & ~mask) | (value & mask);
  std::memcpy(memory + at, &there, 4);
}

/// use(at, bytes) for some pieces of what blocks have views of.
template <class Use>
void device_memory::for_each_piece(pieces some, const Use& use) const {
  for (; some != 0; some &= some - 1) {
    const std::size_t at = static_cast<std::size_t>(std::countr_zero(some)) * bytes_of_piece;
    if (at >= viewed_bytes_) return;
    use(at, std::min(bytes_of_piece, viewed_bytes_ - at));
  }
}
void device_memory::copy(unsigned char* to, const unsigned char* from, pieces some) const {
  for_each_piece(some, [&](std::size_t at, std::size_t bytes) { std::memcpy(to + at, from + at, bytes); });
}
/// What has arrived is another now.
void device_memory::note_difference(pieces some) {
  for (block_view* const view : views_) view->different |= some;
}

void device_memory::begin_view(block_view& of, bool is_alone) {
  take_over(nullptr);
  if (is_alone) {
    views_are_on_ = plain_stores_are_late_ && arena_used_ > 0 && arena_used_ <= most_viewed_bytes;
    viewed_bytes_ = arena_used_;
    if (views_are_on_) std::memcpy(truth_.data(), arena_, viewed_bytes_);
  }
  collect_stores();
  views_.push_back(&of);
  if (views_are_on_) of.bytes.assign(truth_.begin(), truth_.begin() + static_cast<std::ptrdiff_t>(viewed_bytes_));
}

void device_memory::end_view(block_view& of) {
  arrive_all_of(of);
  std::erase(views_, &of);
}

void device_memory::forget_views() {
  take_over(nullptr);
  views_.clear();
  late_units_.clear();
  views_are_on_ = false;
}

void device_memory::take_over(block_view* next) {
  if (owner_ == next || !views_are_on_) {
    owner_ = next;
    return;
  }
  collect_stores();
  pieces different = owner_ == nullptr ? 0 : owner_->different;
  owner_ = next;
  if (next != nullptr) {
    if (plain_loads_are_new_) update_view(*next);
    different |= next->different;
  }
  copy(arena_, seen_by(next), different);
}

/// Finds what the owner, or the host, stored since it took over.
void device_memory::collect_stores(pieces of) {
  if (!views_are_on_) return;
  unsigned char* const seen = seen_by(owner_);
  for_each_piece(of, [&](std::size_t at, std::size_t bytes) {
    if (std::memcmp(seen + at, arena_ + at, bytes) == 0) return;
    if (owner_ == nullptr) {
      note_difference(piece_at(at));
    } else {
      owner_->different |= piece_at(at);
      collect_stores(at, bytes);
    }
    std::memcpy(seen + at, arena_ + at, bytes);
  });
}
void device_memory::collect_stores(std::size_t at, std::size_t bytes) {
  const unsigned char* const view = owner_->bytes.data();
  for (const std::size_t end = at + bytes; at < end; at += 4) {
    if (std::memcmp(view + at, arena_ + at, 4) == 0) continue;
    late_word word{at, 0, 0};
    std::memcpy(&word.value, arena_ + at, 4);
    for (unsigned k = 0; k < 4; ++k) {
      if (view[at + k] != arena_[at + k]) word.mask |= 0xffU << (8 * k);
    }
    const auto same =
        std::find_if(owner_->late.begin(), owner_->late.end(), [&](const late_word& one) { return one.at == at; });
    if (same == owner_->late.end()) {
      owner_->late.push_back(word);
    } else {
      same->value = word.value;
      same->mask |= word.mask;
    }
  }
}

void device_memory::update_view(block_view& of) {
  if (!views_are_on_) return;
  pieces late = 0;
  for (const late_word& word : of.late) late |= piece_at(word.at);
  copy(of.bytes.data(), truth_.data(), of.different);
  for (const late_word& word : of.late) word.put(of.bytes.data());
  if (owner_ == &of) copy(arena_, of.bytes.data(), of.different);
  of.different = late;
}

void device_memory::refresh() {
  if (owner_ == nullptr) return;
  collect_stores();
  update_view(*owner_);
}

void device_memory::fence() {
  if (owner_ == nullptr) return;
  collect_stores();
  arrive_all_of(*owner_);
  update_view(*owner_);
}

}  // namespace simulator
