// What app files name as data, as the data of a run of a program.
#pragma once

#include "actors/scheduled/data_pieces.hpp"
#include "schemas/program_app.capnp.h"

namespace troupe::scheduled {

// Opens the files that `data` names, reads them once and checks them. Blocks on files. Errors: as matrix_source.hpp,
// documents.hpp and ratings.hpp in actors/data say; those that name a key begin with "KEY: ", as
// "data.matrix.features: ...".
result<std::shared_ptr<piece_source>> open_data(proto::ProgramData::Reader data,
                                                bool needs_targets);

} // namespace troupe::scheduled
