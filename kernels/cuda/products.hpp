// Matrix products by cuBLASLt. Sums are float32 or more exact; the bits depend on shapes and operands only: how a shape is
// computed is asked of cuBLASLt once, operands that lie at odd addresses are copied first, and products that add up in no
// fixed order are excluded.
//
// Threads: one at a time.
#pragma once

#include <cublasLt.h>

#include <compare>
#include <map>

#include "kernels/ops/precision.hpp"
#include "kernels/tensor/memory.hpp"

namespace troupe::cuda {

// A row-major matrix in the device's memory.
struct matrix {
    const float* values;
    std::size_t stride;      // elements from one row to the next
    bool transposed = false; // the factor is the transpose of what lies there
    std::size_t batch_stride = 0;
};

// c = factor * a b + beta * c + bias, for each of `batch` pairs.
struct product {
    std::size_t m, n, k; // c is (m, n)
    matrix a;
    matrix b;
    float factor = 1;
    float beta = 0; // 0: what c held does not matter, NaN neither
    float* c;
    std::size_t c_stride;
    std::size_t c_batch_stride = 0;
    const float* bias = nullptr; // (n), added to every row
    std::size_t batch = 1;
    precision numbers = precision::float32;
};

class products {
  public:
    // Scratch memory comes from `memory`, in the order of the stream of the calls.
    explicit products(memory_pool& memory);
    ~products();
    products(const products&) = delete;
    products& operator=(const products&) = delete;

    result<void> operator()(const product& p, cudaStream_t stream);

  private:
    struct shape_key;
    struct plan;
    result<const plan*> plan_of(const product& p);

    memory_pool& memory_;
    cublasLtHandle_t handle_ = nullptr;
    std::map<shape_key, plan> plans_;
};

} // namespace troupe::cuda
