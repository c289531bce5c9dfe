// A factorization in a folder:
//
//     model.json          rank, users, items, biases, mean, and what the run says of itself
//     user_factors.npy    float32, users x rank
//     item_factors.npy    float32, items x rank
//     user_biases.npy     float32, users; only with biases
//     item_biases.npy     float32, items; only with biases
//     user_names.txt      a name in each line, as the data has them; not there if it has none
//     item_names.txt      likewise
//
// A rating is predicted as mean + user bias + item bias + user factors . item factors. load_model (model.hpp) reads it back.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "apps/factorization/model.hpp"
#include "schemas/base/error.hpp"
#include "schemas/base/json.hpp"

namespace troupe::factorization {

// Returns the names of the files. `facts` go into model.json behind the model's own. Blocks on files. errc::io: a file
// cannot be written.
result<std::vector<std::string>> write_model(const std::filesystem::path& directory,
                                             const factor_model& model, const json& facts);

} // namespace troupe::factorization
