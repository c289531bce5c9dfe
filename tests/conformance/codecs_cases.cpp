#include <algorithm>

#include "tests/conformance/case_tools.hpp"

namespace troupe::test {

namespace {

// A codec's two operations. Inputs: a gradient, and what is added to.
struct codec_operations {
    std::string name;
    std::function<std::size_t(operations&, const tensor& gradient)> payload_bytes;
    std::function<result<void>(operations&, const tensor& gradient, tensor& payload)> encode;
    std::function<result<void>(operations&, const decode_operands&)> decode;
    bool has_exact_payload = true; // nothing in it that back ends may round in another way
};

tensor bytes_of(compute_context& context, std::size_t bytes) {
    return poisoned(context, {bytes}, data_type::uint8);
}

// As numbers, which the comparison takes.
tensor numbers_of(compute_context& context, const tensor& bytes) {
    tensor numbers = poisoned(context, {std::max<std::size_t>(1, bytes.elements())});
    std::ranges::fill(numbers.mutable_values<float>(), 0.f);
    std::ranges::transform(bytes.values<std::uint8_t>(), numbers.mutable_values<float>().begin(),
                           [](std::uint8_t x) { return static_cast<float>(x); });
    return numbers;
}

struct codec_case : operation_case {
    codec_operations codec;
    tensor_shape shape;
    std::size_t payload = 0; // of random numbers, for the rate

    codec_case(codec_operations codec, tensor_shape shape) : codec{codec}, shape{shape} {}

    std::vector<tensor_shape> input_shapes() const override { return {shape, shape}; }
    tensor_shape output_shape() const override { return shape; }
    double forward_flops() const override { return count(shape); }
    double backward_flops() const override { return 0; }
};

struct encode_case final : codec_case {
    using codec_case::codec_case;

    std::string name() const override { return "encode " + codec.name + " " + by(shape); }
    double forward_bytes() const override { return 4 * count(shape); }

    prepared_case prepare(compute_context& context, const std::vector<tensor>& inputs,
                          const tensor&) const override {
        auto payload = std::make_shared<tensor>(
            bytes_of(context, codec.payload_bytes(context.ops, inputs[0])));
        auto& ops = context.ops;
        return {[=, this, &ops] { return codec.encode(ops, inputs[0], *payload); }, nullptr,
                [=, this, &context]() -> std::vector<tensor> {
                    tensor decoded = poisoned(context, shape);
                    TROUPE_CHECK(codec.decode(context.ops, {*payload, 1, nullptr, decoded}).ok(),
                                 "what is encoded can be decoded");
                    if (!codec.has_exact_payload)
                        return {decoded};
                    return {decoded, numbers_of(context, *payload)};
                },
                nullptr};
    }
};

struct decode_case final : codec_case {
    using codec_case::codec_case;

    std::string name() const override { return "decode " + codec.name + " " + by(shape); }
    double forward_bytes() const override { return 4 * count(shape); }

    prepared_case prepare(compute_context& context, const std::vector<tensor>& inputs,
                          const tensor&) const override {
        struct state {
            tensor payload, output, in_place;
        };
        auto s = std::make_shared<state>(
            state{bytes_of(context, codec.payload_bytes(context.ops, inputs[0])),
                  poisoned(context, shape), poisoned(context, shape)});
        TROUPE_CHECK(codec.encode(context.ops, inputs[0], s->payload).ok(), "it is encoded");
        std::ranges::copy(inputs[1].values<float>(), s->in_place.mutable_values<float>().begin());
        auto& ops = context.ops;
        return {[=, this, &ops] {
                    return codec.decode(ops, {s->payload, 0.5f, &inputs[1], s->output});
                },
                nullptr,
                [=, this, &ops]() -> std::vector<tensor> {
                    TROUPE_CHECK(
                        codec.decode(ops, {s->payload, -2, &s->in_place, s->in_place}).ok(),
                        "the same again");
                    return {s->output, s->in_place};
                },
                nullptr};
    }
};

codec_operations half(half_format format) {
    return {format == half_format::bf16 ? "bf16" : "f16",
            [](operations&, const tensor& g) { return 2 * g.elements(); },
            [=](operations& ops, const tensor& g, tensor& p) {
                return ops.run(encode_half{format, g, p});
            },
            [=](operations& ops, const decode_operands& o) {
                return ops.run(decode_half{format, o});
            }};
}

codec_operations quantized(std::string name, quantizer q) {
    return {name, [=](operations&, const tensor& g) { return q.payload_bytes(g.elements()); },
            [=](operations& ops, const tensor& g, tensor& p) {
                return ops.run(quantize{q, {0x123456789abcdef, 0x17fffffff}, g, p});
            },
            [=](operations& ops, const decode_operands& o) {
                return ops.run(dequantize{q, o});
            },
            q.clip == 0};
}

codec_operations signs() {
    return {"signs", [](operations&, const tensor& g) { return sign_payload_bytes(g.shape()); },
            [](operations& ops, const tensor& g, tensor& p) {
                return ops.run(encode_signs{g, p});
            },
            [](operations& ops, const decode_operands& o) { return ops.run(decode_signs{o}); },
            false};
}

codec_operations top(std::size_t of) {
    return {"top 1 of " + std::to_string(of),
            [=](operations&, const tensor& g) {
                return sparse_element_bytes * ((g.elements() + of - 1) / of);
            },
            [](operations& ops, const tensor& g, tensor& p) {
                return ops.run(encode_top{g, p});
            },
            [](operations& ops, const decode_operands& o) { return ops.run(decode_sparse{o}); }};
}

std::size_t count_of(operations& ops, const tensor& g, float magnitude) {
    std::size_t count = 0;
    TROUPE_CHECK(ops.run(count_at_least{g, magnitude, count}).ok(), "there is a tensor");
    return count;
}

codec_operations at_least(float magnitude) {
    return {"at least",
            [=](operations& ops, const tensor& g) {
                return sparse_element_bytes * count_of(ops, g, magnitude);
            },
            [=](operations& ops, const tensor& g, tensor& p) {
                return ops.run(encode_at_least{g, magnitude, p});
            },
            [](operations& ops, const decode_operands& o) { return ops.run(decode_sparse{o}); }};
}

codec_operations threshold(float size) {
    return {"threshold",
            [=](operations& ops, const tensor& g) {
                return threshold_element_bytes * count_of(ops, g, just_above(size));
            },
            [=](operations& ops, const tensor& g, tensor& p) {
                return ops.run(encode_threshold{size, g, p});
            },
            [=](operations& ops, const decode_operands& o) {
                return ops.run(decode_threshold{size, o});
            }};
}

// Sums, products and magnitudes that codecs are made of.
struct codec_parts_case final : operation_case {
    std::size_t rows, columns, rank;

    codec_parts_case(std::size_t rows, std::size_t columns, std::size_t rank)
        : rows{rows}, columns{columns}, rank{rank} {}

    std::string name() const override {
        return "low rank " + by({rows, columns}) + " by " + std::to_string(rank);
    }
    std::vector<tensor_shape> input_shapes() const override {
        return {{rows, columns}, {rows, columns}, {rank, columns}};
    }
    tensor_shape output_shape() const override { return {rows, columns}; }
    double forward_flops() const override {
        return 6 * count({rows, columns}) * static_cast<double>(rank);
    }
    double backward_flops() const override { return 0; }
    double forward_bytes() const override { return 4 * count({rows, columns}); }
    float tolerance() const override { return 1e-4f; } // rows that are normed

    struct state {
        tensor left, right, whole, u, v, masked, numbers;
    };
    prepared_case prepare(compute_context& context, const std::vector<tensor>& inputs,
                          const tensor&) const override {
        auto s = std::make_shared<state>(
            state{poisoned(context, {rank, rows}), poisoned(context, {rank, columns}),
                  poisoned(context, {rows, columns}), poisoned(context, {rows, columns}),
                  poisoned(context, {rows, columns}), poisoned(context, {rows, columns}),
                  poisoned(context, {3})});
        auto& ops = context.ops;
        return {[=, &ops] { return factor(ops, inputs, *s); }, nullptr,
                [=, &context] {
                    rest(context, inputs, *s);
                    return std::vector{s->left, s->right,  s->whole,  s->u,
                                       s->v,    s->masked, s->numbers};
                },
                nullptr};
    }

    static result<void> factor(operations& ops, const std::vector<tensor>& in, state& s) {
        for (const auto& done :
             {ops.run(matrix_multiply{{in[2]}, {in[0], true}, 0.5f, nullptr, s.left}),
              ops.run(orthonormalize_rows{s.left, s.left}),
              ops.run(matrix_multiply{{s.left}, {in[0]}, 1, nullptr, s.right}),
              ops.run(matrix_multiply{{s.left, true}, {s.right}, -0.5f, &in[0], s.whole})})
            if (!done)
                return done;
        return {};
    }
    static void rest(compute_context& context, const std::vector<tensor>& in, state& s) {
        auto& ops = context.ops;
        tensor payload = bytes_of(context, sparse_element_bytes * ((in[0].elements() + 2) / 3));
        std::size_t many = 0;
        const auto numbers = s.numbers.mutable_values<float>();
        std::ranges::copy(in[1].values<float>(), s.masked.mutable_values<float>().begin());
        for (const auto& done :
             {ops.run(momentum_correction{0.9f, 0.5f, in[0], in[1], in[1], s.u, s.v}),
              ops.run(encode_top{in[0], payload}), ops.run(clear_at{payload, s.masked}),
              ops.run(nth_magnitude{in[0], 0, 1, (in[0].elements() + 2) / 3, numbers[0]}),
              ops.run(nth_magnitude{in[0], in[0].elements() / 2, 3, 1, numbers[1]}),
              ops.run(count_at_least{in[0], 0.25f, many})})
            TROUPE_CHECK(done.ok(), "the operands fit");
        numbers[2] = static_cast<float>(many);
    }
};

std::vector<codec_operations> all_codecs() {
    return {half(half_format::bf16),
            half(half_format::f16),
            quantized("int8", {.levels = 127, .bucket = 512}),
            quantized("int8 nearest", {.levels = 127, .bucket = 512, .nearest = true}),
            quantized("int4 nearest", {.levels = 7, .bucket = 512, .nearest = true}),
            quantized("TernGrad", {.levels = 1, .clip = 2.5f}),
            quantized("QSGD", {.levels = 15, .bucket = 512, .norm = bucket_norm::euclidean}),
            signs(),
            top(100),
            at_least(0.99f),
            threshold(0.99f)};
}

void add_both(cases& to, const codec_operations& codec, const tensor_shape& shape) {
    add<encode_case>(to, codec, shape);
    add<decode_case>(to, codec, shape);
}

} // namespace

void add_codecs_cases(cases& to) {
    for (const tensor_shape& shape : {tensor_shape{1}, tensor_shape{7}, tensor_shape{2100},
                                      tensor_shape{5, 37}, tensor_shape{3, 2, 16, 19}}) {
        for (const codec_operations& codec : all_codecs())
            add_both(to, codec, shape);
        for (const std::uint32_t levels : {2u, 3u, 7u, 15u, 60u})
            add_both(to,
                     quantized(std::to_string(levels) + " levels",
                               {.levels = levels, .bucket = 13, .norm = bucket_norm::euclidean}),
                     shape);
        for (const std::size_t of : {1, 2, 10})
            add_both(to, top(of), shape);
        add_both(to, at_least(0.4f), shape);
        add_both(to, threshold(0.4f), shape);
    }
    add<codec_parts_case>(to, 1, 1, 1);
    add<codec_parts_case>(to, 5, 7, 3);
    add<codec_parts_case>(to, 40, 133, 4);
    add<codec_parts_case>(to, 133, 40, 2);
    add<codec_parts_case>(to, 1300, 5, 3);
    add<codec_parts_case>(to, 512, 40, 32); // rows of the left factor 2 KB apart
}

void add_timed_codecs_cases(cases& to, std::size_t) {
    for (const codec_operations& codec : all_codecs())
        add_both(to, codec, {128, 3136});
    add<codec_parts_case>(to, 128, 3136, 2);
    add<codec_parts_case>(to, 128, 3136, 4);
}

} // namespace troupe::test
