// Reader of a two-dimensional NumPy array as rows: .npy, or an array in an archive (npy_elements.hpp). Rows are dense.
//
// In C order, rows are read as they come; in Fortran order the array is held in memory as float64.
// Errors: as in input_file.hpp.
#pragma once

#include "actors/data/matrix/table_rows.hpp"

namespace troupe {

result<std::unique_ptr<table_rows>> open_npy_rows(const std::string& name);

} // namespace troupe
