// SPDX-License-Identifier: Apache-2.0

// cuSPARSE's y = A x, by each of its algorithms for compressed rows. Loaded at run time, so that programs start where
// it is not installed.

#include <cusparse.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "harness/cuda_check.hpp"
#include "harness/host.hpp"
#include "harness/loaded_library.hpp"
#include "shapes/on_cuda.hpp"

namespace fanin_perf::shapes {
namespace {

struct cusparse_functions {
  decltype(&cusparseCreate) create = nullptr;
  decltype(&cusparseDestroy) destroy = nullptr;
  decltype(&cusparseSetStream) set_stream = nullptr;
  decltype(&cusparseGetProperty) property = nullptr;
  decltype(&cusparseGetErrorString) status_text = nullptr;
  decltype(&cusparseCreateConstCsr) create_csr = nullptr;
  decltype(&cusparseDestroySpMat) destroy_matrix = nullptr;
  decltype(&cusparseCreateConstDnVec) create_const_vector = nullptr;
  decltype(&cusparseCreateDnVec) create_vector = nullptr;
  decltype(&cusparseDestroyDnVec) destroy_vector = nullptr;
  decltype(&cusparseSpMV_bufferSize) buffer_size = nullptr;
  decltype(&cusparseSpMV_preprocess) preprocess = nullptr;
  decltype(&cusparseSpMV) multiply = nullptr;
  std::string why_not{};  ///< empty: all are there
};

// The library stays loaded.
const cusparse_functions& cusparse() {
  static const cusparse_functions functions = [] {
    cusparse_functions f;
    const std::string file = "libcusparse.so." + std::to_string(CUSPARSE_VER_MAJOR);
    void* library = dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL);
    const bool found =
        library != nullptr && look_up(library, "cusparseCreate", f.create) &&
        look_up(library, "cusparseDestroy", f.destroy) && look_up(library, "cusparseSetStream", f.set_stream) &&
        look_up(library, "cusparseGetProperty", f.property) &&
        look_up(library, "cusparseGetErrorString", f.status_text) &&
        look_up(library, "cusparseCreateConstCsr", f.create_csr) &&
        look_up(library, "cusparseDestroySpMat", f.destroy_matrix) &&
        look_up(library, "cusparseCreateConstDnVec", f.create_const_vector) &&
        look_up(library, "cusparseCreateDnVec", f.create_vector) &&
        look_up(library, "cusparseDestroyDnVec", f.destroy_vector) &&
        look_up(library, "cusparseSpMV_bufferSize", f.buffer_size) &&
        look_up(library, "cusparseSpMV_preprocess", f.preprocess) && look_up(library, "cusparseSpMV", f.multiply);
    if (!found) {
      const char* const why_not = dlerror();
      f.why_not = why_not != nullptr ? why_not : file;
    }
    return f;
  }();
  return functions;
}

void check(cusparseStatus_t status, const char* what) {
  if (status == CUSPARSE_STATUS_SUCCESS) return;
  throw std::runtime_error(std::string(cusparse().status_text(status)) + " from " + what);
}

/// As in "12.6.3".
std::string cusparse_version() {
  std::string version;
  for (const libraryPropertyType part : {MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL}) {
    int number = 0;
    check(cusparse().property(part, &number), "cusparseGetProperty");
    if (!version.empty()) version += '.';
    version += std::to_string(number);
  }
  return version;
}

struct destroyed {
  void operator()(cusparseHandle_t handle) const { cusparse().destroy(handle); }
  void operator()(cusparseConstSpMatDescr_t matrix) const { cusparse().destroy_matrix(matrix); }
  void operator()(cusparseConstDnVecDescr_t vector) const { cusparse().destroy_vector(vector); }
};
template <class Handle>
using owned = std::unique_ptr<std::remove_pointer_t<Handle>, destroyed>;

/// The calls of an algorithm for all arrays.
template <class T, cusparseSpMVAlg_t Algorithm>
class product : public on_cuda<T> {
 public:
  explicit product(const problem<T>& of) : on_cuda<T>(of) {
    cusparseHandle_t handle = nullptr;
    check(cusparse().create(&handle), "cusparseCreate");
    handle_.reset(handle);
    check(cusparse().set_stream(handle, this->stream()), "cusparseSetStream");  // factors are the host's by default
    cusparseConstDnVecDescr_t x = nullptr;
    check(cusparse().create_const_vector(&x, of.of.n, of.x, type), "cusparseCreateConstDnVec");
    x_.reset(x);
    cusparseDnVecDescr_t y = nullptr;
    check(cusparse().create_vector(&y, of.of.n, of.out, type), "cusparseCreateDnVec");
    y_.reset(y);
    preprocess(matrix(*this, of, 0));  // loads what the one that is timed needs
    for (std::int64_t array = 0; array < of.arrays; ++array) {
      matrices_.emplace_back(*this, of, array);
      const double us = preprocess(matrices_.back());
      if (array == 0) preprocessing_us_ = us;
    }
  }

  void reduce(const problem<T>& of, const element_at<T>& f, T*) const {
    const matrix& a = matrices_[static_cast<std::size_t>(of.array_of(f.x))];
    check(cusparse().multiply(handle_.get(), no_transpose, &one, a.get(), x_.get(), &zero, y_.get(), type, Algorithm,
                              a.buffer()),
          "cusparseSpMV");
  }

  preparation before() const { return {"cusparseSpMV_preprocess", preprocessing_us_}; }

 private:
  static constexpr cudaDataType type = sizeof(T) == sizeof(float) ? CUDA_R_32F : CUDA_R_64F;
  static constexpr cusparseOperation_t no_transpose = CUSPARSE_OPERATION_NON_TRANSPOSE;
  static constexpr T one = 1;
  static constexpr T zero = 0;

  /// With a buffer, where its preprocessing leaves what its products need, and nobody else's.
  class matrix {
   public:
    matrix(const product& with, const problem<T>& of, std::int64_t array) {
      const beside more = with.more();
      const T* const values = of.element(array).x;
      cusparseConstSpMatDescr_t made = nullptr;
      check(cusparse().create_csr(&made, of.of.n, of.of.n, of.of.elements(), more.row_offsets,
                                  more.columns_of(of, values), values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                                  CUSPARSE_INDEX_BASE_ZERO, type),
            "cusparseCreateConstCsr");
      matrix_.reset(made);
      std::size_t bytes = 0;
      check(cusparse().buffer_size(with.handle_.get(), no_transpose, &one, made, with.x_.get(), &zero, with.y_.get(),
                                   type, Algorithm, &bytes),
            "cusparseSpMV_bufferSize");
      buffer_ = std::make_unique<device_array<char>>(std::max<std::size_t>(bytes, 1));
    }
    cusparseConstSpMatDescr_t get() const { return matrix_.get(); }
    void* buffer() const { return buffer_->data(); }

   private:
    owned<cusparseConstSpMatDescr_t> matrix_;
    std::unique_ptr<device_array<char>> buffer_;
  };

  /// Microseconds of the host's clock until it has ended.
  double preprocess(const matrix& a) const {
    FANIN_PERF_CHECK(cudaStreamSynchronize(this->stream()));
    const double begin = host_seconds();
    check(cusparse().preprocess(handle_.get(), no_transpose, &one, a.get(), x_.get(), &zero, y_.get(), type, Algorithm,
                                a.buffer()),
          "cusparseSpMV_preprocess");
    FANIN_PERF_CHECK(cudaStreamSynchronize(this->stream()));
    return (host_seconds() - begin) * 1e6;
  }

  owned<cusparseHandle_t> handle_;
  owned<cusparseConstDnVecDescr_t> x_;
  owned<cusparseDnVecDescr_t> y_;
  std::vector<matrix> matrices_;
  double preprocessing_us_ = 0;
};

template <class T>
using by_default = product<T, CUSPARSE_SPMV_ALG_DEFAULT>;
template <class T>
using by_first = product<T, CUSPARSE_SPMV_CSR_ALG1>;
template <class T>
using by_second = product<T, CUSPARSE_SPMV_CSR_ALG2>;

}  // namespace

void add_cusparse(registry& to) {
  if (!cusparse().why_not.empty()) {
    to.without.push_back("matrices are measured without cuSPARSE, which cannot be loaded: " + cusparse().why_not);
    return;
  }
  to.versions["cusparse"] = cusparse_version();
  contender who{.name = "cusparse", .waits = false, .kinds = {kind::spmv}};
  to.contenders.push_back(of_library<by_default>(who));
  who.name = "cusparse-alg1";
  to.contenders.push_back(of_library<by_first>(who));
  who.name = "cusparse-alg2";
  to.contenders.push_back(of_library<by_second>(who));
}

}  // namespace fanin_perf::shapes
