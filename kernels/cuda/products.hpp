// Matrix products by cuBLASLt. Sums are float32 or more exact; the bits depend on shapes and operands only: how a shape is
// computed is asked of cuBLASLt once, operands that lie at odd addresses are copied first, and products that add up in no
// fixed order are excluded. A bias and some activations are computed within the product where cuBLASLt takes them, else by
// kernels behind it (product_plan.hpp).
//
// Threads: one at a time.
#pragma once

#include <cublasLt.h>

#include <compare>
#include <map>
#include <memory>
#include <optional>

#include "kernels/ops/elementwise.hpp"
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

// c = activation(factor * a b + beta * c + bias), for each of `batch` pairs.
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
    // With one: beta 0, batch 1, c_stride n.
    std::optional<pointwise> activation = {};
    float* pre_activation =
        nullptr; // (m, n), what the activation got, or null; not with one that keeps its output
    precision numbers = precision::float32;
};

struct product_plan;

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
    result<const product_plan*> plan_of(const product& p);

    memory_pool& memory_;
    cublasLtHandle_t handle_ = nullptr;
    std::map<shape_key, std::unique_ptr<product_plan>> plans_;
};

} // namespace troupe::cuda
