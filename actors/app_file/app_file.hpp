// The app file: YAML that a user writes, read strictly into the struct that its kind of job has for it (app_kind.hpp), such
// as App of schemas/app.capnp.
//
// Keys are the schema's field names in snake_case. A union is a map of one key, or a word where the
// settings all have defaults (`- relu`, `- batch_norm`); one marked $byKind follows the kind of the value
// (`stages: auto`, `stages: 3`, `stages: [...]`); of one marked $open the members are those of the
// kind's row. Unknown and repeated keys, wrong kinds, values
// out of range, missing keys, anchors and aliases are errors: "app.yaml:3:26:
// model.layers[0].conv2d.kernal: unknown key; did you mean "kernel"?". Defaults, ranges and
// documentation come from the schema and stand nowhere else.
//
// File names in the app file ($path in the schema) that are not absolute start at the app file's
// folder, so that an app runs from anywhere; those given with --set start at the current directory,
// as on any command line. The loaded definition holds them resolved. "~" at the beginning of one is the
// home folder, which the caller gives (file_names.hpp); without one it is refused, as are "~USER" and variables.
//
// Threads: an app_definition is immutable; copies share it and may be read from any thread.
// Errors: errc::usage with one line that names place and key; errc::io if the file cannot be read.
#pragma once

#include <capnp/dynamic.h>

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "actors/app_file/app_kind.hpp"
#include "schemas/base/check.hpp"
#include "schemas/base/error.hpp"

namespace troupe {

// A loaded and checked app file.
class app_definition {
  public:
    // The content of the file, defaults filled in. Valid as long as this object or a copy of it lives.
    capnp::DynamicStruct::Reader root() const noexcept;

    // The same as the struct of its kind, which must be T.
    template <class T>
    typename T::Reader as() const {
        TROUPE_CHECK(root().getSchema() == capnp::Schema::from<T>(),
                     "the app file is of this kind");
        return root().as<T>();
    }

    // The key that names its kind of job: "model".
    const std::string& kind() const noexcept;

    // The members of the open unions of its kind.
    app_members members() const noexcept;

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

    struct state; // actors/app_file/app_file.cpp
    explicit app_definition(std::shared_ptr<const state> s) noexcept : state_{std::move(s)} {}

  private:
    std::shared_ptr<const state> state_;
};

// Values given by --set: "key.path[index]=value", the value in YAML. Applied in order, before anything is checked.
using app_settings = std::vector<std::string>;

// Reads, overrides and checks: the schema's rules of the kind that the file is of, then its check. A file of no kind or of
// two is an error.
result<app_definition> load_app(const std::filesystem::path& file, const app_settings& settings,
                                std::span<const app_kind> kinds, const std::string& home = {});

// The same from text. `file` stands in error messages and its folder is where relative file names
// start.
result<app_definition> parse_app(std::string_view text, const std::filesystem::path& file,
                                 const app_settings& settings, std::span<const app_kind> kinds,
                                 const std::string& home = {});

// A definition as YAML with every default filled in. Loading it gives an equal definition.
std::string render_app(const app_definition& definition);
// A part of one; `members`: those of its kind if the part has an open union.
std::string render_app(capnp::DynamicStruct::Reader part, app_members members = {});

// One value that a definition says: "schedule.dynamic.window" and "2". A list is one value.
struct app_value {
    std::string path;
    std::string text; // as in YAML
};
// All values of a part, defaults filled in and file names absolute: equal parts say the same, from wherever they are loaded.
std::vector<app_value> values_of(capnp::DynamicStruct::Reader part, app_members members = {});

// The key of a union's active member: "adamw" of an optimizer.
std::string active_key(capnp::DynamicStruct::Reader of);
// The settings of an open union's active member, which must be one of these.
capnp::DynamicStruct::Reader open_settings(capnp::DynamicStruct::Reader of, app_members members);

// Documentation of one key for a terminal: what it is, kind, default, range and what stands below
// it. `path` is the key with dots ("model.layers.conv2d.kernel"; list indices are allowed and
// ignored); empty for the whole file. It may begin below the top ("conv2d.kernel"): of several places each is named. Some
// words of other programs lead to the key that they stand for ("GradScaler"). A key that several kinds have is explained for
// each of them.
result<std::string> explain_app_key(std::string_view path, std::span<const app_kind> kinds);

// JSON Schema (draft 7) of the app file, for editors.
std::string app_json_schema(std::span<const app_kind> kinds);

} // namespace troupe
