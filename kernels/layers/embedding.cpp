#include "kernels/layers/kinds.hpp"

namespace troupe {

namespace {

class embedding_layer final : public layer {
  public:
    embedding_layer(const tensor_shape& tokens, proto::Embedding::Reader description)
        : tokens_{tokens}, vocabulary_{description.getVocabulary()}, width_{description.getWidth()},
          deviation_{description.getDeviation()} {}

    std::string_view kind() const noexcept override { return "embedding"; }
    value_form output() const noexcept override {
        std::vector<std::size_t> dimensions{tokens_.dimensions().begin(),
                                            tokens_.dimensions().end()};
        dimensions.push_back(width_);
        return numbers(tensor_shape{std::span<const std::size_t>{dimensions}});
    }
    double forward_flops() const noexcept override {
        return static_cast<double>(tokens_.elements() * width_);
    }
    double backward_flops(bool) const noexcept override { return forward_flops(); }
    kept_values kept() const noexcept override { return {.inputs = 1}; }
    std::vector<parameter_info> parameters() const override {
        return {
            {.name = "weight", .shape = {vocabulary_, width_}, .initial_deviation = deviation_}};
    }

    result<activation> forward(compute_context& context, forward_pass pass,
                               saved_layer& saved) const override {
        const tensor& tokens = pass.inputs[0].values;
        auto made = tensor::allocate(context.memory, data_type::float32,
                                     batch_of(tokens.shape()[0], output().shape));
        if (!made)
            return made.failure();
        auto done = context.ops.run(embedding_forward{tokens, pass.parameters[0], *made});
        if (!done)
            return done.failure();
        saved.tensors = {tokens};
        return activation{std::move(*made), 1};
    }

    result<gradients> backward(compute_context& context, backward_pass pass) const override {
        auto to_table = tensor::allocate(context.memory, data_type::float32, {vocabulary_, width_});
        if (!to_table)
            return to_table.failure();
        auto done = context.ops.run(
            embedding_backward{pass.saved.tensors[0], pass.output_gradient.values, *to_table});
        if (!done)
            return done.failure();
        gradients made;
        made.inputs.resize(1);
        made.parameters = {std::move(*to_table)};
        return made;
    }

  private:
    tensor_shape tokens_;
    std::size_t vocabulary_;
    std::size_t width_;
    double deviation_;
};

} // namespace

result<std::shared_ptr<const layer>> make_embedding(proto::Embedding::Reader description,
                                                    const value_form& input) {
    if (input.type != data_type::int32)
        return error{errc::usage, "needs tokens, but gets numbers; put it first"};
    if (description.getVocabulary() == 0 || description.getWidth() == 0)
        return error{errc::usage, "vocabulary and width must be at least 1"};
    if (input.values > description.getVocabulary())
        return error{errc::usage, "has a vocabulary of " +
                                      std::to_string(description.getVocabulary()) +
                                      ", but its tokens are of " + std::to_string(input.values)};
    if (input.shape.rank() + 2 > limits::tensor_rank_max)
        return error{errc::usage, "gets tokens of too many dimensions: " + to_string(input.shape)};
    return std::shared_ptr<const layer>{
        std::make_shared<embedding_layer>(input.shape, description)};
}

} // namespace troupe
