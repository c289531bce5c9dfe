// generate: text from a language model of bytes, or a translation.
#include <algorithm>
#include <cmath>
#include <iostream>

#include "kernels/cpu/cpu_operations.hpp"
#include "kernels/graph/stage_program.hpp"
#include "schemas/base/random.hpp"
#include "tools/troupe/commands.hpp"
#include "tools/troupe/saved_weights.hpp"
#include "tools/troupe/signals.hpp"
#include "tools/troupe/translations.hpp"

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

int write_on(compute_context& context, const stage_program& program, const weights& w,
             const generate_options& options) {
    random_stream random{options.seed, sampling_purpose};
    std::string text = options.prompt;
    std::cout << text << std::flush;
    for (std::uint32_t i = 0; i < options.length && std::cout.good(); ++i) {
        if (stop_signals() > 0)
            return stopped({errc::cancelled, "stopped after " + std::to_string(i) + " bytes"});
        const auto byte = next_byte(context, program, w, text, options.temperature, random);
        if (!byte)
            return report(byte.failure());
        text.push_back(static_cast<char>(*byte));
        std::cout << text.back() << std::flush;
    }
    std::cout << std::endl;
    return 0;
}

result<void> check_translator(const app_definition& app, const stage_program& program) {
    const value_form& input = program.inputs()[0].info;
    const value_form& labels = program.labels();
    const std::size_t source = app.app().getData().getTranslation().getSourceLength();
    if (input.type == data_type::int32 && input.shape.rank() == 1 &&
        labels.type == data_type::int32 && labels.shape.rank() == 1 &&
        input.shape[0] == source + labels.shape[0])
        return {};
    return app.error_at("model", "translates nothing: it must begin with encoder_decoder, whose "
                                 "source_length is that of data.translation");
}

result<std::string> translation_of(compute_context& context, const stage_program& program,
                                   const weights& w, const app_definition& app,
                                   const std::string& sentence) {
    const auto codec = sentence_codec::open(app.app().getData().getTranslation());
    if (!codec)
        return app.at_its_place(codec.failure());
    auto row = tensor::allocate(context.memory, data_type::int32,
                                batch_of(1, program.inputs()[0].info.shape));
    if (!row)
        return row.failure();
    std::ranges::copy(codec->source(sentence), row->mutable_values<std::int32_t>().begin());
    auto target = translate(context, program, w, *codec, std::move(*row));
    if (!target)
        return target.failure();
    return codec->sentence(target->values<std::int32_t>());
}

int write_translation(compute_context& context, const stage_program& program, const weights& w,
                      const app_definition& app, const std::string& sentence) {
    const auto translation = translation_of(context, program, w, app, sentence);
    if (!translation)
        return report(translation.failure());
    std::cout << *translation << std::endl;
    return 0;
}

} // namespace

int generate(const generate_options& options) {
    const auto app = load_app(options.app.file, options.app.settings);
    if (!app)
        return report(app.failure());
    const auto model = app->app().getModel();
    const auto program = stage_program::create(model, {0, count_layers(model)}).value();
    const bool translates = app->app().getData().isTranslation();
    if (translates && options.prompt == generate_options{}.prompt)
        return report({errc::usage, "--prompt: give the sentence to translate"});
    if (auto fits = translates ? check_translator(*app, program) : check_model(*app, program);
        !fits)
        return report(fits.failure());
    memory_pool memory{options.memory_mb << 20};
    const auto saved = load_weights(*app, options.weights, memory);
    if (!saved)
        return report(saved.failure());
    const auto ops = make_cpu_operations(memory);
    compute_context context{*ops, memory};
    return translates ? write_translation(context, program, *saved->weights, *app, options.prompt)
                      : write_on(context, program, *saved->weights, options);
}

} // namespace troupe::cli
