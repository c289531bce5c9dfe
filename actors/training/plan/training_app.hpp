// The app file of a training job: the struct App of schemas/app.capnp, and what it must satisfy beyond that.
//
// Threads: immutable; copies share it and may be read from any thread.
// Errors: errc::usage with one line that names place and key.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "actors/app_file/app_file.hpp"
#include "schemas/app.capnp.h"

namespace troupe {

class training_app : public app_definition {
  public:
    // `definition` must be of this kind.
    explicit training_app(app_definition definition) : app_definition{std::move(definition)} {}

    // Valid as long as this object or a copy of it lives.
    proto::App::Reader app() const { return as<proto::App>(); }

    // errc::usage if training gives a layer fewer samples at once than it needs: in a minibatch, and, where the number of
    // training samples is known, in the last one of an epoch. Training and planning call it; the loader does not.
    result<void> check_training(std::optional<std::uint64_t> train_samples = {}) const;

    // errc::usage, naming the layer, if a layer lets a position see later ones, whose tokens the model has to predict.
    result<void> check_causal() const;

    // Keys that have no effect or are hardly intended, each with its place as in error_at. Keys that depend on the number
    // of training samples are included if it is given.
    std::vector<std::string> notes(std::optional<std::uint64_t> train_samples = {}) const;
};

// The table row of this kind of job.
const app_kind& training_kind();

// load_app and parse_app, for app files of this kind only.
result<training_app> load_training(const std::filesystem::path& file,
                                   const app_settings& settings = {}, const std::string& home = {});
result<training_app> parse_training(std::string_view text, const std::filesystem::path& file,
                                    const app_settings& settings = {});

// The first key by which a model rendered earlier (render_app) differs from this one: "model.layers[0].conv2d.out 8, not 4";
// "another model" where the text says no more, empty for an equal one.
std::string model_difference(std::string_view saved, proto::Model::Reader model);

} // namespace troupe
