#include <algorithm>
#include <cstdio>

#include "tests/conformance/case_tools.hpp"

namespace troupe::test {

namespace {

double bytes_of(const tensor_shape& images) {
    return count(images) * static_cast<double>(sizeof(float));
}

std::string decimal(float x) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", double{x});
    return text;
}

// Images in a channel block, or in the back end's favourite for 0. Those of two dimensions are row-major.
struct image_norm_case : operation_case {
    tensor_shape images;
    std::size_t block;

    image_norm_case(tensor_shape images, std::size_t block) : images{images}, block{block} {}

    tensor_shape output_shape() const override { return images; }
    double forward_bytes() const override { return 2 * bytes_of(images); }

    std::size_t block_for(const operations& ops) const {
        return block != 0 ? block : images.rank() == 4 ? ops.channel_block(images[1]) : 1;
    }
    std::string description() const {
        return by(images) + (block != 0 ? ", block " + std::to_string(block) : "");
    }
};

struct batch_norm_case final : image_norm_case {
    using image_norm_case::image_norm_case;

    std::string name() const override { return "batch_norm " + description(); }
    std::vector<tensor_shape> input_shapes() const override {
        return {images, {images[1]}, {images[1]}};
    }
    double forward_flops() const override { return 7 * count(images); }
    double backward_bytes() const override { return 3 * bytes_of(images); }

    prepared_case prepare(compute_context& context, const std::vector<tensor>& inputs,
                          const tensor& output_gradient) const override {
        struct state {
            batch_norm_settings settings;
            tensor input, gradient, output, mean, variance, deviation, to_input, to_weight, to_bias;
        };
        auto& ops = context.ops;
        const std::size_t used = block_for(ops);
        const tensor_shape channels{images[1]};
        auto s = std::make_shared<state>();
        *s = {{.block = used},
              in_block(context, inputs[0], 1, used),
              in_block(context, output_gradient, 1, used),
              poisoned(context, images),
              poisoned(context, channels),
              poisoned(context, channels),
              poisoned(context, channels),
              poisoned(context, images),
              poisoned(context, channels),
              poisoned(context, channels)};
        return {[=, &ops] {
                    return ops.run(batch_norm_forward{s->settings, s->input, inputs[1], inputs[2],
                                                      s->output, s->mean, s->variance,
                                                      s->deviation});
                },
                [=, &ops] {
                    return ops.run(batch_norm_backward{s->settings, s->input, inputs[1], s->mean,
                                                       s->deviation, s->gradient, &s->to_input,
                                                       s->to_weight, s->to_bias});
                },
                [=, &context] {
                    return std::vector{in_block(context, s->output, used, 1), s->mean, s->variance,
                                       s->deviation};
                },
                [=, &context] {
                    return std::vector{in_block(context, s->to_input, used, 1), s->to_weight,
                                       s->to_bias};
                }};
    }
};

// No gradients: it is for evaluation.
struct batch_norm_inference_case final : image_norm_case {
    using image_norm_case::image_norm_case;

    std::string name() const override { return "batch_norm_inference " + description(); }
    std::vector<tensor_shape> input_shapes() const override {
        return {images, {images[1]}, {images[1]}, {images[1]}, {images[1]}};
    }
    double forward_flops() const override { return 3 * count(images); }
    double backward_flops() const override { return 0; }

    prepared_case prepare(compute_context& context, const std::vector<tensor>& inputs,
                          const tensor&) const override {
        auto& ops = context.ops;
        const std::size_t used = block_for(ops);
        const tensor input = in_block(context, inputs[0], 1, used);
        auto variance = std::make_shared<tensor>(poisoned(context, inputs[4].shape()));
        std::ranges::transform(inputs[4].values<float>(), variance->mutable_values<float>().begin(),
                               [](float x) { return x * x; });
        auto output = std::make_shared<tensor>(poisoned(context, images));
        return {
            [=, &ops] {
                return ops.run(batch_norm_inference{
                    {.block = used}, input, inputs[1], inputs[2], inputs[3], *variance, *output});
            },
            nullptr, [=, &context] { return std::vector{in_block(context, *output, used, 1)}; },
            nullptr};
    }
};

struct local_response_norm_case final : image_norm_case {
    local_response_norm_settings settings;

    local_response_norm_case(tensor_shape images, local_response_norm_settings settings,
                             std::size_t block = 0)
        : image_norm_case{images, block}, settings{settings} {}

    std::string name() const override {
        return "local_response_norm " + description() + ", size " + std::to_string(settings.size) +
               ", alpha " + decimal(settings.alpha) + ", beta " + decimal(settings.beta) + ", k " +
               decimal(settings.k);
    }
    std::vector<tensor_shape> input_shapes() const override { return {images}; }
    double forward_flops() const override { return 12 * count(images); }
    double backward_bytes() const override { return 3 * bytes_of(images); }

    prepared_case prepare(compute_context& context, const std::vector<tensor>& inputs,
                          const tensor& output_gradient) const override {
        struct state {
            local_response_norm_settings settings;
            tensor input, gradient, output, to_input;
        };
        auto& ops = context.ops;
        const std::size_t used = block_for(ops);
        auto s = std::make_shared<state>();
        *s = {settings, in_block(context, inputs[0], 1, used),
              in_block(context, output_gradient, 1, used), poisoned(context, images),
              poisoned(context, images)};
        s->settings.block = used;
        return {[=, &ops] {
                    return ops.run(local_response_norm_forward{s->settings, s->input, s->output});
                },
                [=, &ops] {
                    return ops.run(local_response_norm_backward{s->settings, s->input, s->gradient,
                                                                s->to_input});
                },
                [=, &context] { return std::vector{in_block(context, s->output, used, 1)}; },
                [=, &context] { return std::vector{in_block(context, s->to_input, used, 1)}; }};
    }
};

} // namespace

void add_image_norms_cases(cases& to) {
    for (const auto& [images, block] :
         std::initializer_list<std::pair<tensor_shape, std::size_t>>{{{3, 5, 4, 3}, 0},
                                                                     {{2, 16, 3, 5}, 0},
                                                                     {{3, 32, 7, 9}, 0},
                                                                     {{2, 16, 5, 9}, 1},
                                                                     {{2, 6, 5, 3}, 2},
                                                                     {{9, 3}, 0},
                                                                     {{11, 16}, 0},
                                                                     {{3, 2, 50, 41}, 0},
                                                                     {{1, 1, 400, 400}, 0}}) {
        add<batch_norm_case>(to, images, block);
        add<batch_norm_inference_case>(to, images, block);
    }
    const auto strong = [](std::size_t size, float beta) {
        return local_response_norm_settings{.size = size, .alpha = 0.7f, .beta = beta, .k = 1.5f};
    };
    add<local_response_norm_case>(to, tensor_shape{2, 7, 5, 4}, strong(5, 0.75f));
    add<local_response_norm_case>(to, tensor_shape{2, 16, 3, 5}, strong(4, 0.75f));
    add<local_response_norm_case>(to, tensor_shape{1, 16, 5, 7}, strong(3, 0.6f), 1u);
    add<local_response_norm_case>(to, tensor_shape{3, 3, 2, 3}, strong(9, 0.5f));
    add<local_response_norm_case>(to, tensor_shape{2, 32}, strong(5, 0.75f));
}

void add_timed_image_norms_cases(cases& to, std::size_t batch) {
    add<batch_norm_case>(to, tensor_shape{batch, 64, 28, 28}, 0u);
    add<batch_norm_case>(to, tensor_shape{batch, 64, 28, 28}, 1u);
    add<batch_norm_case>(to, tensor_shape{batch, 512, 7, 7}, 0u);
    add<batch_norm_inference_case>(to, tensor_shape{batch, 64, 28, 28}, 0u);
    add<local_response_norm_case>(to, tensor_shape{batch, 64, 27, 27},
                                  local_response_norm_settings{});
}

} // namespace troupe::test
