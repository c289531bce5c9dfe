#include "actors/plan/app_file_synonyms.hpp"

#include <algorithm>

#include "schemas/base/nearest.hpp"

namespace troupe::app_file {

namespace {

struct synonym {
    std::string_view word;
    std::string_view ours;
};

// Of words that stand in the same place: what a value may be, and keys.
constexpr synonym words[] = {
    {"1bit", "one_bit"},
    {"1f1b", "pipedream"},
    {"batchsize", "batch"},
    {"bfloat16", "bf16"},
    {"ddp", "all_reduce"},
    {"dgc", "deep_gradient"},
    {"eps", "epsilon"},
    {"float", "f32"},
    {"float16", "f16"},
    {"float32", "f32"},
    {"fp16", "f16"},
    {"fp32", "f32"},
    {"gelunew", "gelu_tanh"},
    {"gradientclipping", "clip"},
    {"half", "f16"},
    {"lr", "learning_rate"},
    {"mse", "mean_squared_error"},
    {"mseloss", "mean_squared_error"},
    {"onebit", "one_bit"},
    {"powersgd", "power_sgd"},
    {"swish", "silu"},
    {"wd", "weight_decay"},
};

constexpr synonym keys[] = {
    {"amp", "model.precision"},        {"autocast", "model.precision"},
    {"bfloat16", "model.precision"},   {"dtype", "model.precision"},
    {"float16", "model.precision"},    {"fp16", "model.precision"},
    {"gradscaler", "model.precision"}, {"half", "model.precision"},
    {"lossscale", "model.precision"},  {"mixedprecision", "model.precision"},
    {"torchdtype", "model.precision"},
};

std::string plain(std::string_view word) {
    word.remove_prefix(word.rfind('.') + 1); // none is the last of all numbers
    std::string small;
    for (const char c : word)
        if (c != ' ' && c != '-' && c != '_')
            small += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return small;
}

// The one of the candidates that this word stands for; empty if there is none.
std::string_view meant_by(std::string_view word, const std::vector<std::string>& candidates) {
    const auto* const known = std::ranges::find(words, plain(word), &synonym::word);
    const bool is_among =
        known != std::end(words) && std::ranges::find(candidates, known->ours) != candidates.end();
    return is_among ? known->ours : std::string_view{};
}

} // namespace

std::string_view key_for(std::string_view word) {
    const auto* const found = std::ranges::find(keys, plain(word), &synonym::word);
    return found == std::end(keys) ? std::string_view{} : found->ours;
}

std::string hint(std::string_view wrong, const std::vector<std::string>& candidates) {
    if (const std::string_view meant = meant_by(wrong, candidates); !meant.empty())
        return "did you mean \"" + std::string{meant} + "\"?";
    if (wrong == "activation")
        return "an activation is a layer of its own, as - relu behind this one";
    return suggestion(wrong, candidates);
}

std::string key_hint(std::string_view wrong, const std::vector<std::string>& candidates) {
    const std::string_view key = key_for(wrong);
    if (key.empty() || !meant_by(wrong, candidates).empty())
        return hint(wrong, candidates);
    return "what it sets elsewhere is " + std::string{key} + " here";
}

} // namespace troupe::app_file
