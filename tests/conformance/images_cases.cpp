#include <algorithm>
#include <array>
#include <tuple>

#include "tests/conformance/case_tools.hpp"

namespace troupe::test {

namespace {

std::string block_suffix(std::size_t block) {
    return block == 0 ? "" : block == 1 ? ", row-major" : ", block " + std::to_string(block);
}

struct conv2d_row {
    std::size_t samples, in, height, width, out, kernel;
    std::size_t stride = 1, padding = 0;
    std::size_t pool = 0, pool_stride = 0; // with relu and max_pool behind it
    bool blocked = true; // in the back end's favourite blocks, otherwise row-major
    std::size_t groups = 1;
    std::size_t pool_padding = 0;
    bool has_bias = true;
    precision products = precision::float32;
    bool is_first = false; // of a network: back without the gradient of its input
};

struct conv2d_case final : operation_case {
    conv2d_row row;

    explicit conv2d_case(const conv2d_row& row) : row{row} {}

    std::string name() const override {
        return "conv2d " + by(input_shapes()[0]) + " to " + std::to_string(row.out) + ", kernel " +
               std::to_string(row.kernel) + ", stride " + std::to_string(row.stride) +
               ", padding " + std::to_string(row.padding) +
               (row.pool > 0 ? ", relu, pool " + std::to_string(row.pool) + "/" +
                                   std::to_string(row.pool_stride)
                             : "") +
               (row.pool_padding > 0 ? ", padded " + std::to_string(row.pool_padding) : "") +
               (row.groups > 1 ? ", groups " + std::to_string(row.groups) : "") +
               (row.has_bias ? "" : ", no bias") + (row.blocked ? "" : ", row-major") +
               (row.is_first ? ", first" : "") + suffix_of(row.products);
    }
    std::vector<tensor_shape> input_shapes() const override {
        std::vector<tensor_shape> shapes{{row.samples, row.in, row.height, row.width},
                                         {row.out, row.in / row.groups, row.kernel, row.kernel}};
        if (row.has_bias)
            shapes.push_back({row.out});
        return shapes;
    }
    tensor_shape convolved() const {
        return {row.samples, row.out,
                windows_along(row.height, row.kernel, row.stride, row.padding),
                windows_along(row.width, row.kernel, row.stride, row.padding)};
    }
    tensor_shape output_shape() const override {
        const tensor_shape c = convolved();
        return row.pool == 0
                   ? c
                   : tensor_shape{c[0], c[1],
                                  windows_along(c[2], row.pool, row.pool_stride, row.pool_padding),
                                  windows_along(c[3], row.pool, row.pool_stride, row.pool_padding)};
    }
    double forward_flops() const override {
        return 2.0 * count(convolved()) * count({row.in / row.groups, row.kernel, row.kernel});
    }
    double backward_flops() const override { return (row.is_first ? 1 : 2) * forward_flops(); }
    bool is_rounded() const override { return rounds(row.products); }
    bool has_kinks() const override { return row.pool > 0; }

    struct state {
        conv2d_settings settings;
        max_pool_settings pool;
        tensor input, weight, bias, output, positions, output_gradient, to_input, to_weight,
            to_bias;

        const tensor* bias_or_null() const { return bias ? &bias : nullptr; }
        tensor* to_bias_or_null() { return to_bias ? &to_bias : nullptr; }
    };

    prepared_case prepare(compute_context& context, const std::vector<tensor>& inputs,
                          const tensor& output_gradient) const override {
        auto& ops = context.ops;
        const std::size_t in_block_size = row.blocked ? ops.channel_block(row.in) : 1;
        const std::size_t out_block_size = row.blocked ? ops.channel_block(row.out) : 1;
        auto s = std::make_shared<state>();
        s->settings = {row.stride,     row.padding, in_block_size,
                       out_block_size, row.groups,  row.products};
        s->pool = {row.pool, row.pool_stride, out_block_size, row.pool_padding};
        s->input = in_block(context, inputs[0], 1, in_block_size);
        s->weight = inputs[1];
        if (row.has_bias)
            s->bias = inputs[2];
        s->output = poisoned(context, output_shape());
        s->positions = poisoned(context, output_shape(), position_type(row.pool));
        s->output_gradient = in_block(context, output_gradient, 1, out_block_size);
        s->to_input = poisoned(context, inputs[0].shape());
        s->to_weight = poisoned(context, inputs[1].shape());
        if (row.has_bias)
            s->to_bias = poisoned(context, inputs[2].shape());
        return {
            [=, this, &ops] { return forward(ops, *s); },
            [=, this, &ops] { return backward(ops, *s, row.is_first ? nullptr : &s->to_input); },
            [=, &context] { return std::vector{in_block(context, s->output, out_block_size, 1)}; },
            [=, this, &context, &ops] {
                if (row.is_first)
                    add_input_gradient(context, ops, *s);
                std::vector<tensor> all{in_block(context, s->to_input, in_block_size, 1),
                                        s->to_weight};
                if (s->to_bias)
                    all.push_back(s->to_bias);
                return all;
            }};
    }

    result<void> forward(operations& ops, state& s) const {
        return row.pool == 0
                   ? ops.run(
                         conv2d_forward{s.settings, s.input, s.weight, s.bias_or_null(), s.output})
                   : ops.run(conv2d_pool_forward{s.settings, s.pool, s.input, s.weight,
                                                 s.bias_or_null(), s.output, s.positions});
    }
    // That comparisons want, and leaves the others as they are.
    void add_input_gradient(compute_context& context, operations& ops, state& s) const {
        state other = s;
        other.to_weight = poisoned(context, s.to_weight.shape());
        if (row.has_bias)
            other.to_bias = poisoned(context, s.to_bias.shape());
        TROUPE_CHECK(backward(ops, other, &s.to_input).ok(), "it ran without");
    }
    result<void> backward(operations& ops, state& s, tensor* to_input) const {
        return row.pool == 0
                   ? ops.run(conv2d_backward{s.settings, s.input, s.weight, s.output_gradient,
                                             to_input, s.to_weight, s.to_bias_or_null()})
                   : ops.run(conv2d_pool_backward{s.settings, s.pool, s.input, s.weight, s.output,
                                                  s.positions, s.output_gradient, to_input,
                                                  s.to_weight, s.to_bias_or_null()});
    }
};

struct max_pool_case final : operation_case {
    tensor_shape images;
    std::size_t kernel, stride, padding;
    std::size_t block; // 0: the back end's favourite

    max_pool_case(tensor_shape images, std::size_t kernel, std::size_t stride,
                  std::size_t padding = 0, std::size_t block = 0)
        : images{images}, kernel{kernel}, stride{stride}, padding{padding}, block{block} {}

    std::string name() const override {
        return "max_pool " + by(images) + ", kernel " + std::to_string(kernel) + ", stride " +
               std::to_string(stride) +
               (padding > 0 ? ", padding " + std::to_string(padding) : "") + block_suffix(block);
    }
    std::vector<tensor_shape> input_shapes() const override { return {images}; }
    tensor_shape output_shape() const override {
        return {images[0], images[1], windows_along(images[2], kernel, stride, padding),
                windows_along(images[3], kernel, stride, padding)};
    }
    double forward_flops() const override {
        return count(output_shape()) * static_cast<double>(kernel * kernel);
    }
    double backward_flops() const override { return count(output_shape()); }
    bool has_kinks() const override { return true; }

    prepared_case prepare(compute_context& context, const std::vector<tensor>& inputs,
                          const tensor& output_gradient) const override {
        struct state {
            max_pool_settings settings;
            tensor input, output, positions, output_gradient, to_input;
        };
        auto& ops = context.ops;
        const std::size_t block = this->block != 0 ? this->block : ops.channel_block(images[1]);
        auto s = std::make_shared<state>();
        *s = {{kernel, stride, block, padding},
              in_block(context, inputs[0], 1, block),
              poisoned(context, output_shape()),
              poisoned(context, output_shape(), position_type(kernel)),
              in_block(context, output_gradient, 1, block),
              poisoned(context, images)};
        return {
            [=, &ops] {
                return ops.run(max_pool_forward{s->settings, s->input, s->output, s->positions});
            },
            [=, &ops] {
                return ops.run(
                    max_pool_backward{s->settings, s->output_gradient, s->positions, s->to_input});
            },
            [=, &context] { return std::vector{in_block(context, s->output, block, 1)}; },
            [=, &context] { return std::vector{in_block(context, s->to_input, block, 1)}; }};
    }
};

struct average_pool_case final : operation_case {
    tensor_shape images;
    average_pool_settings settings;
    std::size_t block; // 0: the back end's favourite

    average_pool_case(tensor_shape images, average_pool_settings settings, std::size_t block = 0)
        : images{images}, settings{settings}, block{block} {}

    std::string name() const override {
        return "average_pool " + by(images) + ", kernel " +
               by({settings.kernel_height, settings.kernel_width}) + ", stride " +
               std::to_string(settings.stride) + ", padding " + std::to_string(settings.padding) +
               block_suffix(block);
    }
    std::vector<tensor_shape> input_shapes() const override { return {images}; }
    tensor_shape output_shape() const override {
        return {images[0], images[1],
                windows_along(images[2], settings.kernel_height, settings.stride, settings.padding),
                windows_along(images[3], settings.kernel_width, settings.stride, settings.padding)};
    }
    double forward_flops() const override {
        return count(output_shape()) * count({settings.kernel_height, settings.kernel_width});
    }
    double forward_bytes() const override { return 4 * (count(images) + count(output_shape())); }
    double backward_bytes() const override { return forward_bytes(); }

    prepared_case prepare(compute_context& context, const std::vector<tensor>& inputs,
                          const tensor& output_gradient) const override {
        struct state {
            average_pool_settings settings;
            tensor input, output, output_gradient, to_input;
        };
        auto& ops = context.ops;
        const std::size_t block = this->block != 0 ? this->block : ops.channel_block(images[1]);
        auto s = std::make_shared<state>();
        *s = {settings, in_block(context, inputs[0], 1, block), poisoned(context, output_shape()),
              in_block(context, output_gradient, 1, block), poisoned(context, images)};
        s->settings.block = block;
        return {
            [=, &ops] {
                return ops.run(average_pool_forward{s->settings, s->input, s->output});
            },
            [=, &ops] {
                return ops.run(average_pool_backward{s->settings, s->output_gradient, s->to_input});
            },
            [=, &context] { return std::vector{in_block(context, s->output, block, 1)}; },
            [=, &context] { return std::vector{in_block(context, s->to_input, block, 1)}; }};
    }
};

} // namespace

void add_images_cases(cases& to) {
    for (const conv2d_row& row : std::initializer_list<conv2d_row>{
             {1, 1, 1, 1, 1, 1},
             {2, 3, 5, 7, 4, 3},
             {3, 3, 6, 5, 16, 3, 2, 1},
             {2, 16, 5, 4, 32, 3, 1, 1},
             {2, 16, 5, 4, 32, 3, 1, 1, 0, 0, false},
             {3, 32, 13, 10, 16, 3, 1, 0},
             {1, 64, 4, 4, 80, 3, 1, 2},
             {2, 24, 9, 7, 40, 3, 1, 1},
             {9, 32, 24, 20, 32, 3, 1, 1, 2, 2, false},
             {1, 272, 4, 4, 320, 3, 1, 1}, // more weights than are transformed at a time
             {2, 272, 4, 4, 256, 3, 1, 1, 2, 2, false},
             {1, 32, 4, 4, 16, 1},
             {3, 6, 5, 3, 10, 1, 1, 0, 0, 0, false},
             {2, 6, 5, 7, 10, 1, 2, 0, 0, 0, true, 2, 0, false},
             {2, 8, 7, 7, 24, 5, 2, 2},
             {1, 6, 9, 9, 16, 5, 3, 4},
             {19, 16, 24, 24, 16, 3, 1,
              1}, // more samples than are convolved at a time, and some left over
             {2, 1, 8, 8, 16, 3, 1, 1, 2, 2},
             {3, 16, 7, 9, 32, 3, 1, 1, 3, 2},
             {2, 5, 9, 9, 6, 3, 2, 0, 2, 1},
             {2, 16, 8, 8, 16, 3, 1, 1, 2, 3},
             {19, 16, 24, 24, 16, 3, 1, 1, 2, 2},
             {2, 16, 9, 8, 32, 3, 1, 1, 3, 2, true, 1, 1},
             {3, 5, 6, 7, 6, 3, 1, 0, 3, 2, true, 1, 1},
             {2, 32, 7, 6, 64, 3, 1, 1, 0, 0, true, 2},
             {2, 32, 9, 9, 32, 5, 1, 2, 3, 2, true, 2},
             {3, 6, 5, 7, 4, 3, 2, 1, 0, 0, true, 2},
             {2, 16, 6, 5, 32, 3, 1, 1, 0, 0, true, 4},
             {2, 16, 6, 5, 16, 3, 1, 1, 0, 0, true, 16},
             {2, 16, 6, 5, 16, 3, 1, 1, 0, 0, false, 16},
             {3, 3, 6, 5, 16, 3, 2, 1, 0, 0, true, 1, 0, false},
             {2, 32, 8, 9, 64, 3, 1, 1, 0, 0, true, 1, 0, false},
             {19, 16, 24, 24, 16, 3, 1, 1, 0, 0, true, 1, 0, false},
             {19, 16, 24, 24, 16, 3, 1, 1, 2, 2, true, 1, 0, false},
             {2, 32, 9, 9, 32, 5, 1, 2, 3, 2, false, 2, 0, false},
         })
        add<conv2d_case>(to, row);
    for (conv2d_row row : std::initializer_list<conv2d_row>{
             {3, 3, 6, 5, 16, 3, 2, 1},
             {1, 3, 11, 14, 48, 11, 4, 5},
             {2, 3, 19, 17, 16, 11, 1, 2, 3, 2, false},
             {2, 1, 13, 12, 24, 11, 2, 4, 0, 0, true, 1, 0, true, precision::bfloat16},
             {19, 1, 24, 24, 16, 3, 1, 1, 2, 2}, // in several parts
             {2, 7, 9, 8, 16, 5, 3, 4, 0, 0, true, 1, 0, false},
             {2, 2, 7, 9, 24, 3, 1, 1, 0, 0, false},
             {2, 1, 8, 9, 16, 3, 1, 1, 3, 2, false, 1, 1, true, precision::bfloat16},
             {2, 3, 6, 7, 16, 3, 1, 1, 0, 0, true, 1, 0, true, precision::float16},
             {2, 3, 5, 6, 10, 3, 1, 1},
             {2, 6, 5, 7, 16, 3, 1, 1, 0, 0, true, 2},
             {2, 16, 9, 7, 32, 3, 1, 1}}) {
        row.is_first = true;
        add<conv2d_case>(to, row);
    }
    // Row-major and blocked images, by Winograd's algorithm and without, with one part and several, pooled, grouped.
    for (conv2d_row row : std::initializer_list<conv2d_row>{
             {3, 3, 6, 5, 16, 3, 2, 1},
             {2, 16, 5, 4, 32, 3, 1, 1},
             {2, 16, 5, 4, 32, 3, 1, 1, 0, 0, false},
             {1, 32, 4, 4, 16, 1},
             {3, 6, 5, 3, 10, 1, 1, 0, 0, 0, false},
             {2, 8, 7, 7, 24, 5, 2, 2},
             {19, 16, 24, 24, 16, 3, 1, 1},
             {3, 16, 7, 9, 32, 3, 1, 1, 3, 2},
             {2, 5, 9, 9, 6, 3, 2, 0, 2, 1},
             {19, 16, 24, 24, 16, 3, 1, 1, 2, 2},
             {9, 32, 24, 20, 32, 3, 1, 1, 2, 2, false},
             {2, 32, 9, 9, 32, 5, 1, 2, 3, 2, true, 2},
             {2, 16, 6, 5, 16, 3, 1, 1, 0, 0, true, 16},
             {2, 32, 8, 9, 64, 3, 1, 1, 0, 0, true, 1, 0, false},
         }) {
        for (const precision products : {precision::bfloat16, precision::float16}) {
            row.products = products;
            add<conv2d_case>(to, row);
        }
    }
    for (const auto& [images, kernel, stride, padding, block] : std::initializer_list<
             std::tuple<tensor_shape, std::size_t, std::size_t, std::size_t, std::size_t>>{
             {{1, 1, 2, 2}, 2, 2, 0, 0},
             {{2, 3, 7, 5}, 2, 2, 0, 0},
             {{2, 16, 6, 6}, 2, 2, 0, 0},
             {{2, 16, 7, 7}, 3, 2, 0, 0},
             {{1, 32, 7, 7}, 2, 3, 0, 0},
             {{2, 16, 5, 5}, 5, 1, 0, 0},
             {{2, 16, 7, 6}, 3, 2, 1, 0},
             {{2, 3, 7, 6}, 3, 2, 1, 0},
             {{2, 8, 5, 6}, 3, 1, 1, 2},
             {{1, 16, 5, 5}, 2, 1, 1, 0},
             {{1, 2, 18, 19}, 17, 1, 0, 0},
             {{1, 2, 18, 19}, 18, 3, 9, 0}})
        add<max_pool_case>(to, images, kernel, stride, padding, block);
    for (const auto& [images, settings, block] :
         std::initializer_list<std::tuple<tensor_shape, average_pool_settings, std::size_t>>{
             {{1, 1, 2, 2}, {}, 0},
             {{2, 3, 7, 5}, {3, 2, 1, 1}, 0},
             {{2, 16, 7, 6}, {3, 3, 2, 1}, 0},
             {{2, 16, 7, 6}, {3, 3, 2, 1}, 8},
             {{1, 32, 7, 5}, {7, 5, 1, 0}, 0},
             {{2, 3, 9, 8}, {6, 7, 1, 3}, 0},
             {{2, 8, 7, 6}, {6, 6, 2, 1}, 4},
             {{2, 3, 6, 7}, {6, 7, 1, 0}, 0},
             {{2, 16, 5, 7}, {5, 7, 1, 0}, 1}})
        add<average_pool_case>(to, images, settings, block);
}

void add_timed_images_cases(cases& to, std::size_t batch) {
    for (const precision products : {precision::float32, precision::bfloat16})
        for (conv2d_row row :
             std::initializer_list<conv2d_row>{{batch, 1, 28, 28, 32, 3, 1, 1},
                                               {batch, 1, 28, 28, 32, 3, 1, 1, 2, 2},
                                               {batch, 32, 14, 14, 64, 3, 1, 1},
                                               {batch, 32, 14, 14, 64, 3, 1, 1, 2, 2},
                                               {batch, 32, 14, 14, 64, 3, 1, 1, 0, 0, false},
                                               {batch, 3, 32, 32, 6, 5},
                                               {batch, 96, 27, 27, 256, 5, 1, 2, 0, 0, true, 2}}) {
            row.products = products;
            row.is_first = row.in < 8;
            add<conv2d_case>(to, row);
        }
    add<max_pool_case>(to, tensor_shape{batch, 32, 28, 28}, 2u, 2u);
    add<max_pool_case>(to, tensor_shape{batch, 64, 56, 56}, 3u, 2u, 1u);
    add<average_pool_case>(to, tensor_shape{batch, 64, 56, 56}, average_pool_settings{});
    add<average_pool_case>(to, tensor_shape{batch, 512, 7, 7}, average_pool_settings{7, 7, 1, 0});
    add<average_pool_case>(to, tensor_shape{batch, 512, 7, 7}, average_pool_settings{7, 7, 1, 0},
                           std::size_t{1});
}

} // namespace troupe::test
