#include "kernels/layers/kinds.hpp"

namespace troupe {

namespace {

// One of the two parts of a row of tokens.
class slice_layer final : public layer {
  public:
    // The first `first` tokens, or the others.
    slice_layer(const value_form& row, std::size_t first, bool others)
        : sizes_{first, row.shape[0] - first}, taken_{others}, output_{row} {
        output_.shape = {sizes_[taken_]};
    }

    std::string_view kind() const noexcept override { return "slice"; }
    value_form output() const noexcept override { return output_; }
    double forward_flops() const noexcept override { return 0; }
    double backward_flops(bool) const noexcept override { return 0; }
    kept_values kept() const noexcept override { return {}; }

    result<activation> forward(compute_context& context, forward_pass pass,
                               saved_layer&) const override {
        const tensor& row = pass.inputs[0].values;
        std::array<tensor, 2> parts;
        for (std::size_t i = 0; i < parts.size(); ++i) {
            auto part = tensor::allocate(context.memory, row.type(), {row.shape()[0], sizes_[i]});
            if (!part)
                return part.failure();
            parts[i] = std::move(*part);
        }
        if (auto done = context.ops.run(split{.axis = 1, .input = row, .outputs = parts}); !done)
            return done.failure();
        return activation{std::move(parts[taken_])};
    }

    result<gradients> backward(compute_context&, backward_pass) const override {
        TROUPE_CHECK(false, "tokens are not trained");
    }

  private:
    std::array<std::size_t, 2> sizes_;
    std::size_t taken_;
    value_form output_;
};

result<std::shared_ptr<const layer>> make_slice(const value_form& row, std::size_t source_length,
                                                bool target) {
    if (row.type != data_type::int32)
        return error{errc::usage, "needs tokens, but gets numbers; put it first, and begin its "
                                  "encoder with embedding"};
    if (row.shape.rank() != 1)
        return error{errc::usage,
                     "takes a row of tokens, but gets them as " + to_string(row.shape)};
    if (source_length == 0 || source_length >= row.shape[0])
        return error{errc::usage, "source_length " + std::to_string(source_length) +
                                      " leaves nothing for the target of an input of " +
                                      to_string(row.shape) +
                                      ", which is [source_length + length of the target]"};
    return std::shared_ptr<const layer>{std::make_shared<slice_layer>(row, source_length, target)};
}

} // namespace

result<std::shared_ptr<const layer>> make_source(const value_form& row, std::size_t source_length) {
    return make_slice(row, source_length, false);
}

result<std::shared_ptr<const layer>> make_target(const value_form& row, std::size_t source_length) {
    return make_slice(row, source_length, true);
}

} // namespace troupe
