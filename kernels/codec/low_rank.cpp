#include <algorithm>

#include "kernels/codec/codecs.hpp"
#include "kernels/codec/payloads.hpp"
#include "schemas/base/random.hpp"

namespace troupe {

namespace {

// A tensor as a matrix, and the rank of its factors; rank 0: it is not compressed.
struct matrix_form {
    std::size_t rows = 0, columns = 0, rank = 0;

    tensor_shape shape() const { return {rows, columns}; }
    tensor_shape left() const { return {rank, rows}; }
    tensor_shape right() const { return {rank, columns}; }
    std::size_t payload_elements() const { return rank * (rows + columns); }
};

constexpr float trace_of_first = 1e-12f;

class low_rank_codec final : public codec, public low_rank_factors {
  public:
    explicit low_rank_codec(std::uint32_t rank) : rank_{rank} {}

    std::string_view name() const noexcept override { return "power_sgd"; }

    result<std::vector<tensor>> first_state(memory_pool& memory, const tensor_shape& shape,
                                            const encode_place& at) const override {
        const matrix_form form = form_of(shape);
        if (form.rank == 0)
            return std::vector<tensor>{};
        auto lost = new_zeros(memory, form.shape());
        auto right = new_zeros(memory, form.right());
        auto first = new_zeros(memory, form.right());
        for (const auto* made : {&lost, &right, &first})
            if (!*made)
                return made->failure();
        random_stream random{at.seed, at.tensor};
        for (float& x : first->mutable_values<float>())
            x = static_cast<float>(random.normal());
        std::ranges::copy(first->values<float>(), right->mutable_values<float>().begin());
        return std::vector<tensor>{std::move(*lost), std::move(*right), std::move(*first)};
    }

    // All steps, with one sender alone.
    result<tensor> encode(compute_context& context, const tensor& gradient, std::span<tensor> state,
                          const encode_place&) const override {
        const matrix_form form = form_of(gradient.shape());
        if (form.rank == 0)
            return gradient;
        auto payload =
            tensor::allocate(context.memory, data_type::float32, {form.payload_elements()});
        if (!payload)
            return payload;
        auto [left, right] = factors(*payload, form);
        auto done = project(context, gradient, state, left);
        if (done)
            done = context.ops.run(orthonormalize_rows{left, left});
        if (done)
            done = split_off(context, left, state, right);
        if (done)
            done = begin_from(context, right, state);
        return done ? std::move(payload) : result<tensor>{done.failure()};
    }

    const low_rank_factors* low_rank() const override { return this; }

    std::optional<factor_shapes> shapes_of(const tensor_shape& shape) const override {
        const matrix_form form = form_of(shape);
        return form.rank == 0 ? std::nullopt
                              : std::optional{factor_shapes{form.left(), form.right()}};
    }
    result<tensor> left(compute_context& context, const tensor& gradient,
                        std::span<tensor> state) const override {
        return made(context, form_of(gradient.shape()).left(),
                    [&](tensor& left) { return project(context, gradient, state, left); });
    }
    result<tensor> basis(compute_context& context, const tensor& left_sum) const override {
        return made(context, left_sum.shape(), [&](tensor& basis) {
            return context.ops.run(orthonormalize_rows{left_sum, basis});
        });
    }
    result<tensor> right(compute_context& context, const tensor& basis,
                         std::span<tensor> state) const override {
        return made(context, state[1].shape(),
                    [&](tensor& right) { return split_off(context, basis, state, right); });
    }
    result<void> product(compute_context& context, const tensor& basis, const tensor& right_sum,
                         std::span<tensor> state, tensor& output) const override {
        if (auto begun = begin_from(context, right_sum, state); !begun)
            return begun;
        tensor whole = output.reshaped(form_of(output.shape()).shape());
        return context.ops.run(matrix_multiply{{basis, true}, {right_sum}, 1, nullptr, whole});
    }

    std::uint64_t payload_bytes(const tensor_shape& shape) const override {
        const matrix_form form = form_of(shape);
        return sizeof(float) * (form.rank == 0 ? shape.elements() : form.payload_elements());
    }

    result<void> check(const tensor_shape& shape, const tensor& payload) const override {
        const matrix_form form = form_of(shape);
        const tensor_shape wanted = form.rank == 0 ? shape : tensor_shape{form.payload_elements()};
        return payload && payload.type() == data_type::float32 && payload.shape() == wanted
                   ? result<void>{}
                   : wrong_payload(shape, payload);
    }

    result<void> decode(compute_context& context, const tensor& payload, float factor,
                        const tensor* addend, tensor& output) const override {
        const matrix_form form = form_of(output.shape());
        if (form.rank == 0)
            return addend != nullptr ? context.ops.run(add_scaled{*addend, factor, payload, output})
                                     : context.ops.run(scale{payload, factor, output});
        const auto [left, right] = factors(payload, form);
        const tensor matrix = addend != nullptr ? addend->reshaped(form.shape()) : tensor{};
        tensor whole = output.reshaped(form.shape());
        return context.ops.run(matrix_multiply{
            {left, true}, {right}, factor, addend != nullptr ? &matrix : nullptr, whole});
    }

  private:
    template <class Fill>
    static result<tensor> made(compute_context& context, const tensor_shape& shape, Fill fill) {
        auto t = tensor::allocate(context.memory, data_type::float32, shape);
        if (t)
            if (auto done = fill(*t); !done)
                return done.failure();
        return t;
    }

    // e += gradient; left = Q e'.
    static result<void> project(compute_context& context, const tensor& gradient,
                                std::span<tensor> state, tensor& left) {
        tensor& e = state[0];
        const auto done = context.ops.run(add_scaled{gradient.reshaped(e.shape()), 1, e, e});
        return done ? context.ops.run(matrix_multiply{{state[1]}, {e, true}, 1, nullptr, left})
                    : done;
    }
    // right = basis e; e -= basis' right.
    static result<void> split_off(compute_context& context, const tensor& basis,
                                  std::span<tensor> state, tensor& right) {
        tensor& e = state[0];
        const auto done = context.ops.run(matrix_multiply{{basis}, {e}, 1, nullptr, right});
        return done ? context.ops.run(matrix_multiply{{basis, true}, {right}, -1, &e, e}) : done;
    }
    static result<void> begin_from(compute_context& context, const tensor& right,
                                   std::span<tensor> state) {
        return context.ops.run(add_scaled{right, trace_of_first, state[2], state[1]});
    }

    matrix_form form_of(const tensor_shape& shape) const {
        if (shape.rank() < 2 || shape.elements() == 0)
            return {};
        matrix_form form{shape[0], shape.elements() / shape[0], 0};
        const std::size_t rank = std::min({std::size_t{rank_}, form.rows, form.columns});
        form.rank = rank * (form.rows + form.columns) < shape.elements() ? rank : 0;
        return form;
    }

    struct pair {
        tensor left, right;
    };
    static pair factors(const tensor& payload, const matrix_form& form) {
        const std::size_t cut = form.rank * form.rows;
        return {payload.rows(0, cut).reshaped(form.left()),
                payload.rows(cut, form.rank * form.columns).reshaped(form.right())};
    }

    std::uint32_t rank_;
};

} // namespace

codec_ptr make_low_rank_codec(std::uint32_t rank) {
    return std::make_shared<low_rank_codec>(rank);
}

} // namespace troupe
