#include "kernels/cuda/cuda_operations.hpp"
#include "kernels/cuda/elements.hpp"
#include "kernels/cuda/images.hpp"

namespace troupe {

namespace {

// ---- kernels ----------------------------------------------------------------------------------------------------------

template <class Index>
struct change_pass {
    cuda::image_places<Index> from, to;
    const float* input;
    float* output;

    __device__ void operator()(std::size_t i) const {
        const auto p = to.at(i);
        const auto [sample, channel] = to.channel(p);
        output[i] = input[from.offset(from.of_channel(sample, channel, p.y, p.x))];
    }
};

} // namespace

// ---- launchers --------------------------------------------------------------------------------------------------------

result<void> cuda_operations::start(const change_block& op) {
    const tensor_shape& shape = op.input.shape();
    const auto status = cuda::with_index({op.input.elements()}, [&]<class Index>(Index) {
        return cuda::launch_elements(run_.stream(), op.input.elements(),
                                     change_pass<Index>{{shape, op.input_block},
                                                        {shape, op.output_block},
                                                        cuda::floats(op.input),
                                                        cuda::floats(op.output)});
    });
    return cuda::checked(status, {&op.input});
}

} // namespace troupe
