// The format of a table, by the bytes that its file begins with.
#pragma once

#include <string>

#include "schemas/base/error.hpp"

namespace troupe {

enum class table_format {
    npy,     // or one array in an archive
    archive, // zip: arrays of NumPy, or a sparse matrix of SciPy
    idx,
    matrix_market,
    libsvm,
    csv, // any other text, and whatever else it is
};

// Reads the beginning of the file, plain or gzip. Errors: as in input_file.hpp.
result<table_format> table_format_of(const std::string& name);

} // namespace troupe
