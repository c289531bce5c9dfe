// The result of the program "factorization": the files of a model (model_files.hpp), in whose model.json stand also the
// method, the penalty, the errors; and, if the settings ask for rankings,
//
//     rankings.csv   user,place,item,prediction: the items that come first, without those that the user has rated
//
// The error of held-out ratings is that of the factors as they are written. The training error is that of the last sweep,
// which for sgd is of each rating before it was learned from.
#pragma once

#include <string>
#include <vector>

#include "actors/scheduled/program.hpp"
#include "apps/factorization/model.hpp"
#include "schemas/base/error.hpp"

namespace troupe::factorization {

// Blocks on files. errc::protocol for saved parts that do not fit; errc::io: a file cannot be written.
result<std::vector<std::string>> write_result(const scheduled::result_site& site,
                                              const scheduled::ended_run& run);

// The model that these parts have saved, by either method.
result<factor_model> model_of(const scheduled::program_site& site, const scheduled::ended_run& run);

// All that is held out, of all workers.
result<std::vector<rating_entry>> held_out_of(const scheduled::ended_run& run, std::uint64_t users,
                                              std::uint64_t items);

} // namespace troupe::factorization
