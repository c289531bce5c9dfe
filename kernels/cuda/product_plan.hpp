// How cuBLASLt computes a product of some shape: what it is told, the algorithm that it chooses, the scratch memory that
// this needs, and what of bias and activation it computes itself.
//
// The algorithm is chosen for the product and its bias, and is asked whether it can do the activation, too: so that the
// sums are the same with an activation and without.
//
// Threads: one at a time.
#pragma once

#include <memory>

#include "kernels/cuda/products.hpp"

namespace troupe::cuda {

// As all that cuBLASLt reads and writes lies: the widest load of a thread, in bytes.
inline constexpr std::uint32_t product_alignment = 16;
inline bool is_aligned(const void* memory) noexcept {
    return reinterpret_cast<std::uintptr_t>(memory) % product_alignment == 0;
}

// cuBLASLt counts columns first: its factors are ours, transposed and the other way round.
struct product_plan {
    cublasLtMatmulDesc_t description = nullptr;
    cublasLtMatrixLayout_t first = nullptr, second = nullptr, sum = nullptr;
    cublasLtMatmulAlgo_t algorithm{};
    std::size_t workspace_bytes = 0;
    // It computes them; else they come behind it.
    bool has_bias = false, has_activation = false;
    bool has_copy = false; // it writes pre_activation besides c

    // For products of p's shape that have a bias, an activation and pre_activation where p has.
    static result<std::unique_ptr<product_plan>> make(cublasLtHandle_t handle, const product& p);

    product_plan() = default;
    ~product_plan();
    product_plan(const product_plan&) = delete;
    product_plan& operator=(const product_plan&) = delete;

    // For the next product, of what it has. Aligned.
    result<void> point_at(const void* bias, float* pre_activation) const;

  private:
    result<void> describe(const product& p);
    cublasStatus_t choose(cublasLtHandle_t handle);
    result<void> take_activation(cublasLtHandle_t handle, const product& p);
};

} // namespace troupe::cuda
