// The status of a call of CUDA, as an error that says where it failed and on what.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime.h>

#include <initializer_list>
#include <source_location>
#include <string>

#include "kernels/tensor/tensor.hpp"

namespace troupe::cuda {

// "kernels/cuda/ops/linear.cu:31: cudaErrorInvalidValue: invalid argument; operands float32 [8, 3], float32 [5, 3]".
// errc::exhausted where memory ran out, errc::usage where a call was refused, else errc::lost: the device can do no more.
error failed(cudaError_t status, std::initializer_list<const tensor*> operands = {},
             std::source_location where = std::source_location::current());
error failed(cublasStatus_t status, std::initializer_list<const tensor*> operands = {},
             std::source_location where = std::source_location::current());

// The error of a call of another library, which `what` describes.
error failed(errc code, const std::string& what, std::initializer_list<const tensor*> operands = {},
             std::source_location where = std::source_location::current());

inline result<void> checked(cudaError_t status, std::initializer_list<const tensor*> operands = {},
                            std::source_location where = std::source_location::current()) {
    return status == cudaSuccess ? result<void>{} : result<void>{failed(status, operands, where)};
}
inline result<void> checked(cublasStatus_t status,
                            std::initializer_list<const tensor*> operands = {},
                            std::source_location where = std::source_location::current()) {
    return status == CUBLAS_STATUS_SUCCESS ? result<void>{}
                                           : result<void>{failed(status, operands, where)};
}

} // namespace troupe::cuda
