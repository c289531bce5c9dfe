// Layers that bring several values together, and flatten.
#include <algorithm>

#include "kernels/layers/kinds.hpp"

namespace troupe {

namespace {

class add_layer final : public layer {
  public:
    explicit add_layer(const value_form& output) : output_{output} {}

    std::string_view kind() const noexcept override { return "residual"; }
    value_form output() const noexcept override { return output_; }
    double forward_flops() const noexcept override {
        return static_cast<double>(output_.shape.elements());
    }
    double backward_flops(bool) const noexcept override { return 0; }
    kept_values kept() const noexcept override { return {}; }

    result<activation> forward(compute_context& context, forward_pass pass,
                               saved_layer&) const override {
        activation sum = std::move(pass.inputs[0]);
        auto shortcut = in_block(context, std::move(pass.inputs[1]), sum.block);
        if (!shortcut)
            return shortcut;
        auto target = writable(context, sum.values);
        if (!target)
            return target.failure();
        if (auto done = context.ops.run(add_scaled{sum.values, 1, shortcut->values, *target});
            !done)
            return done.failure();
        return activation{std::move(*target), sum.block};
    }

    result<gradients> backward(compute_context&, backward_pass pass) const override {
        return gradients{{pass.output_gradient, pass.output_gradient}, {}, {}};
    }

  private:
    value_form output_;
};

class concat_layer final : public layer {
  public:
    concat_layer(std::vector<std::size_t> sizes, const value_form& output)
        : sizes_{std::move(sizes)}, output_{output} {}

    std::string_view kind() const noexcept override { return "concat"; }
    value_form output() const noexcept override { return output_; }
    double forward_flops() const noexcept override { return 0; }
    double backward_flops(bool) const noexcept override { return 0; }
    kept_values kept() const noexcept override { return {}; }

    result<activation> forward(compute_context& context, forward_pass pass,
                               saved_layer& saved) const override {
        // A block of channels is contiguous within a sample, so that inputs of one block can stay in it.
        std::size_t block = pass.inputs[0].block;
        for (const activation& input : pass.inputs)
            block = input.block == block ? block : 1;
        const std::size_t samples = pass.inputs[0].values.shape()[0];
        auto output =
            tensor::allocate(context.memory, output_.type, batch_of(samples, output_.shape));
        if (!output)
            return output.failure();
        std::vector<tensor> parts;
        for (activation& input : pass.inputs) {
            auto part = in_block(context, std::move(input), block);
            if (!part)
                return part;
            parts.push_back(std::move(part->values));
        }
        if (auto done = context.ops.run(concat{1, block, parts, *output}); !done)
            return done.failure();
        saved.block = block;
        return activation{std::move(*output), block};
    }

    result<gradients> backward(compute_context& context, backward_pass pass) const override {
        auto whole = in_block(context, std::move(pass.output_gradient), pass.saved.block);
        if (!whole)
            return whole.failure();
        const tensor_shape& shape = whole->values.shape();
        std::vector<tensor> parts(sizes_.size());
        for (std::size_t i = 0; i < parts.size(); ++i) {
            auto part =
                tensor::allocate(context.memory, data_type::float32,
                                 batch_of(shape[0], shape.without_first().with_first(sizes_[i])));
            if (!part)
                return part.failure();
            parts[i] = std::move(*part);
        }
        if (auto done = context.ops.run(split{1, pass.saved.block, whole->values, parts}); !done)
            return done.failure();
        gradients made;
        for (tensor& part : parts)
            made.inputs.push_back({std::move(part), pass.saved.block});
        return made;
    }

  private:
    std::vector<std::size_t> sizes_; // of the inputs along the first dimension of a sample
    value_form output_;
};

class flatten_layer final : public layer {
  public:
    explicit flatten_layer(const value_form& input)
        : input_{input}, output_{input.type, {input.shape.elements()}, input.values} {}

    std::string_view kind() const noexcept override { return "flatten"; }
    value_form output() const noexcept override { return output_; }
    double forward_flops() const noexcept override { return 0; }
    double backward_flops(bool) const noexcept override { return 0; }
    kept_values kept() const noexcept override { return {}; }
    bool reshapes() const noexcept override { return true; }

    result<activation> forward(compute_context& context, forward_pass pass,
                               saved_layer&) const override {
        return reshaped(context, std::move(pass.inputs[0]), output_.shape);
    }
    result<gradients> backward(compute_context& context, backward_pass pass) const override {
        auto passed = reshaped(context, std::move(pass.output_gradient), input_.shape);
        if (!passed)
            return passed.failure();
        return gradients{{std::move(*passed)}, {}, {}};
    }

  private:
    static result<activation> reshaped(compute_context& context, activation from,
                                       const tensor_shape& sample) {
        auto plain = in_block(context, std::move(from), 1);
        if (!plain)
            return plain;
        return activation{plain->values.reshaped(batch_of(plain->values.shape()[0], sample)), 1};
    }

    value_form input_;
    value_form output_;
};

} // namespace

result<std::shared_ptr<const layer>> make_add(const value_form& body, const value_form& shortcut) {
    if (body.shape != shortcut.shape)
        return error{errc::usage,
                     "the block gives " + to_string(body.shape) + ", but what is added to it is " +
                         to_string(shortcut.shape) +
                         "; give the block a shortcut with layers that make them equal"};
    if (body.type != data_type::float32 || shortcut.type != data_type::float32)
        return error{errc::usage, "adds numbers, but gets tokens"};
    return std::shared_ptr<const layer>{std::make_shared<add_layer>(body)};
}

result<std::shared_ptr<const layer>> make_concat(std::span<const value_form> inputs) {
    if (inputs.empty())
        return error{errc::usage, "has no branches"};
    const tensor_shape& like = inputs.front().shape;
    std::vector<std::size_t> sizes;
    std::size_t sum = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const tensor_shape& shape = inputs[i].shape;
        if (shape.rank() != like.rank() || shape.without_first() != like.without_first() ||
            inputs[i].type != inputs[0].type)
            return error{errc::usage, "branch " + std::to_string(i) + " gives " + to_string(shape) +
                                          ", branch 0 " + to_string(like) +
                                          "; only their first dimensions may differ"};
        sizes.push_back(shape[0]);
        sum += shape[0];
    }
    return std::shared_ptr<const layer>{std::make_shared<concat_layer>(
        std::move(sizes), value_form{inputs[0].type, like.with_first(sum), inputs[0].values})};
}

result<std::shared_ptr<const layer>> make_flatten(const value_form& input) {
    return std::shared_ptr<const layer>{std::make_shared<flatten_layer>(input)};
}

} // namespace troupe
