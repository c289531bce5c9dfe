#include <algorithm>

#include "tests/conformance/case_tools.hpp"

namespace troupe::test {

namespace {

struct recurrent_row {
    std::size_t samples, positions, features, width;
    bool initial; // states are given
};

// What both kinds share.
struct recurrent_case : operation_case {
    recurrent_row row;
    std::size_t gates;

    recurrent_case(const recurrent_row& row, std::size_t gates) : row{row}, gates{gates} {}

    std::string sizes() const {
        return by({row.samples, row.positions, row.features}) + " to " + std::to_string(row.width) +
               (row.initial ? ", initial state" : "");
    }
    std::vector<tensor_shape> input_shapes() const override {
        std::vector<tensor_shape> shapes{{row.samples, row.positions, row.features},
                                         {gates * row.width, row.features},
                                         {gates * row.width, row.width},
                                         {gates * row.width},
                                         {gates * row.width}};
        if (row.initial) // the state; lstm's cell, too
            shapes.insert(shapes.end(), gates == 4 ? 2 : 1, {row.samples, row.width});
        return shapes;
    }
    tensor_shape output_shape() const override { return {row.samples, row.positions, row.width}; }
    tensor_shape kept_shape() const { return {row.samples, row.positions, 4 * row.width}; }
    double forward_flops() const override {
        return 2.0 * count(output_shape()) *
               static_cast<double>(gates * (row.features + row.width));
    }

    struct state {
        std::vector<tensor> in;
        tensor output, cells, gates;
        std::vector<tensor> to; // gradients, one per input

        recurrent_parameters parameters() const { return {in[1], in[2], in[3], in[4]}; }
        recurrent_gradients gradients() {
            return {&to[0], to[1], to[2], to[3], to[4], to.size() > 5 ? &to[5] : nullptr};
        }
        const tensor* initial_state() const { return in.size() > 5 ? &in[5] : nullptr; }
        const tensor* initial_cell() const { return in.size() > 6 ? &in[6] : nullptr; }
    };
    std::shared_ptr<state> made(compute_context& context, const std::vector<tensor>& inputs) const {
        auto s = std::make_shared<state>();
        *s = {inputs,
              poisoned(context, output_shape()),
              poisoned(context, output_shape()),
              poisoned(context, kept_shape()),
              {}};
        for (const auto& shape : input_shapes())
            s->to.push_back(poisoned(context, shape));
        return s;
    }
};

struct gru_case final : recurrent_case {
    explicit gru_case(const recurrent_row& row) : recurrent_case{row, 3} {}

    std::string name() const override { return "gru " + sizes(); }

    prepared_case prepare(compute_context& context, const std::vector<tensor>& inputs,
                          const tensor& output_gradient) const override {
        auto s = made(context, inputs);
        auto& ops = context.ops;
        return {[=, &ops] {
                    return ops.run(gru_forward{.input = s->in[0],
                                               .parameters = s->parameters(),
                                               .initial_state = s->initial_state(),
                                               .output = s->output,
                                               .gates = s->gates});
                },
                [=, &ops] {
                    return ops.run(gru_backward{.input = s->in[0],
                                                .parameters = s->parameters(),
                                                .initial_state = s->initial_state(),
                                                .output = s->output,
                                                .gates = s->gates,
                                                .output_gradient = output_gradient,
                                                .gradients = s->gradients()});
                },
                [=] {
                    return std::vector{s->output, s->gates};
                },
                [=] { return s->to; }};
    }
};

struct lstm_case final : recurrent_case {
    explicit lstm_case(const recurrent_row& row) : recurrent_case{row, 4} {}

    std::string name() const override { return "lstm " + sizes(); }

    prepared_case prepare(compute_context& context, const std::vector<tensor>& inputs,
                          const tensor& output_gradient) const override {
        auto s = made(context, inputs);
        auto& ops = context.ops;
        return {[=, &ops] {
                    return ops.run(lstm_forward{.input = s->in[0],
                                                .parameters = s->parameters(),
                                                .initial_state = s->initial_state(),
                                                .initial_cell = s->initial_cell(),
                                                .output = s->output,
                                                .cells = s->cells,
                                                .gates = s->gates});
                },
                [=, &ops] {
                    return ops.run(lstm_backward{.input = s->in[0],
                                                 .parameters = s->parameters(),
                                                 .initial_state = s->initial_state(),
                                                 .initial_cell = s->initial_cell(),
                                                 .output = s->output,
                                                 .cells = s->cells,
                                                 .gates = s->gates,
                                                 .output_gradient = output_gradient,
                                                 .gradients = s->gradients(),
                                                 .initial_cell_gradient =
                                                     s->to.size() > 6 ? &s->to[6] : nullptr});
                },
                [=] {
                    return std::vector{s->output, s->cells, s->gates};
                },
                [=] { return s->to; }};
    }
};

} // namespace

void add_recurrent_cases(cases& to) {
    for (const recurrent_row& row : std::initializer_list<recurrent_row>{
             {1, 1, 1, 1, false}, {3, 4, 5, 7, true}, {2, 6, 3, 17, false}, {5, 3, 33, 20, true}}) {
        add<gru_case>(to, row);
        add<lstm_case>(to, row);
    }
}

void add_timed_recurrent_cases(cases& to, std::size_t batch) {
    const recurrent_row row{batch, 32, 256, 256, false};
    add<gru_case>(to, row);
    add<lstm_case>(to, row);
}

} // namespace troupe::test
