#include "apps/tsp/tsp_worker.hpp"

#include <algorithm>
#include <array>

#include "actors/scheduled/named_numbers.hpp"
#include "schemas/base/quantities.hpp"
#include "schemas/base/random.hpp"

namespace troupe::tsp {

using scheduled::payload;

namespace {

constexpr std::int64_t run_tours_max = std::int64_t{1} << 60; // of a run

} // namespace

worker_options options_of(const scheduled::worker_site& site, const tsp_settings& settings) {
    return {site.memory,
            settings,
            site.seed,
            site.worker,
            site.workers,
            site.data.rows,
            tours_of_phase(settings, site)};
}

std::uint64_t colony_seed(std::uint64_t run_seed, std::uint32_t worker) {
    std::uint64_t state = run_seed;
    state = split_mix(state) ^ worker;
    return split_mix(state);
}

tsp_worker::tsp_worker(worker_options options) : options_{options} {
    builder_.emplace(options_.cities);
}

// ---- data ----

result<void> tsp_worker::take_data(const payload& piece) {
    if (!builder_)
        return error{errc::protocol, "a colony is dealt cities after the last one"};
    return builder_->append(piece);
}

result<void> tsp_worker::data_is_complete() {
    auto cities = builder_->finish();
    builder_.reset();
    if (!cities)
        return cities.failure();
    cities_.emplace(std::move(*cities));
    near_.emplace(candidates_for(*cities_, options_.settings.colony));
    colony_ = make_colony(*cities_, *near_, options_.settings.colony,
                          colony_seed(options_.seed, options_.worker));
    return {};
}

// ---- phases ----

result<payload> tsp_worker::push(const scheduled::phase& p, compute_context& context) {
    const auto tours = scheduled::read<std::int64_t>(p.content, 0, 2, "the tours of a phase");
    if (!tours)
        return tours.failure();
    if ((*tours)[1] < 1 || static_cast<std::uint64_t>((*tours)[1]) > options_.tours_max)
        return error{errc::protocol, "a phase of more tours than this run has in a phase, or none"};
    const auto built = colony_->advance(static_cast<std::uint64_t>((*tours)[1]), context.ops);
    if (!built)
        return built.failure();
    built_ += static_cast<std::int64_t>(*built);
    const std::int64_t length = colony_->best_length();
    const bool is_new = sent_ < 0 || length < sent_;
    sent_ = length;
    return scheduled::payload_of(*options_.memory, std::array{length, built_},
                                 is_new ? colony_->best() : std::span<const city>{});
}

result<payload> tsp_worker::probe(const scheduled::phase&, std::uint32_t, compute_context&) {
    const colony_report report = colony_->report();
    return scheduled::payload_of(*options_.memory, std::array{report.mean, report.branching});
}

std::string tsp_worker::describe(const scheduled::phase& p) const {
    if (p.is_probe)
        return "probe";
    return counted(static_cast<std::uint64_t>(built_), "tour") + ", best " +
           std::to_string(colony_->best_length());
}

bool tsp_worker::hears(std::uint32_t from) const noexcept {
    if (options_.settings.exchange == exchange_kind::ring)
        return (from + 1) % options_.workers == options_.worker;
    return options_.settings.exchange == exchange_kind::all;
}

result<void> tsp_worker::apply(const scheduled::phase_deltas& deltas) {
    if (deltas.changes.empty())
        return {}; // a probe, or no exchange
    const std::size_t n = options_.cities;
    const auto from = scheduled::read<std::int32_t>(deltas.changes, 0, "numbers of colonies");
    const auto lengths = scheduled::read<std::int64_t>(deltas.changes, 1, "lengths of tours");
    const auto tours = scheduled::read<city>(deltas.changes, 2, "tours of colonies");
    if (const error* failure = scheduled::first_failure(from, lengths, tours))
        return *failure;
    if (from->size() > options_.workers || lengths->size() != from->size() ||
        tours->size() != from->size() * n)
        return error{errc::protocol, "tours of colonies that are not as many as their lengths"};
    for (std::size_t i = 0; i < from->size(); ++i) {
        const auto tour = tours->subspan(i * n, n);
        if ((*from)[i] < 0 || static_cast<std::uint32_t>((*from)[i]) >= options_.workers)
            return error{errc::protocol, "a tour of a colony that the run has not"};
        if (!is_tour(tour, n) || cities_->length_of(tour) != (*lengths)[i])
            return error{errc::protocol, "colony " + std::to_string((*from)[i]) +
                                             " sends what is no tour of all cities, or of another "
                                             "length than it says"};
        if (hears(static_cast<std::uint32_t>((*from)[i])))
            colony_->take_in(tour);
    }
    return {};
}

// ---- as it is saved ----

result<scheduled::saved_part> tsp_worker::save() const {
    const colony_state state = colony_->save();
    scheduled::state_writer write{*options_.memory};
    return std::move(write("numbers", state.numbers)("tours", state.tours)("trails", state.trails)(
                         "counts", std::array{built_, sent_}))
        .finish();
}

result<void> tsp_worker::load(const scheduled::saved_part& saved) {
    const auto numbers = scheduled::read_state<std::int64_t>(saved, "numbers"),
               counts = scheduled::read_state<std::int64_t>(saved, "counts");
    const auto tours = scheduled::read_state<city>(saved, "tours");
    const auto trails = scheduled::read_state<double>(saved, "trails");
    if (const error* failure = scheduled::first_failure(numbers, counts, tours, trails))
        return *failure;
    if (counts->size() != 2 || counts->front() < 0 || counts->front() > run_tours_max)
        return error{errc::protocol, "what a colony has saved has other sizes"};
    built_ = (*counts)[0];
    sent_ = (*counts)[1];
    return colony_->load({{numbers->begin(), numbers->end()},
                          {tours->begin(), tours->end()},
                          {trails->begin(), trails->end()}});
}

} // namespace troupe::tsp
