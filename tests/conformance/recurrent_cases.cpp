#include <algorithm>

#include "tests/conformance/case_tools.hpp"

namespace troupe::test {

namespace {

struct recurrent_row {
    std::size_t samples, positions, features, width;
    bool initial; // states are given
    bool last;    // the output is the state behind the last position alone
    precision products = precision::float32;
};

// What both kinds share.
struct recurrent_case : operation_case {
    recurrent_row row;
    std::size_t gates;

    recurrent_case(const recurrent_row& row, std::size_t gates) : row{row}, gates{gates} {}

    std::string sizes() const {
        return by({row.samples, row.positions, row.features}) + " to " + std::to_string(row.width) +
               (row.initial ? ", initial state" : "") + (row.last ? ", last state" : "") +
               suffix_of(row.products);
    }
    std::vector<tensor_shape> input_shapes() const override {
        std::vector<tensor_shape> shapes{{row.samples, row.positions, row.features},
                                         {gates * row.width, row.features},
                                         {gates * row.width, row.width},
                                         {gates * row.width},
                                         {gates * row.width}};
        if (row.initial) // the state; lstm's cell, too
            shapes.insert(shapes.end(), gates - 2, {row.samples, row.width});
        return shapes;
    }
    tensor_shape states_shape() const { return {row.samples, row.positions, row.width}; }
    // The last state, and behind it lstm's cell.
    tensor_shape output_shape() const override {
        return row.last ? tensor_shape{gates - 2, row.samples, row.width} : states_shape();
    }
    double forward_flops() const override {
        return 2.0 * count(states_shape()) *
               static_cast<double>(gates * (row.features + row.width));
    }
    bool is_rounded() const override { return rounds(row.products); }
    float tolerance() const override { return tolerance_of_steps(row.products); }

    struct state {
        std::vector<tensor> in;
        tensor output, cells, gates;
        std::vector<tensor> to;                  // gradients, one per input
        std::vector<tensor> last, last_gradient; // the parts of the output, if it is the last state

        recurrent_parameters parameters() const { return {in[1], in[2], in[3], in[4]}; }
        recurrent_gradients gradients() {
            return {&to[0], to[1], to[2], to[3], to[4], to.size() > 5 ? &to[5] : nullptr};
        }
        static tensor* find(std::vector<tensor>& list, std::size_t index) {
            return list.size() > index ? &list[index] : nullptr;
        }
    };
    // The parts share the elements.
    std::vector<tensor> parts(const tensor& output) const {
        std::vector<tensor> parts;
        for (std::size_t i = 0; i < gates - 2 && row.last; ++i)
            parts.push_back(output.rows(i, 1).reshaped({row.samples, row.width}));
        return parts;
    }
    std::shared_ptr<state> made(compute_context& context, const std::vector<tensor>& inputs,
                                const tensor& output, const tensor& output_gradient) const {
        auto s = std::make_shared<state>();
        *s = {inputs,
              row.last ? poisoned(context, states_shape()) : output,
              poisoned(context, states_shape()),
              poisoned(context, {row.samples, row.positions, 4 * row.width}),
              {},
              parts(output),
              parts(output_gradient)};
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
        const tensor output = poisoned(context, output_shape());
        auto s = made(context, inputs, output, output_gradient);
        auto& ops = context.ops;
        return {[=, this, &ops] {
                    return ops.run(gru_forward{.input = s->in[0],
                                               .parameters = s->parameters(),
                                               .initial_state = state::find(s->in, 5),
                                               .output = s->output,
                                               .gates = s->gates,
                                               .final_state = state::find(s->last, 0),
                                               .products = row.products});
                },
                [=, this, &ops] {
                    return ops.run(
                        gru_backward{.input = s->in[0],
                                     .parameters = s->parameters(),
                                     .initial_state = state::find(s->in, 5),
                                     .output = s->output,
                                     .gates = s->gates,
                                     .output_gradient = row.last ? nullptr : &output_gradient,
                                     .gradients = s->gradients(),
                                     .final_state_gradient = state::find(s->last_gradient, 0),
                                     .products = row.products});
                },
                [=] {
                    return std::vector{output, s->output, s->gates};
                },
                [=] { return s->to; }};
    }
};

struct lstm_case final : recurrent_case {
    explicit lstm_case(const recurrent_row& row) : recurrent_case{row, 4} {}

    std::string name() const override { return "lstm " + sizes(); }

    prepared_case prepare(compute_context& context, const std::vector<tensor>& inputs,
                          const tensor& output_gradient) const override {
        const tensor output = poisoned(context, output_shape());
        auto s = made(context, inputs, output, output_gradient);
        auto& ops = context.ops;
        return {[=, this, &ops] {
                    return ops.run(lstm_forward{.input = s->in[0],
                                                .parameters = s->parameters(),
                                                .initial_state = state::find(s->in, 5),
                                                .initial_cell = state::find(s->in, 6),
                                                .output = s->output,
                                                .cells = s->cells,
                                                .gates = s->gates,
                                                .final_state = state::find(s->last, 0),
                                                .final_cell = state::find(s->last, 1),
                                                .products = row.products});
                },
                [=, this, &ops] {
                    return ops.run(
                        lstm_backward{.input = s->in[0],
                                      .parameters = s->parameters(),
                                      .initial_state = state::find(s->in, 5),
                                      .initial_cell = state::find(s->in, 6),
                                      .output = s->output,
                                      .cells = s->cells,
                                      .gates = s->gates,
                                      .output_gradient = row.last ? nullptr : &output_gradient,
                                      .gradients = s->gradients(),
                                      .initial_cell_gradient = state::find(s->to, 6),
                                      .final_state_gradient = state::find(s->last_gradient, 0),
                                      .final_cell_gradient = state::find(s->last_gradient, 1),
                                      .products = row.products});
                },
                [=] {
                    return std::vector{output, s->output, s->cells, s->gates};
                },
                [=] { return s->to; }};
    }
};

} // namespace

void add_recurrent_cases(cases& to) {
    for (const recurrent_row& row :
         std::initializer_list<recurrent_row>{{1, 1, 1, 1, false, false},
                                              {3, 4, 5, 7, true, false},
                                              {2, 6, 3, 17, false, false},
                                              {5, 3, 33, 20, true, false},
                                              {3, 5, 4, 9, true, true},
                                              {33, 2, 2, 9, true, false},    // more than a block
                                              {200, 2, 3, 128, true, false}, // gates 2 KB apart
                                              {20, 2, 3, 128, false, false, precision::float16},
                                              {2, 6, 3, 17, false, false, precision::bfloat16},
                                              {5, 3, 33, 20, true, false, precision::bfloat16},
                                              {3, 5, 4, 9, true, true, precision::bfloat16},
                                              {2, 6, 3, 17, false, false, precision::float16},
                                              {5, 3, 33, 20, true, false, precision::float16}}) {
        add<gru_case>(to, row);
        add<lstm_case>(to, row);
    }
}

void add_timed_recurrent_cases(cases& to, std::size_t batch) {
    for (const precision products : {precision::float32, precision::bfloat16}) {
        const recurrent_row row{batch, 32, 256, 256, false, false, products};
        add<gru_case>(to, row);
        add<lstm_case>(to, row);
    }
}

} // namespace troupe::test
