// A kind of job, as far as the language of app files knows it: a row that its family hands over. The language itself knows
// no kind.
//
//     const app_kind counting{
//         .key = "counter", .schema = capnp::Schema::from<proto::CounterApp>(), .check = &check_counter};
//     auto app = load_app("app.yaml", {}, {&counting, 1});
//     const auto root = app->as<proto::CounterApp>();
//
// Threads: rows are constant.
#pragma once

#include <capnp/schema.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/base/error.hpp"

namespace troupe {

class app_definition;

// A term of other programs, and the word or key of app files for the same thing. Terms are compared as in synonyms.hpp.
struct app_synonym {
    std::string_view word;
    std::string_view ours;
};

struct app_words {
    std::span<const app_synonym> values; // words and keys that stand where the foreign word stood
    std::span<const app_synonym> keys;   // whole keys, "model.precision"
    std::span<const app_synonym> sentences; // advice in place of a suggestion
    std::string_view other_members =
        {}; // how open unions come by others: "name one of your own by ..."
};

// A member of the open unions ($open) of a kind's app files: what may stand there, which the kind does not know itself.
//
//     {.name = "lasso", .settings = capnp::Schema::from<proto::LassoSettings>(), .doc = "Least squares with ..."}
struct app_member {
    std::string name; // the key in app files; snake_case
    // The struct of the settings below it, annotated as the schemas of app files are; its module must stay loaded.
    capnp::StructSchema settings;
    std::string doc; // a sentence or two
};

using app_members = std::span<const app_member>;

// Whether the language can read, render and explain these members: names that are keys, each once, and settings of the types
// that app files have. Rows that come with a module, rather than with the program, must be checked before they are used.
// errc::data with the member and its setting.
result<void> check_members(app_members members);

struct app_kind {
    std::string key;            // of the app file: a file that has it at the top is of this kind
    capnp::StructSchema schema; // of the whole file; it has the keys `troupe`, `base` and `key`
    app_words words = {};
    // A check of what the schema cannot express; errors as app_definition::error_at makes them.
    result<void> (*check)(const app_definition&) = nullptr;
    // Members of the open unions of its schema; not empty if it has one.
    std::vector<app_member> members = {};
};

} // namespace troupe
