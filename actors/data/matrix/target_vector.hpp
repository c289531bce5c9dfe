// Targets in a file of their own: one finite number for each row, as float64.
//
// The file is a vector of NumPy (npy_elements.hpp), one of n x 1 included; labels in IDX; or text, plain or gzip, with
// one number a line, maybe after a line with its name (csv_rows.hpp).
// Errors: as in input_file.hpp and line_reader.hpp.
#pragma once

#include <string>
#include <vector>

#include "actors/data/matrix/data_rule.hpp"
#include "schemas/base/error.hpp"

namespace troupe {

struct target_vector {
    std::vector<double> values;
    // Where the file ends, "FILE: line 7" or "FILE: byte 128", for messages about how many they are.
    std::string end;
    std::vector<std::string> notes; // what may not be intended, a sentence each
};

// `rule`: of the targets; null: there is none.
result<target_vector> read_targets(const std::string& name, data_rule* rule = nullptr);

} // namespace troupe
