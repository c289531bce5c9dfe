#include "actors/plan/app_file_synonyms.hpp"

#include <algorithm>

#include "schemas/base/nearest.hpp"

namespace troupe::app_file {

namespace {

struct synonym {
    std::string_view word;
    std::string_view ours;
};

// Of words that a value may be, or a layer's key.
constexpr synonym words[] = {
    {"bfloat16", "bf16"}, {"float", "f32"},         {"float16", "f16"},
    {"float32", "f32"},   {"fp16", "f16"},          {"fp32", "f32"},
    {"half", "f16"},      {"gelunew", "gelu_tanh"}, {"swish", "silu"},
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

} // namespace

std::string_view key_for(std::string_view word) {
    const auto* const found = std::ranges::find(keys, plain(word), &synonym::word);
    return found == std::end(keys) ? std::string_view{} : found->ours;
}

std::string hint(std::string_view wrong, const std::vector<std::string>& candidates) {
    const auto* const known = std::ranges::find(words, plain(wrong), &synonym::word);
    if (known != std::end(words) && std::ranges::find(candidates, known->ours) != candidates.end())
        return "did you mean \"" + std::string{known->ours} + "\"?";
    if (const std::string_view key = key_for(wrong); !key.empty())
        return "what it sets elsewhere is " + std::string{key} + " here";
    if (wrong == "activation")
        return "an activation is a layer of its own, as - relu behind this one";
    return suggestion(wrong, candidates);
}

} // namespace troupe::app_file
