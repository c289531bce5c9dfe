#include "kernels/cuda/status.hpp"

#include <string>

namespace troupe::cuda {

namespace {

std::string sentence(std::source_location where, const std::string& what,
                     std::initializer_list<const tensor*> operands) {
    std::string text =
        std::string{where.file_name()} + ":" + std::to_string(where.line()) + ": " + what;
    const char* before = "; operands ";
    for (const tensor* t : operands)
        if (t != nullptr) {
            text += before + std::string{to_string(t->type())} + " " + to_string(t->shape());
            before = ", ";
        }
    return text;
}

// A refusal of a call is no end of the GPU.
errc code_of(cudaError_t status) {
    switch (status) {
    case cudaErrorMemoryAllocation:
        return errc::exhausted;
    case cudaErrorInvalidValue:
    case cudaErrorInvalidConfiguration:
        return errc::usage;
    default:
        return errc::lost;
    }
}

errc code_of(cublasStatus_t status) {
    switch (status) {
    case CUBLAS_STATUS_ALLOC_FAILED:
        return errc::exhausted;
    case CUBLAS_STATUS_INVALID_VALUE:
    case CUBLAS_STATUS_NOT_SUPPORTED:
        return errc::usage;
    default:
        return errc::lost;
    }
}

} // namespace

error failed(cudaError_t status, std::initializer_list<const tensor*> operands,
             std::source_location where) {
    const std::string what =
        std::string{cudaGetErrorName(status)} + ": " + cudaGetErrorString(status);
    return {code_of(status), sentence(where, what, operands)};
}

error failed(cublasStatus_t status, std::initializer_list<const tensor*> operands,
             std::source_location where) {
    return {code_of(status), sentence(where, cublasLtGetStatusName(status), operands)};
}

error failed(errc code, const std::string& what, std::initializer_list<const tensor*> operands,
             std::source_location where) {
    return {code, sentence(where, what, operands)};
}

} // namespace troupe::cuda
