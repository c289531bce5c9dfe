#include "kernels/cuda/products.hpp"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/cuda/columns.hpp"
#include "kernels/cuda/half_numbers.hpp"
#include "kernels/cuda/status.hpp"

namespace troupe::cuda {

namespace {

constexpr std::size_t workspace_bytes_max = 32u << 20; // what NVIDIA advises for Hopper
constexpr std::uint32_t aligned_bytes = 16;            // the widest load of a thread

// Sums in scratch memory, then in order.
constexpr std::uint32_t ordered_sums =
    CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE | CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE;

bool is_aligned(const void* memory) noexcept {
    return reinterpret_cast<std::uintptr_t>(memory) % aligned_bytes == 0;
}

} // namespace

struct products::shape_key {
    std::size_t m, n, k, a_stride, b_stride, c_stride, batch, a_batch, b_batch, c_batch;
    bool a_transposed, b_transposed, has_bias;
    precision numbers;

    auto operator<=>(const shape_key&) const = default;
};

// How a shape is computed. cuBLASLt counts columns first: its factors are ours, transposed and the other way round.
struct products::plan {
    cublasLtMatmulDesc_t description = nullptr;
    cublasLtMatrixLayout_t first = nullptr, second = nullptr, sum = nullptr;
    cublasLtMatmulAlgo_t algorithm{};
    std::size_t workspace_bytes = 0;
    bool has_bias = false; // it adds the bias; else that comes behind it

    plan() = default;
    plan(plan&& other) noexcept
        : description{std::exchange(other.description, nullptr)},
          first{std::exchange(other.first, nullptr)}, second{std::exchange(other.second, nullptr)},
          sum{std::exchange(other.sum, nullptr)}, algorithm{other.algorithm},
          workspace_bytes{other.workspace_bytes}, has_bias{other.has_bias} {}
    ~plan() {
        for (const cublasLtMatrixLayout_t layout : {first, second, sum})
            if (layout != nullptr)
                cublasLtMatrixLayoutDestroy(layout);
        if (description != nullptr)
            cublasLtMatmulDescDestroy(description);
    }

    result<void> describe(const product& p);
    cublasStatus_t choose(cublasLtHandle_t handle);
};

products::products(memory_pool& memory) : memory_{memory} {}

products::~products() {
    plans_.clear();
    if (handle_ != nullptr)
        cublasLtDestroy(handle_);
}

namespace {

result<void> set(cublasLtMatmulDesc_t description, cublasLtMatmulDescAttributes_t attribute,
                 const auto& value) {
    return checked(cublasLtMatmulDescSetAttribute(description, attribute, &value, sizeof value));
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

result<void> products::plan::describe(const product& p) {
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
    const cublasLtEpilogue_t epilogue =
        has_bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
    if (auto done = set(description, CUBLASLT_MATMUL_DESC_TRANSA, of_first); !done)
        return done;
    if (auto done = set(description, CUBLASLT_MATMUL_DESC_TRANSB, of_second); !done)
        return done;
    if (auto done = set(description, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue); !done)
        return done;
    if (p.numbers == precision::float16) // whose factors' scales the device finds
        if (auto done =
                set(description, CUBLASLT_MATMUL_DESC_POINTER_MODE, CUBLASLT_POINTER_MODE_DEVICE);
            !done)
            return done;
    if (has_bias) // of each call; what is chosen depends on there being one
        if (auto done = set(description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias); !done)
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

cublasStatus_t products::plan::choose(cublasLtHandle_t handle) {
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
            status = wish(attribute, aligned_bytes);
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

result<const products::plan*> products::plan_of(const product& p) {
    const shape_key key{p.m,
                        p.n,
                        p.k,
                        p.a.stride,
                        p.b.stride,
                        p.c_stride,
                        p.batch,
                        p.a.batch_stride,
                        p.b.batch_stride,
                        p.c_batch_stride,
                        p.a.transposed,
                        p.b.transposed,
                        p.bias != nullptr,
                        p.numbers};
    const auto known = plans_.find(key);
    if (known != plans_.end())
        return &known->second;
    if (handle_ == nullptr)
        if (auto made = checked(cublasLtCreate(&handle_)); !made)
            return made.failure();
    for (product taken = p;;
         taken.bias = nullptr) { // not every shape is taken together with a bias
        plan made;
        if (auto done = made.describe(taken); !done)
            return done.failure();
        const cublasStatus_t status = made.choose(handle_);
        if (status == CUBLAS_STATUS_SUCCESS)
            return &plans_.emplace(key, std::move(made)).first->second;
        if (status != CUBLAS_STATUS_NOT_SUPPORTED || taken.bias == nullptr)
            return failed(status);
    }
}

namespace {

// The elements that a matrix of so many rows and columns spans, with those between its rows.
std::size_t span_of(std::size_t rows, std::size_t columns, std::size_t stride, std::size_t batch,
                    std::size_t batch_stride) {
    return (batch - 1) * batch_stride + (rows - 1) * stride + columns;
}
std::size_t span_of(const rows_of_numbers& n) {
    return span_of(n.rows, n.columns, n.stride, n.matrices, n.matrix_stride);
}

// A factor as it lies.
rows_of_numbers numbers_of(const matrix& m, std::size_t rows, std::size_t columns,
                           std::size_t batch) {
    return {m.values,
            m.transposed ? columns : rows,
            m.transposed ? rows : columns,
            m.stride,
            batch,
            m.batch_stride};
}

// What cuBLASLt reads besides c: rounded where it should be, aligned. Holds what is made for it.
class operands {
  public:
    operands(memory_pool& memory, cudaStream_t stream) : memory_{memory}, stream_{stream} {}

    const void *a = nullptr, *b = nullptr, *bias = nullptr;
    const void *factor = nullptr, *beta = nullptr; // where describe() says: here or on the device

    result<void> take(const product& p, bool with_bias) {
        const auto of_a = numbers_of(p.a, p.m, p.k, p.batch);
        const auto of_b = numbers_of(p.b, p.k, p.n, p.batch);
        if (with_bias)
            if (auto done = put(bias, as_floats(p.bias, p.n)); !done)
                return done;
        if (p.numbers == precision::float16)
            return take_halves(p, of_a, of_b);
        factor = &p.factor;
        beta = &p.beta;
        const auto taken = [&](const rows_of_numbers& n) {
            return p.numbers == precision::bfloat16 ? as_bf16(n) : as_floats(n.first, span_of(n));
        };
        if (auto done = put(a, taken(of_a)); !done)
            return done;
        return put(b, taken(of_b));
    }

  private:
    static result<void> put(const void*& to, result<const void*> made) {
        if (!made)
            return made.failure();
        to = *made;
        return {};
    }

    template <class Number>
    result<Number*> scratch(std::size_t count) {
        auto made = memory_.allocate(count * sizeof(Number));
        if (!made)
            return made.failure();
        return reinterpret_cast<Number*>(kept_.emplace_back(std::move(*made))->data());
    }

    result<const void*> as_floats(const float* values, std::size_t count) {
        if (is_aligned(values))
            return static_cast<const void*>(values);
        return filled<float>(count, [&](float* to) {
            return cudaMemcpyAsync(to, values, count * sizeof(float), cudaMemcpyDefault, stream_);
        });
    }
    result<const void*> as_bf16(const rows_of_numbers& n) {
        return filled<std::uint16_t>(span_of(n), [&](std::uint16_t* to) {
            return round_to_bf16(n.first, to, span_of(n), stream_);
        });
    }
    result<const void*> as_f16(const rows_of_numbers& n, factor_place place,
                               const half_scales* scales) {
        return filled<std::uint16_t>(span_of(n), [&](std::uint16_t* to) {
            return scale_to_f16(n.first, place, scales, to, span_of(n), stream_);
        });
    }
    template <class Number, class Fill>
    result<const void*> filled(std::size_t count, Fill fill) {
        auto made = scratch<Number>(count);
        if (!made)
            return made.failure();
        if (auto done = checked(fill(*made)); !done)
            return done.failure();
        return static_cast<const void*>(*made);
    }

    result<void> take_halves(const product& p, const rows_of_numbers& of_a,
                             const rows_of_numbers& of_b) {
        auto made = scratch<half_scales>(1);
        if (!made)
            return made.failure();
        half_scales* const scales = *made;
        if (auto done = checked(cudaMemsetAsync(scales, 0, sizeof *scales, stream_)); !done)
            return done;
        if (auto done = checked(find_largest(of_a, &scales->largest[0], stream_)); !done)
            return done;
        if (auto done = checked(find_largest(of_b, &scales->largest[1], stream_)); !done)
            return done;
        if (auto done = put(a, as_f16(of_a, factor_place::first, scales)); !done)
            return done;
        if (auto done = put(b, as_f16(of_b, factor_place::second, scales)); !done)
            return done;
        factor = &scales->factor;
        beta = &scales->beta;
        return checked(take_back(scales, p.factor, p.beta, stream_));
    }

    memory_pool& memory_;
    cudaStream_t stream_;
    std::vector<buffer_ref> kept_;
};

} // namespace

result<void> products::operator()(const product& p, cudaStream_t stream) {
    auto known = plan_of(p);
    if (!known)
        return known.failure();
    const plan& how = **known;
    auto workspace = memory_.allocate(how.workspace_bytes);
    if (!workspace)
        return workspace.failure();
    operands of{memory_, stream};
    if (auto done = of.take(p, how.has_bias); !done)
        return done;
    buffer_ref c_kept;
    float* c = p.c;
    const std::size_t c_bytes =
        span_of(p.m, p.n, p.c_stride, p.batch, p.c_batch_stride) * sizeof(float);
    if (!is_aligned(c)) {
        auto made = memory_.allocate(c_bytes);
        if (!made)
            return made.failure();
        c_kept = std::move(*made);
        c = reinterpret_cast<float*>(c_kept->data());
        if (auto done = checked(cudaMemcpyAsync(c, p.c, c_bytes, cudaMemcpyDefault, stream)); !done)
            return done;
    }
    if (how.has_bias)
        if (auto done = set(how.description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, of.bias); !done)
            return done;
    if (auto done =
            checked(cublasLtMatmul(handle_, how.description, of.factor, of.b, how.first, of.a,
                                   how.second, of.beta, c, how.sum, c, how.sum, &how.algorithm,
                                   (*workspace)->data(), how.workspace_bytes, stream));
        !done)
        return done;
    if (p.bias != nullptr && !how.has_bias)
        for (std::size_t i = 0; i < p.batch; ++i)
            if (auto done = checked(
                    add_to_rows({p.bias, p.m, p.n, p.c_stride, c + i * p.c_batch_stride}, stream));
                !done)
                return done;
    if (c != p.c)
        return checked(cudaMemcpyAsync(p.c, c, c_bytes, cudaMemcpyDefault, stream));
    return {};
}

} // namespace troupe::cuda
