// The app file: YAML that a user writes, read strictly into the struct App of schemas/app.capnp.
//
// Keys are the schema's field names in snake_case. A union is a map of one key, or a word where the
// settings all have defaults (`- relu`, `- batch_norm`); one marked $byKind follows the kind of the value
// (`stages: auto`, `stages: 3`, `stages: [...]`). Unknown and repeated keys, wrong kinds, values
// out of range, missing keys, anchors and aliases are errors: "app.yaml:3:26:
// model.layers[0].conv2d.kernal: unknown key; did you mean "kernel"?". Defaults, ranges and
// documentation come from the schema and stand nowhere else.
//
// File names in the app file ($path in the schema) that are not absolute start at the app file's
// folder, so that an app runs from anywhere; those given with --set start at the current directory,
// as on any command line. The loaded definition holds them resolved.
//
// Threads: an app_definition is immutable; copies share it and may be read from any thread.
// Errors: errc::usage with one line that names place and key; errc::io if the file cannot be read.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/app.capnp.h"
#include "schemas/base/error.hpp"

namespace troupe {

// A loaded and checked app file.
class app_definition {
  public:
    // Valid as long as this object or a copy of it lives.
    proto::App::Reader app() const noexcept;

    // The file's name as it was given.
    const std::string& file() const noexcept;

    // An errc::usage error about the value at `path` ("topology.pipeline.stages",
    // "model.layers[3]"), with the place where it, or the closest value around it, stands:
    // "app.yaml:7:3: topology.pipeline.stages: SENTENCE".
    error error_at(std::string_view path, std::string_view sentence) const;

    // The same of an error whose message is "PATH: SENTENCE"; its code stays.
    error at_its_place(const error& why) const;

    // Whether the file or a setting says something at this path.
    bool is_given(std::string_view path) const;

    // errc::usage if training gives a layer fewer samples at once than it needs: in a minibatch, and, where the number of
    // training samples is known, in the last one of an epoch. Who trains or plans to asks; the loader does not.
    result<void> check_training(std::optional<std::uint64_t> train_samples = {}) const;

    // errc::usage, naming the layer, if one lets a position see those behind it, whose tokens it is to give.
    result<void> check_causal() const;

    // What is given to no effect, or is hardly meant, each with its place as in error_at. With the number of training
    // samples also what depends on it.
    std::vector<std::string> notes(std::optional<std::uint64_t> train_samples = {}) const;

    struct state; // actors/plan/app_file.cpp
    explicit app_definition(std::shared_ptr<const state> s) noexcept : state_{std::move(s)} {}

  private:
    std::shared_ptr<const state> state_;
};

// What --set gives: "key.path[index]=value", the value in YAML. Applied in order, before anything
// is checked.
using app_settings = std::vector<std::string>;

// Reads, overrides and checks: the schema's rules, then what they cannot say (shapes between
// layers, more stages than layers, stages that do not add up to the layers, more microbatches than
// samples).
result<app_definition> load_app(const std::filesystem::path& file,
                                const app_settings& settings = {});

// The same from text. `file` stands in error messages and its folder is where relative file names
// start.
result<app_definition> parse_app(std::string_view text, const std::filesystem::path& file,
                                 const app_settings& settings = {});

// The definition as YAML with every default filled in. Loading it gives an equal definition.
std::string render_app(proto::App::Reader app);
std::string
render_model(proto::Model::Reader model); // the model alone; equal text means equal model

// What a model rendered earlier has and this one has not, by the first key that differs: "model.layers[0].conv2d.out 8,
// not 4"; "another model" where the text says no more, empty for an equal one.
std::string model_difference(std::string_view saved, proto::Model::Reader model);

// The word that the app file chooses the optimizer by: "adamw".
std::string optimizer_word(proto::Optimizer::Reader optimizer);

// Documentation of one key for a terminal: what it is, kind, default, range and what stands below
// it. `path` is the key with dots ("model.layers.conv2d.kernel"; list indices are allowed and
// ignored); empty for the whole file. It may begin below the top ("conv2d.kernel"): of several places each is named. Some
// words of other programs lead to the key that they stand for ("GradScaler").
result<std::string> explain_app_key(std::string_view path);

// JSON Schema (draft 7) of the app file, for editors.
std::string app_json_schema();

} // namespace troupe
