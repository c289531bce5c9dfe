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
    // `path` in the body with dots between names, "member.name". `value` as it would be printed; numbers are compared as
    // numbers.
    field_condition(const std::string& path, std::string value);

    // errc::usage if no message of this type can hold it: no such field, or no such value of it.
    result<void> check(const message_type& type) const;

    // False where the body cannot be read or has no such field.
    bool holds(capnp::DynamicStruct::Reader body) const;

    const std::string& field() const noexcept { return path_.front(); } // the outermost one

  private:
    std::vector<std::string> path_;
    std::string value_;
};

// The names of the fields of a message's body.
std::vector<std::string> fields_of(capnp::StructSchema schema);

} // namespace troupe
