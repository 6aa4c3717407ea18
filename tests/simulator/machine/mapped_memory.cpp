// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "simulator/machine/memory.hpp"

namespace simulator {

void* mapped_memory::allocate(std::size_t bytes, std::uint64_t nonsense, void*& of_device) {
  words& made = *all_.emplace_back(std::make_unique<words>());
  for (auto* const of : {&made.device, &made.sent}) of->resize((bytes + 7) / 8);
  for (auto* const of : {&made.host, &made.left}) of->resize((bytes + 7) / 8, nonsense);
  of_device = made.device.data();
  return made.host.data();
}

bool mapped_memory::deallocate(const void* of_host) {
  return std::erase_if(all_, [&](const auto& one) { return one->host.data() == of_host; }) > 0;
}

void* mapped_memory::address_of_device(const void* of_host) const {
  for (const auto& one : all_) {
    if (one->host.data() == of_host) return one->device.data();
  }
  return nullptr;
}

void mapped_memory::send(bool all, generator& random) {
  for (const auto& one : all_) {
    words& of = *one;
    if (of.device == of.sent && of.host == of.left) continue;
    for (std::size_t k = 0; k < of.host.size(); ++k) {
      if (of.host[k] != of.left[k]) {  // the host wrote it
        of.device[k] = of.sent[k] = of.left[k] = of.host[k];
      } else if (of.device[k] != of.sent[k] && (all || random.one_in(2))) {
        of.host[k] = of.left[k] = of.sent[k] = of.device[k];
      }
    }
  }
}

}  // namespace simulator
