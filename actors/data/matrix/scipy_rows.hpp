// Reader of sparse matrices as scipy.sparse.save_npz writes them: archives of NumPy arrays.
//
// All formats have "format" (a word), "shape" (rows, columns) and "data", the values. csr adds "indptr", where each row's
// entries begin, and "indices", their columns; csc the same of columns and rows; coo "row" and "col", the places of the
// entries. Rows of csr are read as they come, with entries in any order; csc and coo are held in memory, sorted. Entries
// that are there twice, which SciPy adds up, are refused. Other formats (bsr, dia) are refused.
//
// Errors: as in input_file.hpp, with the array that is wrong: "FILE.npz:indices: byte OFFSET: SENTENCE".
// Source: scipy/sparse/_matrix_io.py.
#pragma once

#include "actors/data/matrix/table_rows.hpp"

namespace troupe {

// Whether an archive with members of these names is one.
bool looks_like_scipy(const std::vector<std::string>& members);

result<std::unique_ptr<table_rows>> open_scipy_rows(const std::string& path);

} // namespace troupe
