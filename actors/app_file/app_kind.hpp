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
};

struct app_kind {
    std::string key;            // of the app file: a file that has it at the top is of this kind
    capnp::StructSchema schema; // of the whole file; it has the keys `troupe`, `base` and `key`
    app_words words = {};
    // A check of what the schema cannot express; errors as app_definition::error_at makes them.
    result<void> (*check)(const app_definition&) = nullptr;
};

} // namespace troupe
