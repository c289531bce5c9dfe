#include "kernels/cuda/window_columns.hpp"

#include "kernels/cuda/channels.hpp"

namespace troupe::cuda {

namespace {

// ---- helpers ----------------------------------------------------------------------------------------------------------

template <class Index>
struct range_places {
    image_places<Index> input, output; // the pixels of an output are those of one row
    axis_windows<Index> rows, columns;
    divisor<Index> by_stride, by_windows, by_width;
    Index first, count, stride; // of the range
    Index windows, width;       // of a sample, of its rows

    range_places(const convolution& c, const window_range& r)
        : input{c.images, c.settings.input_block}, output{flat_images(c.windows),
                                                          c.settings.output_block},
          rows{c.images[2], c.weight[2], c.settings.stride, c.settings.padding},
          columns{c.images[3], c.weight[3], c.settings.stride, c.settings.padding},
          by_stride{r.stride}, by_windows{c.windows_of_sample()}, by_width{c.windows[3]},
          first{static_cast<Index>(r.first)}, count{static_cast<Index>(r.count)},
          stride{static_cast<Index>(r.stride)}, windows{static_cast<Index>(c.windows_of_sample())},
          width{static_cast<Index>(c.windows[3])} {}

    // Where window w of the range has its output of a channel.
    __device__ Index output_offset(Index channel, Index w) const {
        const auto [sample, pixel] = by_windows.divide(first + w);
        return output.offset(output.of_channel(sample, channel, pixel, 0));
    }
};

// Calls launch(range_places<Index>) with what holds every index and every place in padded images.
template <class Launch>
cudaError_t with_places(const convolution& c, const window_range& r, const Launch& launch) {
    return with_index({c.images.elements(), c.windows.elements(),
                       (c.column() + c.outs()) * r.stride, c.settings.stride,
                       c.images[2] + 2 * c.settings.padding, c.images[3] + 2 * c.settings.padding},
                      [&]<class Index>(Index) {
                          return launch(range_places<Index>{c, r});
                      });
}

// ---- kernels ----------------------------------------------------------------------------------------------------------

// A thread for every window and channel. Behind the last column are zeros, for what reads whole rows.
template <class Index>
struct columns_pass {
    range_places<Index> at;
    const float* input;
    float* columns;

    __device__ void operator()(std::size_t i) const {
        const auto [channel, w] = at.by_stride.divide(static_cast<Index>(i));
        const auto [sample, window] = at.by_windows.divide(at.first + w);
        const auto [wy, wx] = at.by_width.divide(window);
        const auto plane = at.input.of_channel(sample, channel, 0, 0);
        const Index top = at.rows.begin(wy), left = at.columns.begin(wx);
        float* to = columns + channel * at.rows.window() * at.columns.window() * at.stride + w;
        for (Index r = 0; r < at.rows.window(); ++r)
            for (Index c = 0; c < at.columns.window(); ++c, to += at.stride) {
                const Index y = top + r, x = left + c; // before the image wrapped to large ones
                *to = w < at.count && y < at.rows.size() && x < at.columns.size()
                          ? input[at.input.offset({plane.plane, y, x, plane.lane})]
                          : 0;
            }
    }
};

// Every pixel of the samples that have windows in the range gathers from those, on top of what earlier ranges gave it.
template <class Index>
struct images_pass {
    range_places<Index> at;
    const float* columns;
    std::size_t begin; // of the first of these samples
    float* input_gradient;

    __device__ void operator()(std::size_t i) const {
        const auto p = at.input.at(begin + i);
        const auto [sample, channel] = at.input.channel(p);
        const auto rows = at.rows.covering(p.y);
        const auto across = at.columns.covering(p.x);
        const Index window_of_sample = sample * at.windows;
        float sum = window_of_sample < at.first ? input_gradient[begin + i] : 0;
        for (Index wy = rows.first; wy < rows.end; ++wy) {
            const Index field =
                (channel * at.rows.window() + (p.y - at.rows.begin(wy))) * at.columns.window();
            for (Index wx = across.first; wx < across.end; ++wx) {
                const Index w = window_of_sample + wy * at.width + wx - at.first;
                if (w < at.count)
                    sum += columns[(field + (p.x - at.columns.begin(wx))) * at.stride + w];
            }
        }
        input_gradient[begin + i] = sum;
    }
};

template <class Index>
struct outputs_pass {
    range_places<Index> at;
    const float* sums; // row-major (outs, windows of the range)
    const float* bias; // null: zeros
    float* output;

    __device__ void operator()(std::size_t i) const {
        const auto [channel, w] = at.by_stride.divide(static_cast<Index>(i));
        if (w < at.count)
            output[at.output_offset(channel, w)] = sums[i] + (bias != nullptr ? bias[channel] : 0);
    }
};

template <class Index>
struct gradients_pass {
    range_places<Index> at;
    const float* output_gradient;
    float* gradients; // row-major (outs, windows of the range)

    __device__ void operator()(std::size_t i) const {
        const auto [channel, w] = at.by_stride.divide(static_cast<Index>(i));
        gradients[i] = w < at.count ? output_gradient[at.output_offset(channel, w)] : 0;
    }
};

} // namespace

// ---- launchers --------------------------------------------------------------------------------------------------------

result<void> make_columns(const convolution& c, const window_range& r, const tensor& input,
                          float* columns, cudaStream_t stream) {
    return checked(with_places(c, r,
                               [&]<class Index>(const range_places<Index>& at) {
                                   return launch_elements(
                                       stream, c.images[1] * r.stride,
                                       columns_pass<Index>{at, floats(input), columns});
                               }),
                   {&input});
}

result<void> add_columns(const convolution& c, const window_range& r, const float* columns,
                         tensor& input_gradient, cudaStream_t stream) {
    const std::size_t sample = c.images.elements() / c.images[0];
    const std::size_t first = r.first / c.windows_of_sample();
    const std::size_t last = (r.first + r.count - 1) / c.windows_of_sample();
    return checked(with_places(c, r,
                               [&]<class Index>(const range_places<Index>& at) {
                                   return launch_elements(
                                       stream, (last + 1 - first) * sample,
                                       images_pass<Index>{at, columns, first * sample,
                                                          floats(input_gradient)});
                               }),
                   {&input_gradient});
}

result<void> give_outputs(const convolution& c, const window_range& r, const float* sums,
                          const tensor* bias, tensor& output, cudaStream_t stream) {
    return checked(with_places(c, r,
                               [&]<class Index>(const range_places<Index>& at) {
                                   return launch_elements(
                                       stream, c.outs() * r.stride,
                                       outputs_pass<Index>{at, sums, floats(bias), floats(output)});
                               }),
                   {&output});
}

result<void> take_gradients(const convolution& c, const window_range& r,
                            const tensor& output_gradient, float* gradients, cudaStream_t stream) {
    return checked(
        with_places(c, r,
                    [&]<class Index>(const range_places<Index>& at) {
                        return launch_elements(
                            stream, c.outs() * r.stride,
                            gradients_pass<Index>{at, floats(output_gradient), gradients});
                    }),
        {&output_gradient});
}

} // namespace troupe::cuda
