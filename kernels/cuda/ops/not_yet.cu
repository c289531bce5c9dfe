// Operations that have no kernels yet.
#include "kernels/cuda/cuda_operations.hpp"

#define TROUPE_NOT_YET(name)                                                                       \
    result<void> cuda_operations::start(const name&) {                                             \
        return error{errc::usage, "has no kernels for GPUs yet; run it on cpu devices"};           \
    }

namespace troupe {

TROUPE_NOT_YET(attention_forward)
TROUPE_NOT_YET(attention_backward)

} // namespace troupe
