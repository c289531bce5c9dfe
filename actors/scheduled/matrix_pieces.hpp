// A matrix in files as the data of a run of a program.
#pragma once

#include "actors/data/matrix_source.hpp"
#include "actors/scheduled/data_pieces.hpp"
#include "schemas/program_app.capnp.h"

namespace troupe::scheduled {

// Opens the files that `data` names, reads them once and checks them. Blocks on files. Errors: as matrix_source says; those
// that name a key begin with "KEY: ", as "data.matrix.features: ...".
result<std::shared_ptr<piece_source>> open_data(proto::ProgramData::Reader data,
                                                bool needs_targets);

// Pieces of at most so many bytes, if that is at least a row.
std::shared_ptr<piece_source> pieces_of(matrix_source source, std::uint64_t piece_bytes_max);

} // namespace troupe::scheduled
