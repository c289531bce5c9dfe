// A factorization as it is used: predictions, rankings, errors. It is what a run leaves behind in a folder
// (model_files.hpp).
//
//     const auto model = load_model("result");
//     predict(*model, user, item);
//     for (const ranked_item& r : rank(*model, user, 10, rated_by_user)) ...
//
// Threads: a value and pure functions. Users and items are numbers from 0; predict and rank need those that the model has.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schemas/base/error.hpp"

namespace troupe::factorization {

struct factor_model {
    std::uint32_t rank = 0;
    std::uint64_t users = 0, items = 0;
    double mean = 0; // 0 without biases
    bool has_biases = false;
    std::vector<float> user_factors, item_factors;   // rank numbers for each
    std::vector<float> user_biases, item_biases;     // zeros without biases
    std::vector<std::string> user_names, item_names; // of all, or none
};

struct rating_entry {
    std::uint64_t user = 0, item = 0;
    float rating = 0;
};

struct ranked_item {
    std::uint64_t item = 0;
    float prediction = 0;
    friend bool operator==(const ranked_item&, const ranked_item&) = default;
};

// Blocks on files. errc::io or errc::data: what is missing there, or is not the file of such a model.
result<factor_model> load_model(const std::filesystem::path& directory);

double predict(const factor_model& model, std::uint64_t user, std::uint64_t item);
// The prediction for users or items that the model does not know is that for all: without their bias and factors.
double predict_known(const factor_model& model, std::optional<std::uint64_t> user,
                     std::optional<std::uint64_t> item);

// Root mean square error; 0 of no entries. All users and items must be the model's.
double rmse(const factor_model& model, std::span<const rating_entry> entries);

// At most n items with the highest predictions, the best first, and of equal ones the first; without `seen`, which rises.
std::vector<ranked_item> rank(const factor_model& model, std::uint64_t user, std::size_t n,
                              std::span<const std::int32_t> seen);

// The same for many users, several times as fast. The model must outlive it. One thread at a time.
class item_ranker {
  public:
    explicit item_ranker(const factor_model& model);
    std::vector<ranked_item> top(std::uint64_t user, std::size_t n,
                                 std::span<const std::int32_t> seen);

  private:
    const factor_model& model_;
    std::vector<float> factors_; // of the items, factor by factor
    std::vector<float> scores_;
};

} // namespace troupe::factorization
