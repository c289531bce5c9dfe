// generate: text from a language model of bytes, or a translation.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <sstream>

#include "actors/data/files/utf8_text.hpp"
#include "kernels/cpu/cpu_operations.hpp"
#include "kernels/graph/stage_program.hpp"
#include "schemas/base/limits.hpp"
#include "schemas/base/printable.hpp"
#include "schemas/base/random.hpp"
#include "tools/troupe/commands.hpp"
#include "tools/troupe/saved_weights.hpp"
#include "tools/troupe/signals.hpp"
#include "tools/troupe/text_use.hpp"
#include "tools/troupe/translations.hpp"

namespace troupe::cli {

namespace {

constexpr std::uint64_t sampling_purpose = 0x67656e;

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
    // The tokens after the text change nothing before them: the model is causal.
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
    std::string text = options.prompt.value_or("\n");
    if (const std::size_t positions = program.inputs()[0].info.shape[0]; text.size() > positions)
        note("--prompt: of its " + std::to_string(text.size()) + " bytes the model sees the last " +
             std::to_string(positions) + ", as many as model.input says; " +
             std::to_string(text.size() - positions) + " are left out");
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

// Notes how much of a sentence, which stands at `place`, the model does not read.
void note_lost(const encoded_sentence& sentence, const std::string& place) {
    if (sentence.cut > 0)
        note(place + ": of its " + std::to_string(sentence.own) +
             " tokens the model reads the first " + std::to_string(sentence.own - sentence.cut) +
             ", as many as data.translation.source_length leaves before the end; " +
             std::to_string(sentence.cut) + " are left out");
    std::string unknown;
    for (const std::string& characters : sentence.unknown)
        unknown += " " + characters;
    if (!unknown.empty())
        note(place + ": the vocabulary has not" + printable(unknown, limits::reason_bytes_max) +
             "; the model reads an unknown character there");
}

result<std::string> translation_of(compute_context& context, const translator& model,
                                   const encoded_sentence& sentence) {
    auto row = tensor::allocate(context.memory, data_type::int32,
                                {1, sentence.tokens.size() + model.target_length()});
    if (!row)
        return row.failure();
    std::ranges::copy(sentence.tokens, row->mutable_values<std::int32_t>().begin());
    auto target = model.translate(context, std::move(*row));
    if (!target)
        return target.failure();
    return model.codec().sentence(target->values<std::int32_t>());
}

// The lines of a text, the last one with or without a new line behind it.
std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in{text};
    for (std::string line; std::getline(in, line);)
        lines.push_back(std::move(line));
    return lines;
}

int write_translations(compute_context& context, const translator& model,
                       const std::string& prompt) {
    const std::vector<std::string> lines = lines_of(prompt);
    for (std::size_t i = 0; i < lines.size() && std::cout.good(); ++i) {
        const std::string place =
            lines.size() == 1 ? "--prompt" : "--prompt: line " + std::to_string(i + 1);
        if (const std::string why = why_not_utf8(lines[i]); !why.empty())
            return report({errc::usage, place + ": " + why});
        const encoded_sentence sentence = model.codec().source(lines[i]);
        if (sentence.own == 0)
            return report({errc::usage, place + ": has no word to translate"});
        note_lost(sentence, place);
        const auto translation = translation_of(context, model, sentence);
        if (!translation)
            return translation.failure().code() == errc::cancelled ? stopped(translation.failure())
                                                                   : report(translation.failure());
        std::cout << *translation << std::endl;
    }
    return 0;
}

} // namespace

int generate(const generate_options& options) {
    const auto app = load_training(options.app.file, options.app.settings, home_folder());
    if (!app)
        return report(app.failure());
    const auto model = app->app().getModel();
    const auto program = stage_program::whole(model).value();
    const auto use = text_use_of(*app, program);
    if (!use)
        return report(use.failure());
    if (*use == text_use::translates && !options.prompt)
        return report({errc::usage, "--prompt: give the sentence to translate"});
    memory_pool memory{options.memory_mb << 20};
    const auto saved = load_weights(*app, options.weights, memory);
    if (!saved)
        return report(saved.failure());
    for (const std::string& sentence : saved->notes)
        note(sentence);
    const auto ops = make_cpu_operations(memory);
    compute_context context{*ops, memory};
    if (*use == text_use::writes_on)
        return write_on(context, program, *saved->weights, options);
    const auto opened = translator::open(*app, *saved);
    return opened ? write_translations(context, *opened, *options.prompt)
                  : report(opened.failure());
}

} // namespace troupe::cli
