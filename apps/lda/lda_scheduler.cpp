#include "apps/lda/lda_scheduler.hpp"

#include <array>
#include <cmath>

#include "apps/lda/likelihood.hpp"
#include "apps/lda/saved_topics.hpp"

namespace troupe::lda {

using scheduled::payload;

scheduler_options options_of(const scheduled::scheduler_site& site, const lda_settings& settings) {
    return {site.memory, settings, site.ring(), site.data.columns};
}

result<scheduled::phase> lda_scheduler::schedule(std::uint64_t number, random_stream&) {
    return scheduled::phase{number, options_.ring.is_probe(number), {}};
}

std::string lda_scheduler::describe(const scheduled::phase& p) const {
    if (p.is_probe)
        return "probe";
    const std::uint64_t turn = options_.ring.turns_before(p.number);
    return "turn " + std::to_string(turn) + " of sweep " +
           std::to_string(options_.ring.sweep_of_turn(turn));
}

result<payload> lda_scheduler::pull(const scheduled::phase&, scheduled::in_flight,
                                    std::span<const payload> partials) {
    std::vector<std::int64_t> changes(totals_.size());
    for (const payload& partial : partials) {
        const auto own = scheduled::read<std::int64_t>(partial, 0, totals_.size(),
                                                       "a worker's changes of the totals");
        if (!own)
            return own.failure();
        for (std::size_t k = 0; k < changes.size(); ++k)
            changes[k] += (*own)[k];
    }
    for (std::size_t k = 0; k < changes.size(); ++k)
        totals_[k] += changes[k];
    return scheduled::payload_of(*options_.memory, changes);
}

// ---- probes ----

result<void> lda_scheduler::check_totals(std::span<const std::int64_t> blocks,
                                         std::int64_t tokens) const {
    std::int64_t sum = 0;
    for (std::size_t k = 0; k < totals_.size(); ++k) {
        if (totals_[k] < 0 || totals_[k] != blocks[k])
            return error{errc::protocol,
                         "topic " + std::to_string(k) + " has " + std::to_string(totals_[k]) +
                             " tokens, but " + std::to_string(blocks[k]) +
                             " in the counts of words; this is a fault of troupe or of a node of "
                             "another build"};
        sum += totals_[k];
    }
    if (sum != tokens)
        return error{errc::protocol, "topics have " + std::to_string(sum) +
                                         " tokens, but documents " + std::to_string(tokens) +
                                         "; this is a fault of troupe or of a node of another "
                                         "build"};
    return {};
}

result<payload> lda_scheduler::judge(std::uint64_t, scheduled::in_flight,
                                     std::span<const payload> partials) {
    const double beta_words = options_.settings.priors.beta * static_cast<double>(options_.words);
    double likelihood = 0;
    std::int64_t tokens = 0;
    std::vector<std::int64_t> blocks(totals_.size());
    for (const payload& partial : partials) {
        const auto parts = scheduled::read<double>(partial, 0, 2, "a worker's likelihood");
        const auto totals =
            scheduled::read<std::int64_t>(partial, 1, totals_.size(), "a worker's totals");
        const auto own = scheduled::read<std::int64_t>(partial, 2, 1, "a worker's tokens");
        if (const error* failure = scheduled::first_failure(parts, totals, own))
            return *failure;
        likelihood += (*parts)[0] + (*parts)[1];
        tokens += own->front();
        for (std::size_t k = 0; k < blocks.size(); ++k)
            blocks[k] += (*totals)[k];
    }
    if (auto agree = check_totals(blocks, tokens); !agree)
        return agree.failure();
    if (tokens == 0)
        return error{errc::data, "the documents have no words: all counts are 0"};
    likelihood += likelihood_of_totals(totals_, beta_words);
    return scheduled::payload_of(*options_.memory, std::array{likelihood}, std::array{tokens});
}

result<scheduled::standing> lda_scheduler::conclude(std::uint64_t,
                                                    std::span<const payload> judgements) {
    if (judgements.size() != 1)
        return error{errc::protocol, "the totals of topics are with one scheduler"};
    const auto likelihood = scheduled::read<double>(judgements[0], 0, 1, "a likelihood");
    const auto tokens = scheduled::read<std::int64_t>(judgements[0], 1, 1, "a number of tokens");
    if (const error* failure = scheduled::first_failure(likelihood, tokens))
        return *failure;
    if (!std::isfinite(likelihood->front()) || tokens->front() <= 0)
        return error{errc::numeric, "the likelihood of the topics is no number"};
    likelihood_ = likelihood->front();
    tokens_ = tokens->front();
    ++sweeps_;
    return scheduled::standing{{{"likelihood", likelihood_, proto::NumberStyle::PRECISE},
                                {"per_token", likelihood_ / static_cast<double>(tokens_)}},
                               false};
}

// ---- as it is saved ----

result<scheduled::saved_part> lda_scheduler::save() const {
    scheduled::state_writer write{*options_.memory};
    write("totals", totals_)("likelihood", std::array{likelihood_})("sums",
                                                                    std::array{tokens_, sweeps_});
    return std::move(write).finish();
}

result<saved_standing> read_standing(const scheduled::saved_part& saved) {
    const auto totals = scheduled::read_state<std::int64_t>(saved, "totals"),
               sums = scheduled::read_state<std::int64_t>(saved, "sums");
    const auto likelihood = scheduled::read_state<double>(saved, "likelihood");
    if (const error* failure = scheduled::first_failure(totals, sums, likelihood))
        return *failure;
    if (sums->size() != 2 || likelihood->size() != 1)
        return error{errc::protocol, "what a scheduler of lda has saved has other sizes"};
    return saved_standing{
        {totals->begin(), totals->end()}, likelihood->front(), (*sums)[0], (*sums)[1]};
}

result<void> lda_scheduler::load(const scheduled::saved_part& saved) {
    auto standing = read_standing(saved);
    if (!standing)
        return standing.failure();
    if (standing->totals.size() != totals_.size())
        return error{errc::protocol, "the saved totals are of other topics"};
    totals_ = std::move(standing->totals);
    likelihood_ = standing->likelihood;
    tokens_ = standing->tokens;
    sweeps_ = standing->sweeps;
    return {};
}

} // namespace troupe::lda
