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

} // namespace

error failed(cudaError_t status, std::initializer_list<const tensor*> operands,
             std::source_location where) {
    const std::string what =
        std::string{cudaGetErrorName(status)} + ": " + cudaGetErrorString(status);
    return {status == cudaErrorMemoryAllocation ? errc::exhausted : errc::lost,
            sentence(where, what, operands)};
}

error failed(cublasStatus_t status, std::initializer_list<const tensor*> operands,
             std::source_location where) {
    return {errc::lost, sentence(where, cublasLtGetStatusName(status), operands)};
}

} // namespace troupe::cuda
