// A sparse matrix in memory as the data of a run: documents, ratings.
//
// The work of a row or column is the sum of its values (of documents, the words in it) or the number of its entries. What
// is held out makes no work; pieces have its tensors only if it is there.
#pragma once

#include "actors/data/sparse/sparse_rows.hpp"
#include "actors/scheduled/data_pieces.hpp"

namespace troupe::scheduled {

enum class work_of_entry : std::uint8_t { value, one };

struct sparse_data {
    sparse_rows rows;
    std::uint64_t columns = 0;           // all indices are below it
    std::optional<sparse_rows> held_out; // as many rows
    std::vector<std::string> column_names;
    std::vector<std::string> row_names;
    std::vector<data_digest> digests;
    std::vector<std::string> notes;
    work_of_entry work = work_of_entry::one;
};

// Pieces of about so many bytes, if that is at least a row.
std::shared_ptr<piece_source> pieces_of(sparse_data data, std::uint64_t piece_bytes_max);

} // namespace troupe::scheduled
