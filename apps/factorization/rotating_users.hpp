// The worker part of factorization by sgd: users, their factors and biases, and their ratings. The items' are in blocks that
// pass from worker to worker.
//
// A block has three tensors:
//
//     0  factors  float32, items x stride: the rank rounded up to a multiple of 8, with zeros
//     1  biases   float32, items
//     2  counts   int32, items: ratings of workers that have had the block; of all from the second sweep on
//
// Factors are drawn at random, for ratings whose spread is 1; the worker that has a block first scales them. In a turn a
// worker passes over the ratings of its users for the block's items once. The order of groups of users, and of tiles of
// items, differs from turn to turn, and depends on the seed.
//
// The mean and the spread of all ratings are known when the changes of turn 0 are applied; before that each worker has those
// of its own ratings, and what its users' biases are around changes with them.
//
// Threads, ownership, errors: as scheduled::worker_part says. errc::data for ratings that are no numbers; errc::exhausted if
// the factors of the users do not fit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "actors/scheduled/program.hpp"
#include "apps/factorization/settings.hpp"
#include "apps/factorization/sgd_loops.hpp"
#include "apps/factorization/sweep_sums.hpp"
#include "apps/factorization/user_ratings.hpp"

namespace troupe::factorization {

struct rotating_options {
    memory_pool* memory = nullptr; // outlives the part
    factorization_settings settings;
    std::uint64_t seed = 0;
    scheduled::rotation ring;
    std::uint32_t worker = 0;
    std::uint64_t items = 0;
    scheduled::number_range users;               // of this worker
    std::vector<scheduled::number_range> blocks; // of items
};
rotating_options options_of(const scheduled::worker_site& site,
                            const factorization_settings& settings);

class rotating_users final : public scheduled::worker_part {
  public:
    explicit rotating_users(rotating_options options);

    result<void> take_data(const scheduled::payload& piece) override {
        return ratings_.take(piece);
    }
    result<void> data_is_complete() override;
    result<void> apply(const scheduled::phase_deltas& deltas) override;
    result<scheduled::payload> push(const scheduled::phase& p, compute_context& context) override;
    result<scheduled::payload> probe(const scheduled::phase& p, std::uint32_t scheduler,
                                     compute_context& context) override;
    result<scheduled::payload> make_block(std::uint32_t block) override;
    result<scheduled::payload> turn(const scheduled::phase& p, scheduled::held_block& block,
                                    compute_context& context) override;
    std::string describe(const scheduled::phase& p) const override;
    result<scheduled::saved_part> save() const override;
    result<void> load(const scheduled::saved_part& saved) override;

  private:
    // A block's tensors, which may be written.
    struct open_block {
        std::span<float> factors;
        std::span<float> biases;
        std::span<std::int32_t> counts;
    };
    result<open_block> open(scheduled::held_block& block) const;
    void begin(const open_block& b, const scheduled::held_block& block);
    double learn(const open_block& b, const scheduled::held_block& block);
    double squares(const open_block& b, std::uint32_t block);
    factor_view view_of(const open_block& b, std::uint64_t first_item);
    sgd_step step_in(std::uint64_t sweep) const;
    void shift_to(const rating_level& level);

    const rotating_options options_;
    const std::size_t stride_;
    const sgd_loops& loops_;
    user_ratings ratings_;
    tensor factors_;            // users x stride
    std::vector<float> biases_; // of the users; 0 without biases
    rating_level level_;        // as far as it is known
};

} // namespace troupe::factorization
