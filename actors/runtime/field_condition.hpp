// One condition on a field of a message's body, by reflection.
//
// Threads: a value; all is const and touches only its arguments.
#pragma once

#include <capnp/dynamic.h>

#include <string>
#include <vector>

#include "actors/runtime/message_types.hpp"
#include "schemas/base/error.hpp"

namespace troupe {

class field_condition {
  public:
    // `path`: names in the body with dots between them, "member.name"; it may go on inside a field that holds any struct
    // (type_of_any). `value`: text as it would be printed; numbers are compared as numbers.
    field_condition(const std::string& path, std::string value);

    // errc::usage if the condition can hold for no message of this type: there is no such field, or no such value of it.
    result<void> check(const message_type& type, const message_catalog& known) const;

    // Returns false if the body cannot be read or has no such field.
    bool holds(capnp::DynamicStruct::Reader body, const message_catalog& known) const;

    const std::string& field() const noexcept { return path_.front(); } // the outermost field

  private:
    result<void> check_from(std::size_t depth, capnp::StructSchema schema, const std::string& named,
                            const message_catalog& known) const;
    result<void> check_in_any(std::size_t depth, const std::string& named,
                              const message_catalog& known) const;

    std::vector<std::string> path_;
    std::string value_;
};

// The names of the fields of a message's body.
std::vector<std::string> fields_of(capnp::StructSchema schema);

} // namespace troupe
