// Answers `troupe evaluate` and `troupe predict` from a result of the program "lda".
//
// Words of the data are those of the model by name, where both have names, else by number. Words that the model does not
// know are passed over.
//
// Threads: pure functions; they block on files. Errors: those of load_model and of the data; errc::usage for data with
// columns that the model has not, errc::data for values that are no counts.
#pragma once

#include <vector>

#include "actors/scheduled/program.hpp"
#include "schemas/base/error.hpp"

namespace troupe::lda {

// "perplexity" of the words of the data (topic_model.hpp), and the numbers of "documents" and "tokens" whose words are
// known. For documents that the model was found from, it is too good.
result<std::vector<std::vector<named_number>>> score(const scheduled::result_use& use);

// The shares of all topics, a line for each document.
result<void> predict(const scheduled::result_use& use, scheduled::prediction_table& to);

} // namespace troupe::lda
