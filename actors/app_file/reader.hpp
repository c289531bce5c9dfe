// Reads a tree into a Cap'n Proto struct by its schema. Internal to the app file loader.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include <capnp/dynamic.h>

#include "actors/app_file/app_kind.hpp"
#include "actors/app_file/schema.hpp"
#include "actors/app_file/tree.hpp"

namespace troupe::app_file {

class tree_reader {
  public:
    // `names` and `kind` must outlive the reader. Relative file names start at the folder of the file that they stand in.
    tree_reader(const sources& names, const app_kind& kind)
        : names_{names}, words_{kind.words}, members_{kind.members} {}

    result<void> read(const node& root, capnp::DynamicStruct::Builder into);

    // The place of every value that was read, by its path.
    std::map<std::string, place, std::less<>> take_places() { return std::move(places_); }

  private:
    // The target of a value: a field of a struct, or an element of a list.
    struct target {
        const field_rules& rules;
        capnp::Type type;
    };

    result<void> read_struct(const node& from, capnp::DynamicStruct::Builder into,
                             const std::string& path);
    result<void> read_map(const node& from, const struct_rules& rules,
                          capnp::DynamicStruct::Builder into, const std::string& path);
    result<void> read_word(const node& from, const struct_rules& rules,
                           capnp::DynamicStruct::Builder into, const std::string& path);
    result<void> read_by_kind(const node& from, const struct_rules& rules,
                              capnp::DynamicStruct::Builder into, const std::string& path);
    result<void> read_field(const node& from, const field_rules& rules,
                            capnp::DynamicStruct::Builder into, const std::string& path);
    result<void> read_list(const node& from, const field_rules& rules,
                           capnp::DynamicStruct::Builder into, const std::string& path);
    result<void> check_complete(const node& from, const struct_rules& rules,
                                const std::vector<const entry*>& seen,
                                const std::string& path) const;

    // Values without structure. `storage` keeps a text alive until it is copied into the message.
    result<capnp::DynamicValue::Reader>
    read_scalar(const node& from, target to, const std::string& path, std::string& storage) const;
    result<capnp::DynamicValue::Reader> read_integer(const node& from, target to,
                                                     const std::string& path) const;
    result<capnp::DynamicValue::Reader> read_float(const node& from, target to,
                                                   const std::string& path) const;
    result<capnp::DynamicValue::Reader>
    read_text(const node& from, target to, const std::string& path, std::string& storage) const;
    result<capnp::DynamicValue::Reader> read_enum(const node& from, target to,
                                                  const std::string& path) const;

    std::string hint_at_key(const node& from, const struct_rules& rules,
                            const std::string& wrong) const;
    std::string hint_at_members(const struct_rules& rules, const std::string& wrong) const;
    error wrong_kind(const node& from, const std::string& path, const std::string& expected) const;

    const sources& names_;
    const app_words& words_; // of other programs
    const app_members members_;
    std::map<std::string, place, std::less<>> places_;
};

// "3", "-3": what a YAML scalar must look like to be a whole number, quotes and leading zeros excluded.
bool looks_like_integer(const node& value);

} // namespace troupe::app_file
