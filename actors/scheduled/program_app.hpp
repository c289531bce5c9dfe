// The app file of a program of scheduled parameters: the struct ProgramApp of schemas/program_app.capnp, what it must
// satisfy beyond that, and the program that it names, with the settings that have a schema of their own.
//
//     const app_kind kind = program_app_kind({{"lasso", capnp::Schema::from<proto::LassoSettings>(), "Least ..."}});
//     const auto app = load_program_app("app.yaml", {}, kind);
//     if (app->program() == "lasso")
//         const double penalty = app->settings().getAs<proto::LassoSettings>().getPenalty();
//
// Threads: immutable; copies share it and may be read from any thread.
// Ownership: schemas of programs that came with a module must stay loaded as long as an app file that names one of them.
// Errors: errc::usage with one line that names place and key.
#pragma once

#include <capnp/any.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "actors/app_file/app_file.hpp"
#include "schemas/program_app.capnp.h"

namespace troupe::scheduled {

class program_app : public app_definition {
  public:
    // `definition` must be of this kind.
    explicit program_app(app_definition definition) : app_definition{std::move(definition)} {}

    // Readers are valid as long as this object or a copy of it lives.
    proto::ProgramApp::Reader app() const { return as<proto::ProgramApp>(); }

    // The key under `program`.
    std::string program() const { return app().getProgram().getName().cStr(); }
    // A struct of the program's own schema.
    capnp::AnyPointer::Reader settings() const { return app().getProgram().getSettings(); }
    // The same by that schema.
    capnp::DynamicStruct::Reader dynamic_settings() const;

    // "program.lasso.penalty" for "penalty"; of an empty key, the program's own.
    std::string path_of(std::string_view key) const;
    // An error about a setting, whose message is "KEY: SENTENCE" with the key below the program's, or else one of "data",
    // "schedule" or "stop", at its place in the file; its code stays. If the program has a setting of such a name, the key
    // is that.
    error at_setting(const error& why) const;
};

// The row of this kind of job. `programs` is not empty; those that came with modules have passed check_members.
app_kind program_app_kind(std::vector<app_member> programs);

// load_app and parse_app, for app files of this kind only.
result<program_app> load_program_app(const std::filesystem::path& file,
                                     const app_settings& settings, const app_kind& kind);
result<program_app> parse_program_app(std::string_view text, const std::filesystem::path& file,
                                      const app_settings& settings, const app_kind& kind);

} // namespace troupe::scheduled
