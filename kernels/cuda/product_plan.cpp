#include "kernels/cuda/product_plan.hpp"

#include "kernels/cuda/status.hpp"

namespace troupe::cuda {

namespace {

constexpr std::size_t workspace_bytes_max = 32u << 20; // what NVIDIA advises for Hopper

// Sums in scratch memory, then in order.
constexpr std::uint32_t ordered_sums =
    CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE | CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE;

// For planning, which asks an address for no more than how it is aligned.
const void* some_aligned_address() noexcept {
    return reinterpret_cast<const void*>(std::uintptr_t{product_alignment});
}

result<void> set(cublasLtMatmulDesc_t description, cublasLtMatmulDescAttributes_t attribute,
                 const auto& value) {
    return checked(cublasLtMatmulDescSetAttribute(description, attribute, &value, sizeof value));
}

// With where a copy of what the epilogue's activation gets goes to, and how far its columns are apart.
result<void> set_epilogue(cublasLtMatmulDesc_t description, cublasLtEpilogue_t epilogue,
                          const void* copy, std::size_t stride) {
    if (auto done = set(description, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue); !done)
        return done;
    if (auto done = set(description, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD,
                        static_cast<std::int64_t>(stride));
        !done)
        return done;
    return set(description, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, copy);
}

constexpr cublasLtEpilogue_t without_activation(bool has_bias) {
    return has_bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

// The epilogue of cuBLASLt for the activation and the bias of p. Its GELU is the one by tanh, how exact is not said: not for
// products in float32. Its RELU may make 0 of NaN, which must stay visible: never.
std::optional<cublasLtEpilogue_t> epilogue_of(const product& p) {
    constexpr std::size_t copied_columns = 8; // the columns of a copy are a multiple of it apart
    const bool has_bias = p.bias != nullptr;
    if (p.activation != pointwise::gelu_tanh || p.numbers == precision::float32)
        return {};
    if (p.pre_activation == nullptr)
        return has_bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
    if (p.n % copied_columns != 0)
        return {};
    return has_bias ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_AUX;
}

// A row-major matrix of rows of `columns` elements, as columns.
result<void> lay_out(cublasLtMatrixLayout_t& made, cudaDataType_t type, std::size_t columns,
                     std::size_t rows, std::size_t stride, std::size_t batch,
                     std::size_t batch_stride) {
    if (auto done = checked(cublasLtMatrixLayoutCreate(&made, type, columns, rows,
                                                       static_cast<std::int64_t>(stride)));
        !done || batch == 1)
        return done;
    const auto count = static_cast<std::int32_t>(batch);
    const auto offset = static_cast<std::int64_t>(batch_stride);
    if (auto done = checked(cublasLtMatrixLayoutSetAttribute(
            made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count));
        !done)
        return done;
    return checked(cublasLtMatrixLayoutSetAttribute(
        made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &offset, sizeof offset));
}

} // namespace

product_plan::~product_plan() {
    for (const cublasLtMatrixLayout_t layout : {first, second, sum})
        if (layout != nullptr)
            cublasLtMatrixLayoutDestroy(layout);
    if (description != nullptr)
        cublasLtMatmulDescDestroy(description);
}

result<std::unique_ptr<product_plan>> product_plan::make(cublasLtHandle_t handle,
                                                         const product& p) {
    for (product taken = p;;
         taken.bias = nullptr) { // not every shape is taken together with a bias
        auto made = std::make_unique<product_plan>();
        if (auto done = made->describe(taken); !done)
            return done.failure();
        const cublasStatus_t status = made->choose(handle);
        if (status == CUBLAS_STATUS_SUCCESS) {
            if (auto done = made->take_activation(handle, p); !done)
                return done.failure();
            return made;
        }
        if (status != CUBLAS_STATUS_NOT_SUPPORTED || taken.bias == nullptr)
            return failed(status);
    }
}

result<void> product_plan::point_at(const void* bias, float* pre_activation) const {
    if (has_bias)
        if (auto done = set(description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias); !done)
            return done;
    if (!has_copy)
        return {};
    return set(description, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, pre_activation);
}

result<void> product_plan::describe(const product& p) {
    const cublasComputeType_t compute =
        p.numbers == precision::tfloat32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    const cudaDataType_t factors = p.numbers == precision::bfloat16  ? CUDA_R_16BF
                                   : p.numbers == precision::float16 ? CUDA_R_16F
                                                                     : CUDA_R_32F;
    if (auto made = checked(cublasLtMatmulDescCreate(&description, compute, CUDA_R_32F)); !made)
        return made;
    const cublasOperation_t of_first = p.b.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t of_second = p.a.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    has_bias = p.bias != nullptr;
    if (auto done = set(description, CUBLASLT_MATMUL_DESC_TRANSA, of_first); !done)
        return done;
    if (auto done = set(description, CUBLASLT_MATMUL_DESC_TRANSB, of_second); !done)
        return done;
    if (auto done = set_epilogue(description, without_activation(has_bias), nullptr, 0); !done)
        return done;
    if (p.numbers == precision::float16) // whose factors' scales the device finds
        if (auto done =
                set(description, CUBLASLT_MATMUL_DESC_POINTER_MODE, CUBLASLT_POINTER_MODE_DEVICE);
            !done)
            return done;
    if (has_bias) // of each call; what is chosen depends on there being one
        if (auto done = set(description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, some_aligned_address());
            !done)
            return done;
    if (auto done = p.b.transposed
                        ? lay_out(first, factors, p.k, p.n, p.b.stride, p.batch, p.b.batch_stride)
                        : lay_out(first, factors, p.n, p.k, p.b.stride, p.batch, p.b.batch_stride);
        !done)
        return done;
    if (auto done = p.a.transposed
                        ? lay_out(second, factors, p.m, p.k, p.a.stride, p.batch, p.a.batch_stride)
                        : lay_out(second, factors, p.k, p.m, p.a.stride, p.batch, p.a.batch_stride);
        !done)
        return done;
    return lay_out(sum, CUDA_R_32F, p.n, p.m, p.c_stride, p.batch, p.c_batch_stride);
}

cublasStatus_t product_plan::choose(cublasLtHandle_t handle) {
    cublasLtMatmulPreference_t wishes = nullptr;
    if (const auto made = cublasLtMatmulPreferenceCreate(&wishes); made != CUBLAS_STATUS_SUCCESS)
        return made;
    const auto wish = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
        return cublasLtMatmulPreferenceSetAttribute(wishes, attribute, &value, sizeof value);
    };
    cublasStatus_t status = wish(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace_bytes_max);
    for (const auto attribute :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
        if (status == CUBLAS_STATUS_SUCCESS)
            status = wish(attribute, product_alignment);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = wish(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, ordered_sums);
    cublasLtMatmulHeuristicResult_t best{};
    int found = 0;
    if (status == CUBLAS_STATUS_SUCCESS)
        status = cublasLtMatmulAlgoGetHeuristic(handle, description, first, second, sum, sum,
                                                wishes, 1, &best, &found);
    cublasLtMatmulPreferenceDestroy(wishes);
    if (status == CUBLAS_STATUS_SUCCESS && found == 0)
        status = CUBLAS_STATUS_NOT_SUPPORTED;
    algorithm = best.algo;
    workspace_bytes = best.workspaceSize;
    return status;
}

result<void> product_plan::take_activation(cublasLtHandle_t handle, const product& p) {
    const auto epilogue = epilogue_of(p);
    if (!epilogue || has_bias != (p.bias != nullptr))
        return {};
    const bool copies = p.pre_activation != nullptr;
    if (auto done = set_epilogue(description, *epilogue, copies ? some_aligned_address() : nullptr,
                                 copies ? p.n : 0);
        !done)
        return done;
    cublasLtMatmulHeuristicResult_t able{};
    has_activation = cublasLtMatmulAlgoCheck(handle, description, first, second, sum, sum,
                                             &algorithm, &able) == CUBLAS_STATUS_SUCCESS &&
                     able.workspaceSize <= workspace_bytes_max;
    if (!has_activation)
        return set_epilogue(description, without_activation(has_bias), nullptr, 0);
    has_copy = copies;
    workspace_bytes = able.workspaceSize;
    return {};
}

} // namespace troupe::cuda
