// The app file's rules, read from the annotations of the schema of a kind of job. Internal to the app file loader, its
// documentation and its JSON Schema.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <capnp/schema.h>

#include "actors/app_file/app_kind.hpp"

namespace troupe::app_file {

// The rules of the schema for one key.
struct field_rules {
    capnp::StructSchema::Field field; // of a member of an open union: the one for its settings
    std::string key;                  // snake_case
    std::string doc;
    std::optional<double> min; // of a number, or of every number in a list
    std::optional<double> max;
    std::optional<std::uint32_t> items_min;
    std::optional<std::uint32_t> items_max;
    bool required = false;
    bool is_path = false;
    bool in_union = false;
    bool is_assumed = false;                          // $assumed
    std::optional<capnp::StructSchema> settings = {}; // of a member of an open union

    capnp::Type type() const { return settings ? capnp::Type{*settings} : field.getType(); }
};

struct struct_rules {
    std::string doc;
    bool by_kind = false;
    bool is_open = false; // an open union: its members stand as fields here, its own fields do not
    std::vector<field_rules> fields; // in the order of the schema
    bool has_union = false;
    bool union_has_default = false; // its first member, where only other keys are given

    const field_rules* find(std::string_view key) const;
    std::vector<std::string> keys() const;
    std::vector<std::string> union_keys() const;
    // The union's first member; null without a union.
    const field_rules* first_member() const;
};

// `members`: those of open unions, of which there must be some if the schema is one.
struct_rules rules_of(capnp::StructSchema schema, app_members members);

bool is_open(capnp::StructSchema schema);

// Whether a member of a union may be written as its name alone: it has no settings, or defaults for all.
bool stands_alone(const field_rules& member);

struct word {
    capnp::EnumSchema::Enumerant enumerant;
    std::string key;
    std::string doc;
};
std::vector<word> words_of(capnp::EnumSchema schema);

// The smallest and largest value that a number of this type and these rules may have. Floats without rules: none.
struct number_range {
    std::optional<double> min;
    std::optional<double> max;
};
number_range range_of(const field_rules& rules, capnp::Type type);

// The value that an absent key stands for, as it would be written; empty if there is none.
std::string default_text(const field_rules& rules);

bool is_integer(capnp::Type type);
bool is_number(capnp::Type type);

std::string snake_case(std::string_view camel_case);

// "1 to 65536", "0 or more"; empty without bounds.
std::string range_text(const number_range& range);
std::string number_text(double value);
std::string number_text(float value); // the shortest digits that read back as the same float

} // namespace troupe::app_file
