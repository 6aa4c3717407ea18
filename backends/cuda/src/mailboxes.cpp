// SPDX-License-Identifier: Apache-2.0
#include "mailboxes.hpp"

#include <exception>
#include <optional>
#include <utility>

namespace fanin::detail {

namespace {

/// Makes the context of a mailbox current, in whatever thread. Throws state_error where it is lost, and the mailbox
/// with it.
class context_scope {
 public:
  context_scope(int device, std::uint64_t context, const char* call) {
    if (current_context() == context) return;
    const last_error_scope last_error;
    other_.emplace(device);
    if (made_context() != context) refuse_lost_context(call);
  }

 private:
  std::optional<device_scope> other_;
};

}  // namespace

// --- One mailbox

bool mailbox_slot::is_ready() noexcept {
  try {
    const context_scope scope(pool_->device_, pool_->context_, "fanin::pending::ready");
    std::uint32_t carried = 0;
    const auto is_there = [&](const std::uint64_t& word) { return has_come(word, sequence, carried); };
    return std::all_of(host_, host_ + words_, is_there) || pool_->has_ended();
  } catch (...) {
    return true;  // take() throws it
  }
}

void mailbox_slot::take(void* to, std::size_t bytes) {
  const context_scope scope(pool_->device_, pool_->context_, "fanin::pending::get");
  wait_for_words(host_, words_, sequence, to, bytes, [&] { return pool_->has_ended(); });
}

void mailbox_slot::release() noexcept {
  const std::shared_ptr<mailbox_pool> pool = std::move(pool_);
  pool->put(*this);
}

// --- All of an object

mailbox_pool::mailbox_pool(int device, cudaStream_t stream, std::uint64_t context)
    : device_{device}, stream_{stream}, context_{context} {}

mailbox_pool::~mailbox_pool() {
  if (slabs_.empty()) return;
  const release_scope scope(device_);
  try {
    if (made_context() != context_) return;  // all of it went with its context
    for (const slab& one : slabs_) static_cast<void>(cudaFreeHost(one.memory.host));
  } catch (const std::exception&) {
    // The context is lost, and everything in it.
  }
}

std::forward_list<mailbox_pool::slab> mailbox_pool::make_slab(cuda_state& state, int words, std::size_t at_least) {
  constexpr std::size_t page = 4096;
  constexpr std::size_t cache_line = 64;
  const std::size_t bytes =
      (static_cast<std::size_t>(words) * sizeof(std::uint64_t) + cache_line - 1) / cache_line * cache_line;
  std::forward_list<slab> made;
  slab& one = made.emplace_front(std::max({page / bytes, at_least, std::size_t{1}}));
  state.reserve(one.memory, one.slots.size() * bytes);
  for (std::size_t k = 0; k < one.slots.size(); ++k) {
    mailbox_slot& slot = one.slots[k];
    slot.host_ = reinterpret_cast<const std::uint64_t*>(static_cast<const unsigned char*>(one.memory.host) + k * bytes);
    slot.device_ = reinterpret_cast<std::uint64_t*>(static_cast<unsigned char*>(one.memory.device) + k * bytes);
    slot.words_ = words;
    slot.next_free_ = k + 1 < one.slots.size() ? &one.slots[k + 1] : nullptr;
  }
  return made;
}

cuda_pending mailbox_pool::take(cuda_state& state, int words) {
  std::unique_lock lock(mutex_);
  mailboxes_of_size& all = sizes_[words];
  if (all.free == nullptr) {
    // Others look for results meanwhile, and give mailboxes back; nobody else takes one.
    lock.unlock();
    std::forward_list<slab> made = make_slab(state, words, all.count);
    lock.lock();
    made.front().slots.back().next_free_ = all.free;
    all.free = &made.front().slots.front();
    all.count += made.front().slots.size();
    slabs_.splice_after(slabs_.before_begin(), made);
  }
  mailbox_slot& slot = *std::exchange(all.free, all.free->next_free_);
  slot.pool_ = shared_from_this();
  slot.of_size_ = &all;
  return {{slot.device_, ++slot.sequence}, pending_handle(&slot)};
}

void mailbox_pool::put(mailbox_slot& slot) noexcept {
  const std::lock_guard lock(mutex_);
  slot.next_free_ = std::exchange(slot.of_size_->free, &slot);
}

void mailbox_pool::leave_stream() noexcept {
  const std::lock_guard lock(mutex_);
  has_stream_ = false;
}

bool mailbox_pool::has_ended() {
  const std::lock_guard lock(mutex_);
  if (has_stream_) return is_known_at_rest(stream_);
  const last_error_scope last_error;
  const relaxed_capture_scope relaxed;
  return is_at_rest(service_stream());
}

}  // namespace fanin::detail
