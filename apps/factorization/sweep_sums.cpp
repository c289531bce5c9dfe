#include "apps/factorization/sweep_sums.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "actors/scheduled/named_numbers.hpp"

namespace troupe::factorization {

void sweep_sums::add(const sweep_sums& other) {
    ratings += other.ratings;
    squares += other.squares;
    held_out += other.held_out;
    held_out_squares += other.held_out_squares;
    penalised += other.penalised;
}

result<scheduled::payload> to_payload(memory_pool& memory, const sweep_sums& sums) {
    return scheduled::payload_of(memory, std::array{sums.ratings, sums.squares, sums.held_out,
                                                    sums.held_out_squares, sums.penalised});
}

result<sweep_sums> read_sums(const scheduled::payload& from) {
    const auto n = scheduled::read<double>(from, 0, 5, "the sums of a sweep");
    if (!n)
        return n.failure();
    return sweep_sums{(*n)[0], (*n)[1], (*n)[2], (*n)[3], (*n)[4]};
}

result<sweep_sums> sum_of(std::span<const scheduled::payload> parts) {
    sweep_sums all;
    for (const scheduled::payload& part : parts) {
        const auto sums = read_sums(part);
        if (!sums)
            return sums.failure();
        all.add(*sums);
    }
    return all;
}

result<scheduled::standing> progress::conclude(const sweep_sums& sums, const std::string& advice) {
    const double objective = (sums.squares + penalty_ * sums.penalised) / sums.ratings;
    if (!std::isfinite(objective))
        return error{errc::numeric,
                     "the factors have grown beyond what float32 holds in sweep " +
                         std::to_string(static_cast<std::uint64_t>(last_.sweeps) + 1) + "; " +
                         advice};
    const double before = last_.objective;
    last_.objective = objective;
    last_.training_rmse = std::sqrt(sums.squares / sums.ratings);
    last_.sweeps += 1;
    scheduled::standing standing;
    if (sums.held_out > 0) {
        last_.rmse = std::sqrt(sums.held_out_squares / sums.held_out);
        standing.numbers.push_back({"rmse", last_.rmse, proto::NumberStyle::PRECISE});
    }
    standing.numbers.push_back({"training_rmse", last_.training_rmse, proto::NumberStyle::PRECISE});
    standing.numbers.push_back({"objective", objective, proto::NumberStyle::PRECISE});
    standing.is_done = gap_ > 0 && before >= 0 && std::abs(before - objective) <= gap_ * objective;
    return standing;
}

result<progress::numbers> read_progress(const scheduled::saved_part& saved) {
    const auto last = scheduled::read_state<double>(saved, "last");
    if (!last)
        return last.failure();
    constexpr double sweeps_max = 1e15;
    if (last->size() != 4 ||
        !std::ranges::all_of(*last, [](double x) { return std::isfinite(x); }) || (*last)[3] < 0 ||
        (*last)[3] > sweeps_max)
        return error{errc::protocol, "what factorization has saved of its last sweep is not that"};
    return progress::numbers{(*last)[0], (*last)[1], (*last)[2], (*last)[3]};
}

} // namespace troupe::factorization
