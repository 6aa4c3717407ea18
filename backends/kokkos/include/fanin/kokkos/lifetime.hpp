// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <string>

#include <Kokkos_Core.hpp>
#include <fanin/error.hpp>

namespace fanin {

namespace detail {

/// Something that holds Kokkos objects and may outlive Kokkos: it lets go of them before Kokkos is finalised.
class kokkos_resource {
 public:
  kokkos_resource() = default;
  kokkos_resource(const kokkos_resource&) = delete;
  kokkos_resource& operator=(const kokkos_resource&) = delete;

 protected:
  ~kokkos_resource() = default;

 private:
  friend class kokkos_lifetime;
  virtual void release() noexcept = 0;

  kokkos_resource* previous_ = nullptr;
  kokkos_resource* next_ = nullptr;
};

/// Who initialised Kokkos, and whether it is still there. One per process, never destroyed: thread_local objects and
/// exit handlers ask it at any time. It holds no Kokkos object.
class kokkos_lifetime {
 public:
  static kokkos_lifetime& get() {
    static auto* const self = new kokkos_lifetime;
    return *self;
  }

  /// Whether Kokkos is known to be usable.
  bool is_alive() const noexcept { return phase_.load(std::memory_order_acquire) == phase::alive; }

  /// Makes Kokkos usable or throws state_error (also where Kokkos would abort for want of a CUDA device). Where nobody
  /// has initialised it, initialises it, and finalises it at exit.
  void require(const char* call) {
    if (is_alive()) return;
    const std::lock_guard lock(mutex_);
    if (!is_started(call)) {
      initialize(call, default_settings());
      // Registered after Kokkos made its statics, so that it runs before they are destroyed.
      std::atexit([] { finalize(); });
    }
  }

  /// Initialises Kokkos where nobody has. Whether it did: the caller then owes finalize().
  bool start(const char* call, const Kokkos::InitializationSettings& settings) {
    const std::lock_guard lock(mutex_);
    if (is_started(call)) return false;
    initialize(call, settings);
    return true;
  }

  static void finalize() noexcept {
    try {
      if (Kokkos::is_initialized() && !Kokkos::is_finalized()) Kokkos::finalize();
    } catch (...) {
      // Kokkos::Threads refuses to be finalised by another thread than its first; nobody is left to be told.
    }
  }

  /// Kokkos's own, but silent: it warns on stderr about OpenMP settings otherwise. KOKKOS_DISABLE_WARNINGS decides
  /// where it is set.
  static Kokkos::InitializationSettings default_settings() {
    Kokkos::InitializationSettings settings;
    if (std::getenv("KOKKOS_DISABLE_WARNINGS") == nullptr) settings.set_disable_warnings(true);
    return settings;
  }

  void add(kokkos_resource& resource) {
    const std::lock_guard lock(mutex_);
    resource.next_ = first_;
    if (first_ != nullptr) first_->previous_ = &resource;
    first_ = &resource;
  }

  /// Unlinks and releases, unless Kokkos's finalize has done so.
  void remove(kokkos_resource& resource) noexcept {
    const std::lock_guard lock(mutex_);
    if (!is_alive()) return;
    (resource.previous_ != nullptr ? resource.previous_->next_ : first_) = resource.next_;
    if (resource.next_ != nullptr) resource.next_->previous_ = resource.previous_;
    resource.release();
  }

  [[noreturn]] static void throw_finalized(const char* call) {
    throw state_error(std::string(call) +
                      ": Kokkos has been finalised and cannot be initialised again; use fanin::kokkos before "
                      "Kokkos::finalize and inside of any fanin::kokkos_scope");
  }

 private:
  enum class phase { unknown, alive, finalized };

  bool is_started(const char* call) {
    if (is_alive()) return true;
    if (Kokkos::is_finalized()) throw_finalized(call);
    if (!Kokkos::is_initialized()) return false;
    watch();
    return true;
  }

  void initialize([[maybe_unused]] const char* call, const Kokkos::InitializationSettings& settings) {
#if defined(KOKKOS_ENABLE_CUDA)
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
      (void)cudaGetLastError();
      throw state_error(std::string(call) +
                        ": this Kokkos was built with CUDA, and no CUDA device can be used: run where "
                        "one is, or use a Kokkos that was built without CUDA");
    }
#endif
    Kokkos::initialize(settings);
    watch();
  }

  void watch() {
    Kokkos::push_finalize_hook([] { get().before_finalize(); });
    phase_.store(phase::alive, std::memory_order_release);
  }

  void before_finalize() noexcept {
    const std::lock_guard lock(mutex_);
    phase_.store(phase::finalized, std::memory_order_release);
    for (kokkos_resource* resource = first_; resource != nullptr; resource = resource->next_) resource->release();
    first_ = nullptr;
  }

  std::mutex mutex_;
  std::atomic<phase> phase_{phase::unknown};
  kokkos_resource* first_ = nullptr;
};

}  // namespace detail

/// Initialises Kokkos where nobody has, and then finalises it at the end of the scope; where Kokkos is initialised
/// already, does nothing. Without a scope, Fanin's first use of Kokkos initialises it and process exit finalises it.
/// That first use is not in the initialiser of an object at namespace scope: Kokkos's own may not have been made yet.
/// After finalize the objects of Kokkos backends throw state_error; memory of a fanin::buffer that outlives it is not
/// given back. Throws state_error where Kokkos has been finalised.
class kokkos_scope {
 public:
  /// Kokkos reads its environment variables; its warnings are off unless KOKKOS_DISABLE_WARNINGS says otherwise.
  kokkos_scope() : kokkos_scope(detail::kokkos_lifetime::default_settings()) {}
  explicit kokkos_scope(const Kokkos::InitializationSettings& settings)
      : owns_{detail::kokkos_lifetime::get().start("fanin::kokkos_scope", settings)} {}
  kokkos_scope(const kokkos_scope&) = delete;
  kokkos_scope& operator=(const kokkos_scope&) = delete;
  ~kokkos_scope() {
    if (owns_) detail::kokkos_lifetime::finalize();
  }
  /// Whether this scope initialised Kokkos.
  bool owns() const noexcept { return owns_; }

 private:
  bool owns_;
};

}  // namespace fanin
