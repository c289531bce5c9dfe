// The worker part of factorization by coordinates (CCD++): users, and the residuals of their ratings.
//
// Of each factor, a worker takes its product out of the residuals, makes the users' the best one for the items' as they are,
// and adds up, for the items that a phase is about, what their best ones follow from: the schedulers make these. User biases
// are a factor whose items' are 1, item biases one whose users' are 1; both belong to the first group of a sweep.
//
// Threads, ownership, errors: as scheduled::worker_part says. errc::data for ratings that are no numbers; errc::exhausted if
// the factors do not fit.
//
// Source: CCD++, "Scalable coordinate descent approaches to parallel matrix factorization", Yu, Hsieh, Si and Dhillon, ICDM
// 2012, with one pass over users and items for each factor of a sweep.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "actors/scheduled/program.hpp"
#include "apps/factorization/coordinate_order.hpp"
#include "apps/factorization/settings.hpp"
#include "apps/factorization/sweep_sums.hpp"
#include "apps/factorization/user_ratings.hpp"

namespace troupe::factorization {

struct coordinate_options {
    memory_pool* memory = nullptr; // outlives the part
    factorization_settings settings;
    std::uint64_t seed = 0;
    std::uint64_t items = 0;
    scheduled::number_range users; // of this worker
    coordinate_order order;
    std::vector<scheduled::number_range> sets; // sets_of
};
coordinate_options coordinates_of(const scheduled::worker_site& site,
                                  const factorization_settings& settings);

class coordinate_users final : public scheduled::worker_part {
  public:
    explicit coordinate_users(coordinate_options options);

    result<void> take_data(const scheduled::payload& piece) override {
        return ratings_.take(piece);
    }
    result<void> data_is_complete() override;
    result<void> apply(const scheduled::phase_deltas& deltas) override;
    result<scheduled::payload> push(const scheduled::phase& p, compute_context& context) override;
    result<scheduled::payload> probe(const scheduled::phase& p, std::uint32_t scheduler,
                                     compute_context& context) override;
    // Users are made with the first phase of a group, not with what schedulers send.
    result<void> pass(const scheduled::phase& p, std::uint32_t, compute_context&) override;
    std::string describe(const scheduled::phase& p) const override;
    result<scheduled::saved_part> save() const override;
    result<void> load(const scheduled::saved_part& saved) override;

  private:
    std::span<float> users(std::size_t row);
    std::span<float> items(std::size_t row);
    result<void> begin(const rating_moments& all);
    void begin_group(std::uint64_t group);
    void take_out(std::optional<std::size_t> row, bool fits_users);
    result<scheduled::payload> partial_of(std::size_t set);
    void add_held_out(sweep_sums& to);
    sweep_sums sums();

    const coordinate_options options_;
    const coordinate_rows form_;
    user_ratings ratings_;           // learned(): residuals in the place of the values
    tensor users_, items_;           // rows of factors
    rating_moments all_;             // of all ratings, when they are known
    std::optional<std::size_t> out_; // the row whose product is not in the residuals
};

} // namespace troupe::factorization
