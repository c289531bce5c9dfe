// Opens what app files name as data, as the data of a run of a program.
#pragma once

#include <functional>

#include "actors/data/matrix/data_rule.hpp"
#include "actors/scheduled/data_pieces.hpp"
#include "schemas/program_app.capnp.h"

namespace troupe::scheduled {

struct data_use {
    bool needs_targets = false; // each row must have one
    // They are not looked at: files of targets are not opened, and a column with that name is left out, whatever it holds,
    // or is not there.
    bool ignores_targets = false;
    // Whether columns may be dealt less a number each (piece_source::offsets).
    bool takes_offsets = false;
    bool takes_remainders = false; // matrix_piece::remainders
    data_rule* rule = nullptr;     // of matrices; null: there is none
    // In the place of the one with the rows; empty: the one that the app file names. All words of its documents are kept
    // that the app file's rules and lists leave, and none of its ratings are held out.
    std::string file = {};
    std::function<result<std::shared_ptr<piece_source>>(const std::string&)> open_cities =
        {}; // program::open_cities
};

// Opens the files that `data` names, reads them once and checks them. Blocks on files. Errors: as matrix_source.hpp,
// documents.hpp and ratings.hpp in actors/data say; those that name a key begin with "KEY: ", as
// "data.matrix.features: ...", or with "--data: " if it is of data_use::file.
result<std::shared_ptr<piece_source>> open_data(proto::ProgramData::Reader data,
                                                const data_use& use);

} // namespace troupe::scheduled
