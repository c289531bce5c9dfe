// Matrix products of the emulated GPU: three loops, sums in double.
#include <atomic>
#include <cmath>
#include <numbers>

#include "schemas/base/check.hpp"
#include "tests/emulated_cuda/cublasLt.h"

namespace emulated {

struct matmul_description {
    cublasOperation_t a = CUBLAS_OP_N, b = CUBLAS_OP_N;
    cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
    const float* bias = nullptr;
    cublasLtPointerMode_t pointers = CUBLASLT_POINTER_MODE_HOST;
    float* copy = nullptr; // of what the activation gets
    std::int64_t copy_leading = 0;
};
struct matrix_layout {
    cudaDataType_t type;
    std::uint64_t rows, columns;
    std::int64_t leading;
    std::int32_t batch = 1;
    std::int64_t stride = 0;
};
struct matmul_preference {};

namespace {

std::atomic<refused_epilogues> refused{refused_epilogues::none};
std::atomic<cublasLtEpilogue_t> epilogue_put_in{CUBLASLT_EPILOGUE_DEFAULT};
std::atomic<bool> rows_put_in_are_aligned{false};
std::atomic<product_extents> extents_put_in{};

bool has(cublasLtEpilogue_t epilogue, int part) {
    return epilogue != CUBLASLT_EPILOGUE_DEFAULT && (epilogue & part) == part;
}
bool has_activation(cublasLtEpilogue_t epilogue) {
    return has(epilogue, CUBLASLT_EPILOGUE_GELU);
}

bool is_aligned(const void* operand) {
    return reinterpret_cast<std::uintptr_t>(operand) % 16 == 0;
}

bool has_aligned_rows(const matrix_layout& m) {
    return m.leading * (m.type == CUDA_R_32F ? 4 : 2) % 16 == 0;
}

double read(const void* from, cudaDataType_t type, std::int64_t at) {
    if (type == CUDA_R_32F)
        return double{static_cast<const float*>(from)[at]};
    const std::uint32_t bits = static_cast<const std::uint16_t*>(from)[at];
    if (type == CUDA_R_16BF)
        return double{__uint_as_float(bits << 16)};
    const std::uint32_t exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double size = exponent == 0 ? std::ldexp(fraction, -24)
                        : exponent == 31
                            ? (fraction == 0 ? HUGE_VAL : NAN)
                            : std::ldexp(1024 + fraction, static_cast<int>(exponent) - 25);
    return (bits & 0x8000) != 0 ? -size : size;
}

// Element (row, column) of op(matrix) of a batch.
double at(const void* from, const matrix_layout& m, cublasOperation_t op, std::int64_t batch,
          std::int64_t row, std::int64_t column) {
    if (op == CUBLAS_OP_T)
        std::swap(row, column);
    TROUPE_CHECK(row < static_cast<std::int64_t>(m.rows) &&
                     column < static_cast<std::int64_t>(m.columns),
                 "products stay within their matrices");
    return read(from, m.type, batch * m.stride + column * m.leading + row);
}

bool is_possible(const matrix_layout& a, const matrix_layout& b, const matrix_layout& d,
                 const matmul_description& how) {
    const bool ta = how.a == CUBLAS_OP_T, tb = how.b == CUBLAS_OP_T;
    const auto fits = [](const matrix_layout& m) {
        return m.leading >= static_cast<std::int64_t>(m.rows) && m.rows > 0;
    };
    return fits(a) && fits(b) && fits(d) && (ta ? a.columns : a.rows) == d.rows &&
           (tb ? b.rows : b.columns) == d.columns &&
           (ta ? a.rows : a.columns) == (tb ? b.columns : b.rows) && a.type == b.type &&
           d.type == CUDA_R_32F;
}

bool takes_epilogue(const matrix_layout& d, const matmul_description& how) {
    if (how.epilogue == CUBLASLT_EPILOGUE_DEFAULT)
        return true;
    const refused_epilogues none_of = refused;
    if (none_of == refused_epilogues::all)
        return false;
    if (!has_activation(how.epilogue))
        return true;
    const bool has_copy = has(how.epilogue, CUBLASLT_EPILOGUE_GELU_AUX);
    return none_of == refused_epilogues::none && d.rows % 2 == 0 &&
           (!has_copy ||
            (how.copy != nullptr && is_aligned(how.copy) && how.copy_leading % 8 == 0 &&
             how.copy_leading >= static_cast<std::int64_t>(d.rows)));
}

float activated(cublasLtEpilogue_t epilogue, float x) {
    if (!has(epilogue, CUBLASLT_EPILOGUE_GELU))
        return x;
    const double v = double{x};
    const double inner = std::sqrt(2 / std::numbers::pi) * (v + 0.044715 * v * v * v);
    return static_cast<float>(0.5 * v * (1 + std::tanh(inner)));
}

} // namespace

void refuse(refused_epilogues which) {
    refused = which;
}

cublasLtEpilogue_t last_epilogue() {
    return epilogue_put_in;
}

bool last_rows_were_aligned() {
    return rows_put_in_are_aligned;
}

product_extents last_extents() {
    return extents_put_in;
}

} // namespace emulated

using namespace emulated;

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
    *handle = new int;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
    delete static_cast<int*>(handle);
    return CUBLAS_STATUS_SUCCESS;
}
const char* cublasLtGetStatusName(cublasStatus_t status) {
    return status == CUBLAS_STATUS_NOT_SUPPORTED ? "CUBLAS_STATUS_NOT_SUPPORTED"
                                                 : "CUBLAS_STATUS_INVALID_VALUE";
}
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* made, cublasComputeType_t,
                                        cudaDataType_t) {
    *made = new matmul_description;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t description) {
    delete description;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t d,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, std::size_t bytes) {
    switch (attribute) {
    case CUBLASLT_MATMUL_DESC_POINTER_MODE:
        std::memcpy(&d->pointers, value, bytes);
        break;
    case CUBLASLT_MATMUL_DESC_TRANSA:
        std::memcpy(&d->a, value, bytes);
        break;
    case CUBLASLT_MATMUL_DESC_TRANSB:
        std::memcpy(&d->b, value, bytes);
        break;
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
        std::memcpy(&d->epilogue, value, bytes);
        break;
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
        std::memcpy(&d->bias, value, bytes);
        break;
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
        std::memcpy(&d->copy, value, bytes);
        break;
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD:
        std::memcpy(&d->copy_leading, value, bytes);
        break;
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
        break;
    }
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* made, cudaDataType_t type,
                                          std::uint64_t rows, std::uint64_t columns,
                                          std::int64_t leading) {
    *made = new matrix_layout{type, rows, columns, leading};
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
    delete layout;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute,
                                                const void* value, std::size_t bytes) {
    if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT)
        std::memcpy(&layout->batch, value, bytes);
    else
        std::memcpy(&layout->stride, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* made) {
    *made = new matmul_preference;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
    delete preference;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t,
                                                    cublasLtMatmulPreferenceAttributes_t,
                                                    const void*, std::size_t) {
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t description,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t, int,
                                              cublasLtMatmulHeuristicResult_t* results,
                                              int* given) {
    *given = is_possible(*a, *b, *d, *description) && takes_epilogue(*d, *description);
    if (*given == 0)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    *results = {};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t description,
                                       cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                       cublasLtMatrixLayout_t, cublasLtMatrixLayout_t d,
                                       const cublasLtMatmulAlgo_t*,
                                       cublasLtMatmulHeuristicResult_t* result) {
    if (!is_possible(*a, *b, *d, *description) || !takes_epilogue(*d, *description))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    *result = {};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t description, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
                              cublasLtMatrixLayout_t b_layout, const void* beta, const void* c,
                              cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t* algorithm, void*, std::size_t,
                              cudaStream_t stream) {
    if (algorithm == nullptr || !is_possible(*a_layout, *b_layout, *d_layout, *description) ||
        !takes_epilogue(*d_layout, *description))
        return CUBLAS_STATUS_INVALID_VALUE;
    for (const void* operand :
         {a, b, c, static_cast<const void*>(d), static_cast<const void*>(description->bias)})
        TROUPE_CHECK(is_aligned(operand), "operands lie as cuBLASLt was promised");
    epilogue_put_in = description->epilogue;
    rows_put_in_are_aligned =
        has_aligned_rows(*a_layout) && has_aligned_rows(*b_layout) && has_aligned_rows(*d_layout);
    extents_put_in = {
        static_cast<unsigned>(d_layout->rows),
        static_cast<unsigned>(description->a == CUBLAS_OP_T ? a_layout->rows : a_layout->columns)};
    const bool on_device = description->pointers == CUBLASLT_POINTER_MODE_DEVICE;
    const auto work = [=, how = *description, la = *a_layout, lb = *b_layout, lc = *c_layout,
                       ld = *d_layout, factor_at = static_cast<const float*>(alpha),
                       keep_at = static_cast<const float*>(beta),
                       factor_now = on_device ? 0 : *static_cast<const float*>(alpha),
                       keep_now = on_device ? 0 : *static_cast<const float*>(beta)] {
        const double factor{on_device ? *factor_at : factor_now};
        const double keep{on_device ? *keep_at : keep_now};
        // Times 0 the factors are not read; a denormal factor may count as 0.
        const bool is_computed = std::isnormal(static_cast<float>(factor));
        const auto inner = static_cast<std::int64_t>(how.a == CUBLAS_OP_T ? la.rows : la.columns);
        for (std::int64_t n = 0; n < ld.batch; ++n)
            for (std::int64_t column = 0; column < static_cast<std::int64_t>(ld.columns); ++column)
                for (std::int64_t row = 0; row < static_cast<std::int64_t>(ld.rows); ++row) {
                    double sum = 0;
                    for (std::int64_t k = 0; k < inner && is_computed; ++k)
                        sum += at(a, la, how.a, n, row, k) * at(b, lb, how.b, n, k, column);
                    sum *= factor;
                    if (keep != 0)
                        sum += keep * at(c, lc, CUBLAS_OP_N, n, row, column);
                    if (has(how.epilogue, CUBLASLT_EPILOGUE_BIAS))
                        sum += double{how.bias[row]};
                    const auto x = static_cast<float>(sum);
                    if (has(how.epilogue, CUBLASLT_EPILOGUE_GELU_AUX))
                        how.copy[column * how.copy_leading + row] = x;
                    static_cast<float*>(d)[n * ld.stride + column * ld.leading + row] =
                        activated(how.epilogue, x);
                }
    };
    return emulated::submit(stream, work) == cudaSuccess ? CUBLAS_STATUS_SUCCESS
                                                         : CUBLAS_STATUS_INVALID_VALUE;
}
