// generate: text from a language model of bytes.
#include <algorithm>
#include <cmath>
#include <iostream>

#include "kernels/cpu/cpu_operations.hpp"
#include "kernels/graph/stage_program.hpp"
#include "schemas/base/random.hpp"
#include "tools/troupe/commands.hpp"
#include "tools/troupe/saved_weights.hpp"
#include "tools/troupe/signals.hpp"

namespace troupe::cli {

namespace {

constexpr std::size_t byte_values = 256;
constexpr std::uint64_t sampling_purpose = 0x67656e;

result<void> check_model(const app_definition& app, const stage_program& program) {
    const value_form& input = program.inputs()[0].info;
    const value_form& labels = program.labels();
    if (input.type == data_type::int32 && input.values >= byte_values && input.shape.rank() == 1 &&
        labels.shape == input.shape && labels.values == byte_values)
        return {};
    return app.error_at("model",
                        "generates no text: it must take [positions] bytes, by an embedding "
                        "with a vocabulary of 256, and give [positions, 256]");
}

// A byte drawn by its logits, divided by the temperature; the likeliest at 0.
std::uint8_t draw(std::span<const float> logits, double temperature, random_stream& random) {
    const auto largest = std::ranges::max_element(logits);
    if (temperature == 0)
        return static_cast<std::uint8_t>(largest - logits.begin());
    std::vector<double> shares;
    double sum = 0;
    for (const float logit : logits)
        sum += shares.emplace_back(std::exp((double{logit} - double{*largest}) / temperature));
    double left = random.uniform() * sum;
    for (std::size_t byte = 0; byte + 1 < shares.size(); ++byte)
        if ((left -= shares[byte]) < 0)
            return static_cast<std::uint8_t>(byte);
    return static_cast<std::uint8_t>(shares.size() - 1);
}

// The byte after `text`, of which the model sees as much of the end as it has positions.
result<std::uint8_t> next_byte(compute_context& context, const stage_program& program,
                               const weights& w, const std::string& text, double temperature,
                               random_stream& random) {
    const std::size_t positions = program.inputs()[0].info.shape[0];
    const std::size_t seen = std::min(text.size(), positions);
    auto tokens = tensor::allocate(context.memory, data_type::int32, {1, positions});
    if (!tokens)
        return tokens.failure();
    // What follows the text changes nothing before it: the model is causal.
    auto values = tokens->mutable_values<std::int32_t>();
    std::ranges::fill(values, 0);
    std::ranges::transform(text.substr(text.size() - seen), values.begin(),
                           [](char c) { return static_cast<std::uint8_t>(c); });
    auto forward = program.forward(context, w, {}, {std::move(*tokens)});
    if (!forward)
        return forward.failure();
    return draw(forward->outputs[0].values<float>().subspan((seen - 1) * byte_values, byte_values),
                temperature, random);
}

} // namespace

int generate(const generate_options& options) {
    const auto app = load_app(options.app.file, options.app.settings);
    if (!app)
        return report(app.failure());
    const auto model = app->app().getModel();
    const auto program = stage_program::create(model, {0, count_layers(model)}).value();
    if (auto fits = check_model(*app, program); !fits)
        return report(fits.failure());
    memory_pool memory{options.memory_mb << 20};
    const auto saved = load_weights(*app, options.weights, memory);
    if (!saved)
        return report(saved.failure());
    const auto ops = make_cpu_operations(memory);
    compute_context context{*ops, memory};
    random_stream random{options.seed, sampling_purpose};
    std::string text = options.prompt;
    std::cout << text << std::flush;
    for (std::uint32_t i = 0; i < options.length && std::cout.good(); ++i) {
        if (stop_signals() > 0)
            return stopped({errc::cancelled, "stopped after " + std::to_string(i) + " bytes"});
        const auto byte =
            next_byte(context, program, *saved->weights, text, options.temperature, random);
        if (!byte)
            return report(byte.failure());
        text.push_back(static_cast<char>(*byte));
        std::cout << text.back() << std::flush;
    }
    std::cout << std::endl;
    return 0;
}

} // namespace troupe::cli
