// The result of the program "factorization", used on data: how well it predicts ratings, and what it predicts for
// those that a file has.
//
// Users and items of the data are the model's of the same names, if both have names; otherwise those of the same numbers.
//
// Threads: pure functions, which block on files. Errors: errc::data for a result that is none, and for data that is not of
// users and items.
#pragma once

#include <vector>

#include "actors/scheduled/program.hpp"

namespace troupe::factorization {

// "rmse", of what is held out, or of other data than the app file names; "training_rmse", of what the app file has trained
// with; "unknown": ratings of users or items that the model has not, which are predicted as model.hpp says. Each if there
// are any.
result<std::vector<std::vector<named_number>>> score(const scheduled::result_use& use);

// A line for each rating of the data: user, item, prediction. Users and items are texts: their names, or else their
// numbers.
result<void> predict_ratings(const scheduled::result_use& use, scheduled::prediction_table& to);

} // namespace troupe::factorization
