#include "kernels/cuda/cuda_operations.hpp"

namespace troupe {

namespace {

error no_form() {
    return {errc::usage, "GPUs have no form of this operation; give its work to processor cores, "
                         "as with --devices cpu:1"};
}

} // namespace

result<void> cuda_operations::start(const construct_tours&) {
    return no_form();
}

result<void> cuda_operations::start(const update_trails&) {
    return no_form();
}

} // namespace troupe
