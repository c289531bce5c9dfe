// A job's demands on the numbers of a matrix, beyond that they are finite. They are checked while files are opened, so that
// what does not fit is told with its place, before anything is computed.
//
// Threads: values of one thread. Errors: a sentence, to which the reader adds file and place.
#pragma once

#include <span>

#include "schemas/base/error.hpp"

namespace troupe {

class data_rule {
  public:
    virtual ~data_rule() = default;

    virtual result<void> take_values(std::span<const double>) { return {}; } // of the next row
    virtual result<void> take_target(double) { return {}; }                  // of the next row
    virtual result<void> end_targets() const { return {}; }                  // all have been taken
};

} // namespace troupe
