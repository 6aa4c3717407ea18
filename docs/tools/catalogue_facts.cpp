// SPDX-License-Identifier: Apache-2.0
// Prints what recipe.hpp and catalogue.hpp say of every strategy, as JSON, for docs/tools/strategies.py. A host
// program: the two headers need no CUDA.
#include <cstdio>
#include <fanin/cuda/catalogue.hpp>

namespace {

using fanin::cuda_recipe;
using fanin::cuda_stage::grid;

constexpr grid finishes[] = {grid::host_finish, grid::second_pass, grid::last_block, grid::watching_block,
                             grid::launch_per_halving};

// Names and sentences of the catalogue hold quotes, but no control characters.
void print_text(const char* key, const char* text) {
  std::printf("\"%s\": \"", key);
  for (; *text != '\0'; ++text) {
    if (*text == '"' || *text == '\\') std::putchar('\\');
    std::putchar(*text);
  }
  std::printf("\", ");
}

void print_number(const char* key, long long value) { std::printf("\"%s\": %lld, ", key, value); }
void print_flag(const char* key, bool value) { std::printf("\"%s\": %s, ", key, value ? "true" : "false"); }

/// The other grid stages, each with null or why_invalid's sentence.
void print_finishes(const cuda_recipe& recipe) {
  std::printf("\"finishes\": {");
  bool first = true;
  for (const grid stage : finishes) {
    cuda_recipe other = recipe;
    other.grid = stage;
    const char* const why = fanin::why_invalid(other);
    std::printf("%s\"%s\": ", first ? "" : ", ", fanin::cuda_stage::to_string(stage));
    if (why == nullptr) {
      std::printf("null");
    } else {
      std::printf("\"%s\"", why);
    }
    first = false;
  }
  std::printf("}");
}

bool is_first = true;

template <class Strategy>
void print_row(Strategy) {
  constexpr cuda_recipe recipe = Strategy::recipe;
  std::printf("%s\n  {", is_first ? "" : ",");
  is_first = false;
  print_text("name", Strategy::name);
  print_text("purpose", Strategy::purpose);
  print_text("source", Strategy::source);
  print_text("thread", to_string(recipe.thread));
  print_text("block", to_string(recipe.block));
  print_text("memory", to_string(recipe.memory));
  print_text("grid", to_string(recipe.grid));
  print_number("block_size", recipe.block_size);
  print_number("chunks", recipe.chunks);
  print_number("blocks_per_sm", recipe.blocks_per_sm);
  print_number("grid_size", recipe.grid_size);
  print_number("loads", recipe.loads);
  print_number("elements", recipe.elements);
  print_number("cluster_size", recipe.cluster_size);
  print_flag("folds_chunks", recipe.thread == fanin::cuda_stage::thread::fold_n);
  print_flag("persistent", is_persistent(recipe));
  print_flag("stream_ordered", is_stream_ordered(recipe));
  print_flag("single_launch", is_single_launch(recipe));
  print_flag("deterministic", is_deterministic(recipe));
  print_number("least_compute_capability", least_compute_capability(recipe));
  print_number("shared_bytes",
               static_cast<long long>(dynamic_shared_bytes(recipe, recipe.block_size, sizeof(float), sizeof(float))));
  print_finishes(recipe);
  std::printf("}");
}

}  // namespace

int main() {
  std::printf("[");
  fanin::cuda_catalogue::for_each([](auto strategy) { print_row(strategy); });
  std::printf("\n]\n");
  return 0;
}
