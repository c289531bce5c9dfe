#include "actors/training/plan/training_app.hpp"

#include "actors/training/plan/app_checks.hpp"

namespace troupe {

namespace {

// Names that PyTorch, DeepSpeed and Transformers use for Troupe's words and keys.
// Synonyms in the same place as Troupe's word: values, and keys.
constexpr app_synonym values[] = {
    {"1bit", "one_bit"},
    {"1f1b", "one_f_one_b"},
    {"2bw", "two_versions"},
    {"batchsize", "batch"},
    {"bfloat16", "bf16"},
    {"dapple", "one_f_one_b"},
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
    {"interleaved1f1b", "interleaved"},
    {"lr", "learning_rate"},
    {"mse", "mean_squared_error"},
    {"mseloss", "mean_squared_error"},
    {"onebit", "one_bit"},
    {"pipedream2bw", "two_versions"},
    {"pipedreamflush", "one_f_one_b"},
    {"powersgd", "power_sgd"},
    {"swish", "silu"},
    {"wd", "weight_decay"},
    {"zbh1", "zero_bubble"},
    {"zbv", "zero_bubble_v"},
    {"zbvzerobubble", "zero_bubble_v"},
    {"zerobubble", "zero_bubble"},
};

constexpr app_synonym keys[] = {
    {"amp", "model.precision"},        {"autocast", "model.precision"},
    {"bfloat16", "model.precision"},   {"dtype", "model.precision"},
    {"float16", "model.precision"},    {"fp16", "model.precision"},
    {"gradscaler", "model.precision"}, {"half", "model.precision"},
    {"lossscale", "model.precision"},  {"mixedprecision", "model.precision"},
    {"torchdtype", "model.precision"},
};

constexpr app_synonym sentences[] = {
    {"activation", "an activation is a layer of its own, as - relu behind this one"},
};

result<void> check(const app_definition& definition) {
    return app_file::check_meaning(training_app{definition});
}

result<training_app> as_training(result<app_definition> loaded) {
    if (!loaded)
        return loaded.failure();
    return training_app{std::move(loaded).value()};
}

} // namespace

result<void> training_app::check_training(std::optional<std::uint64_t> train_samples) const {
    return app_file::check_training(*this, train_samples);
}

result<void> training_app::check_causal() const {
    return app_file::check_causal(*this);
}

std::vector<std::string> training_app::notes(std::optional<std::uint64_t> train_samples) const {
    std::vector<std::string> notes;
    for (const app_file::doubtful_key& key : app_file::doubtful_keys(app(), train_samples))
        if (is_given(key.path))
            notes.push_back(error_at(key.path, key.why).message());
    return notes;
}

const app_kind& training_kind() {
    static const app_kind kind{.key = "model",
                               .schema = capnp::Schema::from<proto::App>(),
                               .words = {values, keys, sentences},
                               .check = &check};
    return kind;
}

result<training_app> load_training(const std::filesystem::path& file, const app_settings& settings,
                                   const std::string& home) {
    return as_training(load_app(file, settings, {&training_kind(), 1}, home));
}

result<training_app> parse_training(std::string_view text, const std::filesystem::path& file,
                                    const app_settings& settings) {
    return as_training(parse_app(text, file, settings, {&training_kind(), 1}));
}

} // namespace troupe
