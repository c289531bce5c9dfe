#include "apps/factorization/rotating_items.hpp"

#include <array>

#include "actors/scheduled/named_numbers.hpp"
#include "schemas/base/quantities.hpp"

namespace troupe::factorization {

rotating_items::rotating_items(const scheduled::scheduler_site& site,
                               const factorization_settings& settings)
    : memory_{*site.memory}, settings_{settings}, ring_{site.ring()}, progress_{settings.penalty,
                                                                                site.stop.gap} {}

result<scheduled::phase> rotating_items::schedule(std::uint64_t number, random_stream&) {
    return scheduled::phase{number, ring_.is_probe(number), {}};
}

result<scheduled::payload> rotating_items::pull(const scheduled::phase& p, scheduled::in_flight,
                                                std::span<const scheduled::payload> partials) {
    const auto sums = sum_of(partials);
    if (!sums)
        return sums.failure();
    sums_.add(*sums);
    if (p.number > 0)
        return scheduled::payload{};
    rating_moments all;
    for (const scheduled::payload& partial : partials) {
        const auto m = scheduled::read<double>(partial, 1, 3, "the mean of a worker's ratings");
        if (!m)
            return m.failure();
        all.add({(*m)[0], (*m)[1], (*m)[2]});
    }
    level_ = level_of(all, settings_.has_biases);
    return scheduled::payload_of(memory_, std::array{level_.mean, level_.spread});
}

result<scheduled::payload> rotating_items::judge(std::uint64_t, scheduled::in_flight,
                                                 std::span<const scheduled::payload> partials) {
    const auto sums = sum_of(partials);
    if (!sums)
        return sums.failure();
    sums_.add(*sums);
    return to_payload(memory_, sums_);
}

result<scheduled::standing>
rotating_items::conclude(std::uint64_t, std::span<const scheduled::payload> judgements) {
    const auto sums = sum_of(judgements);
    if (!sums)
        return sums.failure();
    sums_ = {};
    return progress_.conclude(*sums, advice());
}

std::string rotating_items::advice() const {
    return "use a smaller program.factorization.rate, such as " + two_digits(settings_.rate / 4);
}

std::string rotating_items::describe(const scheduled::phase& p) const {
    const std::uint64_t sweep = p.number / ring_.phases_per_sweep();
    if (p.is_probe)
        return "probe after sweep " + std::to_string(sweep + 1);
    return "turn " + std::to_string(p.number % ring_.phases_per_sweep() + 1) + " of " +
           std::to_string(ring_.blocks()) + " of sweep " + std::to_string(sweep + 1);
}

// ---- as it is saved ----

result<scheduled::saved_part> rotating_items::save() const {
    scheduled::state_writer write{memory_};
    write("sums", std::array{sums_.ratings, sums_.squares, sums_.held_out, sums_.held_out_squares,
                             sums_.penalised})("level", std::array{level_.mean, level_.spread});
    write("last", progress_.state());
    return std::move(write).finish();
}

result<void> rotating_items::load(const scheduled::saved_part& saved) {
    const auto sums = scheduled::read_state<double>(saved, "sums");
    const auto level = scheduled::read_state<double>(saved, "level");
    const auto last = read_progress(saved);
    if (const error* failure = scheduled::first_failure(sums, level, last))
        return *failure;
    if (sums->size() != 5 || level->size() != 2)
        return error{errc::protocol, "the saved sums of factorization have other sizes"};
    sums_ = {(*sums)[0], (*sums)[1], (*sums)[2], (*sums)[3], (*sums)[4]};
    level_ = {(*level)[0], (*level)[1]};
    progress_.restore(*last);
    return {};
}

} // namespace troupe::factorization
