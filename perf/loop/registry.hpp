// SPDX-License-Identifier: Apache-2.0
#pragma once

// Every form of this build. Each unit of loop/ that has some has one function here.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "loop/forms.hpp"

namespace fanin_perf::cg {

template <class T>
using maker = std::function<std::unique_ptr<solver<T>>(const problem<T>&)>;

struct contender {
  std::string library;  ///< fanin, cub, cub-wheel, cublas, kokkos; on hosts with the backend behind it
  std::string form;     ///< finished, fused, arrays, blocking; see forms.hpp
  bool on_gpu = false;
  bool is_peer = false;     ///< of a library that Fanin's rows get a ratio to
  bool blocks = false;      ///< its iterations wait for results: there is nothing to capture
  bool is_kernels = false;  ///< the user's kernels alone, which solve nothing
  maker<float> f32{};
  maker<double> f64{};

  std::string label() const { return library + " " + form; }

  template <class T>
  const maker<T>& makes() const {
    if constexpr (sizeof(T) == sizeof(float)) {
      return f32;
    } else {
      return f64;
    }
  }
};

struct registry {
  std::vector<contender> contenders;
  std::map<std::string, std::string> versions{};  ///< of the libraries that take part
  std::vector<std::shared_ptr<void>> runtimes{};  ///< what must live while contenders run
};

/// Completes a contender: Form<T, Library<T>> for each type.
template <template <class, class> class Form, template <class> class Library>
contender of_form(contender described) {
  described.f32 = [](const problem<float>& all) { return std::make_unique<Form<float, Library<float>>>(all); };
  described.f64 = [](const problem<double>& all) { return std::make_unique<Form<double, Library<double>>>(all); };
  return described;
}

void add_serial(registry& to);
void add_kokkos_host(registry& to);
void add_fanin_cuda(registry& to);
void add_cub(registry& to);
void add_cub_wheel(registry& to);
void add_cublas(registry& to);
void add_kokkos_cuda(registry& to);

/// Those of the GPU, or those of the host. Kokkos is running as long as the registry lives.
registry all_contenders(bool on_gpu);

}  // namespace fanin_perf::cg
