// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "simulator/machine.hpp"
#include "simulator/machine/memory.hpp"
#include "simulator/machine/strand.hpp"
#include "simulator/thread.hpp"

/// What runs: streams of grids of blocks of warps of threads.
namespace simulator {

inline constexpr unsigned lanes_of_warp = 32;

struct block;
struct grid;

struct thread {
  block* of = nullptr;
  unsigned index = 0;
  std::unique_ptr<strand> fibre;
  bool is_done = false;
  unsigned meetings = 0;
  // What it waits for.
  const char* waits_for = nullptr;
  place waits_at;
  bool (*there)(const void*) = nullptr;
  const void* of_what = nullptr;
  // Polling.
  std::uint64_t version_seen = 0;
  unsigned looks = 0;
  std::uint64_t history = 0;  ///< of what it has read: with that, what it does next is decided
  // See fences.hpp.
  const char* released = nullptr;
  std::vector<const char*> observed;

  unsigned warp() const { return index / lanes_of_warp; }
  unsigned lane() const { return index % lanes_of_warp; }
};

struct warp {
  std::uint32_t ready = 0;
  std::uint32_t arrived = 0;
  const char* meeting = nullptr;
  unsigned last = 0;
  std::array<std::array<std::uint32_t, lanes_of_warp>, 2> words{};
};

/// Of a block's shared memory.
struct object {
  const void* key;
  unsigned char* memory;
  std::size_t bytes;
};

struct cluster {
  std::vector<block*> blocks;
  unsigned arrived = 0;
};

struct block {
  grid* of = nullptr;
  unsigned index = 0;
  std::shared_ptr<cluster> in;
  std::vector<thread> threads;
  std::vector<warp> warps;
  std::uint32_t ready_warps = 0;
  unsigned last_warp = 0;
  unsigned done = 0;
  unsigned at_barrier = 0;
  place barrier;
  std::vector<object> objects;
  unsigned char* dynamic_memory = nullptr;
  bool lets_next_grid_start = false;
  block_view view;

  block() = default;
  ~block() { free_memory(); }
  block(const block&) = delete;
  block& operator=(const block&) = delete;
  void free_memory();
};

struct grid {
  launch what;
  stream* on = nullptr;
  unsigned next = 0;      ///< block to start
  unsigned done = 0;      ///< blocks
  unsigned let_next = 0;  ///< blocks that are done or let the next grid start
  bool begun = false;
  bool is_complete = false;
  std::vector<std::unique_ptr<block>> blocks;  ///< that run
  std::vector<std::unique_ptr<block>> ended;   ///< whose stores may be under way, or whose memory others may read
  std::vector<std::unique_ptr<strand>> spent;  ///< fibres that no thread of this grid may be again
  bool is_done() const { return done == what.blocks; }
};

struct stream {
  struct work {
    std::unique_ptr<grid> kernel;
    std::function<void()> at_once;
  };
  std::deque<work> queue;
};

}  // namespace simulator
