// Ratings for runs of factorization, the runs, and what alternating least squares over all the data finds.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "apps/factorization/model.hpp"
#include "apps/factorization/settings.hpp"
#include "tests/support/program_driver.hpp"

namespace troupe::test {

struct ratings {
    matrix_rows learned;
    matrix_rows held_out; // of as many users and items; none if it has no values
    std::vector<factorization::rating_entry> held_out_entries() const;
};

// Products of `rank` random factors, biases and noise, rounded to float32. A tenth is held out.
struct made_ratings {
    std::uint64_t users = 300, items = 200;
    double share = 0.3; // of all pairs
    std::uint32_t rank = 3;
    double noise = 0.1;
    double mean = 3.5, scale = 1; // of everything around the mean
    std::uint64_t seed = 1;
};
ratings make_ratings(const made_ratings& made);

// "user item rating" in lines, users and items counted from 0.
ratings read_ratings(const std::filesystem::path& learned, const std::filesystem::path& held_out);

struct factorization_case {
    factorization::factorization_settings settings;
    driven_run run; // its program and settings are filled in
};
// Rotation with `workers`, each of two blocks, or the cyclic schedule with one scheduler.
factorization_case sgd_case(std::uint32_t rank, std::uint32_t workers, std::uint64_t sweeps);
factorization_case coordinates_case(std::uint32_t rank, std::uint32_t workers,
                                    std::uint64_t sweeps);

struct factorization_result {
    driven_result driven;
    factorization::factor_model model;
    std::vector<factorization::rating_entry> held_out; // as the workers have saved them
    std::vector<std::int32_t> item_counts;             // of the blocks, if they rotate

    // By name, of the last probe; -1 if it has none.
    double last(const char* name) const;
};
result<factorization_result> run_factorization(const factorization_case& c, const ratings& data);
// Fails the test if the run fails.
factorization_result run_well(const factorization_case& c, const ratings& data);
// Also writes the result there.
result<std::vector<std::string>> write_factorization(const factorization_case& c,
                                                     const ratings& data,
                                                     const std::filesystem::path& directory);

// The objective that sgd and coordinates minimise, of these ratings, per rating.
double objective_of(const factorization::factor_model& model, const matrix_rows& rows,
                    double penalty);

// Least squares for all users, and for all items, in turn, from random factors.
factorization::factor_model alternate(const factorization::factorization_settings& settings,
                                      const matrix_rows& rows, int sweeps);

} // namespace troupe::test
