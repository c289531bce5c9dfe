#include "kernels/cuda/cuda_operations.hpp"
#include "kernels/cuda/elements.hpp"
#include "kernels/cuda/images.hpp"

namespace troupe {

namespace {

// ---- helpers ----------------------------------------------------------------------------------------------------------

template <class Index>
struct max_pool_windows {
    cuda::image_places<Index> images, windows;
    cuda::axis_windows<Index> rows, columns;

    max_pool_windows(const max_pool_settings& s, const tensor_shape& images,
                     const tensor_shape& windows)
        : images{images, s.block}, windows{windows, s.block},
          rows{images[2], s.kernel, s.stride, s.padding}, columns{images[3], s.kernel, s.stride,
                                                                  s.padding} {}

    // The position of a pixel in a window.
    __device__ Index position(Index wy, Index wx, Index y, Index x) const {
        return (y - rows.begin(wy)) * rows.window() + (x - columns.begin(wx));
    }
};

// Calls launch(Index{}, Position{}).
template <class Launch>
cudaError_t with_types(const max_pool_settings& s, const tensor& images, const Launch& launch) {
    return cuda::with_index({images.elements(), s.kernel * s.kernel, s.stride,
                             images.shape()[2] + 2 * s.padding, images.shape()[3] + 2 * s.padding},
                            [&](auto index) {
                                return position_type(s.kernel) == data_type::uint8
                                           ? launch(index, std::uint8_t{})
                                           : launch(index, std::int32_t{});
                            });
}

// ---- kernels ----------------------------------------------------------------------------------------------------------

template <class Index, class Position>
struct forward_pass {
    max_pool_windows<Index> at;
    const float* input;
    float* output;
    Position* positions;

    __device__ void operator()(std::size_t i) const {
        const auto w = at.windows.at(i);
        const auto rows = at.rows.covered(w.y);
        const auto columns = at.columns.covered(w.x);
        float largest = input[at.images.offset({w.plane, rows.first, columns.first, w.lane})];
        Index from = at.position(w.y, w.x, rows.first, columns.first);
        for (Index y = rows.first; y < rows.end; ++y) {
            const float* value = input + at.images.offset({w.plane, y, columns.first, w.lane});
            for (Index x = columns.first; x < columns.end; ++x, value += at.images.block())
                if (*value > largest) {
                    largest = *value;
                    from = at.position(w.y, w.x, y, x);
                }
        }
        output[i] = largest;
        positions[i] = static_cast<Position>(from);
    }
};

// Every pixel gathers from the windows that cover it.
template <class Index, class Position>
struct backward_pass {
    max_pool_windows<Index> at;
    const float* output_gradient;
    const Position* positions;
    float* input_gradient;

    __device__ void operator()(std::size_t i) const {
        const auto p = at.images.at(i);
        const auto rows = at.rows.covering(p.y);
        const auto columns = at.columns.covering(p.x);
        float sum = 0;
        for (Index wy = rows.first; wy < rows.end; ++wy) {
            Index w = at.windows.offset({p.plane, wy, columns.first, p.lane});
            for (Index wx = columns.first; wx < columns.end; ++wx, w += at.windows.block())
                if (static_cast<Index>(positions[w]) == at.position(wy, wx, p.y, p.x))
                    sum += output_gradient[w];
        }
        input_gradient[i] = sum;
    }
};

} // namespace

// ---- launchers --------------------------------------------------------------------------------------------------------

result<void> cuda_operations::start(const max_pool_forward& op) {
    const auto status =
        with_types(op.settings, op.input, [&]<class Index, class Position>(Index, Position) {
            return cuda::launch_elements(
                run_.stream(), op.output.elements(),
                forward_pass<Index, Position>{
                    {op.settings, op.input.shape(), op.output.shape()},
                    cuda::floats(op.input),
                    cuda::floats(op.output),
                    reinterpret_cast<Position*>(op.positions.mutable_data())});
        });
    return cuda::checked(status, {&op.input, &op.output});
}

result<void> cuda_operations::start(const max_pool_backward& op) {
    const auto status = with_types(
        op.settings, op.input_gradient, [&]<class Index, class Position>(Index, Position) {
            return cuda::launch_elements(
                run_.stream(), op.input_gradient.elements(),
                backward_pass<Index, Position>{
                    {op.settings, op.input_gradient.shape(), op.output_gradient.shape()},
                    cuda::floats(op.output_gradient),
                    reinterpret_cast<const Position*>(op.positions.data()),
                    cuda::floats(op.input_gradient)});
        });
    return cuda::checked(status, {&op.output_gradient, &op.input_gradient});
}

} // namespace troupe
