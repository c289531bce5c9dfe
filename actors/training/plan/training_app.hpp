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
    // `definition` is of this kind.
    explicit training_app(app_definition definition) : app_definition{std::move(definition)} {}

    // Valid as long as this object or a copy of it lives.
    proto::App::Reader app() const { return as<proto::App>(); }

    // errc::usage if training gives a layer fewer samples at once than it needs: in a minibatch, and, where the number of
    // training samples is known, in the last one of an epoch. Who trains or plans to asks; the loader does not.
    result<void> check_training(std::optional<std::uint64_t> train_samples = {}) const;

    // errc::usage, naming the layer, if one lets a position see those behind it, whose tokens it is to give.
    result<void> check_causal() const;

    // Keys that have no effect or are hardly meant, each with its place as in error_at. With the number of training samples
    // also what depends on it.
    std::vector<std::string> notes(std::optional<std::uint64_t> train_samples = {}) const;
};

// The row of this kind of job.
const app_kind& training_kind();

// load_app and parse_app for app files of this kind alone.
result<training_app> load_training(const std::filesystem::path& file,
                                   const app_settings& settings = {});
result<training_app> parse_training(std::string_view text, const std::filesystem::path& file,
                                    const app_settings& settings = {});

// The first key by which a model rendered earlier (render_app) differs from this one: "model.layers[0].conv2d.out 8, not 4";
// "another model" where the text says no more, empty for an equal one.
std::string model_difference(std::string_view saved, proto::Model::Reader model);

} // namespace troupe
