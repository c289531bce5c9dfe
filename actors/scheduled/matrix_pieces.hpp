// A matrix in files as the data of a run of a program.
#pragma once

#include "actors/data/matrix/matrix_source.hpp"
#include "actors/scheduled/data_pieces.hpp"

namespace troupe::scheduled {

// Digests and notes of the files (piece_source).
struct matrix_facts {
    std::vector<data_digest> digests = {};
    std::vector<std::string> notes = {};
};

// Pieces of at most so many bytes, if that is at least a row.
std::shared_ptr<piece_source> pieces_of(matrix_source source, std::uint64_t piece_bytes_max,
                                        matrix_facts facts = {});

} // namespace troupe::scheduled
