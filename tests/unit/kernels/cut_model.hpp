// Models cut into stages, trained without actors.
#pragma once

#include <boost/test/unit_test.hpp>

#include <cmath>

#include "kernels/optim/optimizer.hpp"
#include "tests/unit/kernels/models.hpp"

namespace troupe::test {

// Skip connections over blocks in blocks, branches of images in blocks of channels and not, values that several layers
// read, layers that are computed again.
inline model_builder blocks() {
    model_builder down = model_builder{}.conv2d(32, 3, 2, 1).relu().conv2d(32, 3, 1, 1);
    model_builder model{16, 8, 8};
    model.residual(model_builder{}.conv2d(16, 3, 1, 1).relu().residual(model_builder{}.tanh()))
        .residual(down, model_builder{}.conv2d(32, 1, 2, 0))
        .concat({model_builder{}.conv2d(16, 1, 1, 0), model_builder{}.max_pool(1).relu(), {}})
        .concat({model_builder{}.conv2d(6, 1, 1, 0), {}})
        .recompute(model_builder{}.conv2d(8, 3, 1, 1).tanh().max_pool(2))
        .flatten()
        .repeat(2, model_builder{}.linear(10));
    return model;
}

// The whole training state of a model that is cut into stages.
struct cut_model {
    std::vector<stage_program> stages;
    std::vector<weights_ptr> versions;
    double loss = 0;
    bool in_halves = false; // backward passes; the second halves run when all first ones are done

    cut_model(compute_context& context, proto::Model::Reader model,
              const std::vector<std::size_t>& counts, std::size_t state = 1) {
        std::size_t first = 0;
        for (std::size_t count : counts) {
            stages.push_back(stage_program::create(model, {first, count}).value());
            versions.push_back(stages.back().initialise(context, 7, state).value());
            first += count;
        }
    }

    std::vector<std::vector<tensor>> gradients(compute_context& context, const tensor& input,
                                               const tensor& labels) {
        const batch_part part{.training = true};
        std::vector<saved_activations> saved;
        std::vector<tensor> values{input};
        for (std::size_t s = 0; s < stages.size(); ++s) {
            auto passed = stages[s].forward(context, *versions[s], part, std::move(values)).value();
            values = std::move(passed.outputs);
            saved.push_back(std::move(passed.saved));
        }
        auto judged =
            stages.back()
                .loss(context, values[0], labels, 1.f / static_cast<float>(labels.elements()))
                .value();
        loss = judged.loss_sum;
        values = {std::move(judged.gradient)};
        std::vector<std::vector<tensor>> all(stages.size());
        std::vector<half_backward> halves(stages.size());
        for (std::size_t s = stages.size(); s-- > 0;) {
            if (in_halves) {
                halves[s] = stages[s]
                                .backward_inputs(context, *versions[s], part, std::move(saved[s]),
                                                 std::move(values))
                                .value();
                values = std::move(halves[s].input_gradients);
                continue;
            }
            auto passed =
                stages[s]
                    .backward(context, *versions[s], part, std::move(saved[s]), std::move(values))
                    .value();
            values = std::move(passed.input_gradients);
            all[s] = std::move(passed.weight_gradients);
        }
        for (std::size_t s = 0; s < stages.size() && in_halves; ++s)
            all[s] =
                stages[s].backward_weights(context, *versions[s], part, *halves[s].rest).value();
        return all;
    }

    void train(compute_context& context, const tensor& input, const tensor& labels,
               const optimizer& rule, float rate) {
        // A copy: the first stage may overwrite an input that nobody else holds.
        const auto all = gradients(context, input, labels);
        for (std::size_t s = 0; s < stages.size(); ++s)
            versions[s] =
                next_version(context, stages[s], rule, std::move(versions[s]), all[s], rate)
                    .value();
    }

    std::vector<tensor> parameters() const {
        std::vector<tensor> all;
        for (const auto& version : versions)
            all.insert(all.end(), version->parameters.begin(), version->parameters.end());
        return all;
    }
};

inline void check_bit_equal(const std::vector<tensor>& a, const std::vector<tensor>& b) {
    BOOST_REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i)
        BOOST_TEST(bit_equal(a[i], b[i]),
                   "parameter " << i << " of shape " << to_string(a[i].shape()) << " differs");
}

inline void check_finite_differences(compute_context& context, cut_model& whole,
                                     const tensor& input, const tensor& truth,
                                     const std::string& backend) {
    const auto analytic = whole.gradients(context, input, truth).front();
    random_stream random{3};
    for (std::size_t p = 0; p < whole.versions[0]->parameters.size(); ++p)
        for (int probe = 0; probe < 4; ++probe) {
            tensor parameter = whole.versions[0]->parameters[p];
            float& x = parameter.mutable_values<float>()[random.below(parameter.elements())];
            const std::size_t index =
                static_cast<std::size_t>(&x - parameter.values<float>().data());
            const float kept = x;
            const float h = 1e-2f;
            x = kept + h;
            whole.gradients(context, input, truth);
            const double up = whole.loss;
            x = kept - h;
            whole.gradients(context, input, truth);
            const double down = whole.loss;
            x = kept;
            const double numeric = (up - down) / (2 * h) / static_cast<double>(truth.elements());
            const double given = analytic[p].values<float>()[index];
            BOOST_TEST(std::abs(numeric - given) < 2e-3 * std::max(1.0, std::abs(numeric)),
                       backend << " parameter " << p << "[" << index << "]: " << given
                               << " but numerically " << numeric);
        }
}

inline std::string failure_of(proto::Model::Reader model) {
    auto described = describe_model(model);
    return described ? "no failure" : described.failure().message();
}

} // namespace troupe::test
