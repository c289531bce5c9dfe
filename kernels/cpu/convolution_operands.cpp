#include "kernels/cpu/convolution_operands.hpp"

namespace troupe::cpu {

namespace {

tensor_shape output_shape(const convolution_shape& shape, std::size_t samples) {
    return {samples, shape.out, shape.out_height(), shape.out_width()};
}

std::size_t position_offset(const tensor& positions, std::size_t s) noexcept {
    return s * (positions.elements() / positions.shape()[0]) * size_of(positions.type());
}

} // namespace

pool_task pooling(const max_pool_settings& settings, const tensor_shape& images,
                  bool relu) noexcept {
    return {.planes = images[0] * images[1] / settings.block,
            .height = images[2],
            .width = images[3],
            .windows_down =
                windows_along(images[2], settings.kernel, settings.stride, settings.padding),
            .windows_across =
                windows_along(images[3], settings.kernel, settings.stride, settings.padding),
            .kernel = settings.kernel,
            .stride = settings.stride,
            .padding = settings.padding,
            .block = settings.block,
            .relu = relu};
}

void pool_part(const loops& loops, const forward_convolution& o, std::size_t first,
               std::size_t samples, const float* convolved) {
    loops.pool_forward(pooling(*o.pool, output_shape(o.shape, samples), true), convolved,
                       sample(o.output, first),
                       o.positions->mutable_data() + position_offset(*o.positions, first));
}

void unpool_part(const loops& loops, const backward_convolution& o, std::size_t first,
                 std::size_t samples, float* convolved_gradient) {
    loops.pool_backward(pooling(*o.pool, output_shape(o.shape, samples), true),
                        sample(o.output_gradient, first), sample(*o.output, first),
                        o.positions->data() + position_offset(*o.positions, first),
                        convolved_gradient);
}

} // namespace troupe::cpu
