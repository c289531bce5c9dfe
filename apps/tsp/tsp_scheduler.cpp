#include "apps/tsp/tsp_scheduler.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "actors/scheduled/named_numbers.hpp"

namespace troupe::tsp {

using scheduled::payload;

namespace {

constexpr std::int64_t phases_between_probes = 8;
constexpr std::uint32_t colonies_shown_max = 16;
constexpr std::int64_t tours_max = std::int64_t{1} << 60;

bool is_count(std::int64_t x) {
    return x >= 0 && x <= tours_max;
}

// Tours of each colony: built before a phase, and in it.
struct phase_tours {
    std::int64_t first, count;
};
result<phase_tours> read_tours(const scheduled::phase& p) {
    const auto tours = scheduled::read<std::int64_t>(p.content, 0, 2, "the tours of a phase");
    if (!tours)
        return tours.failure();
    if (!is_count((*tours)[0]) || !is_count((*tours)[1]))
        return error{errc::protocol, "a phase has impossible numbers of tours"};
    return phase_tours{(*tours)[0], (*tours)[1]};
}

} // namespace

scheduler_options options_of(const scheduled::scheduler_site& site, const tsp_settings& settings) {
    return {site.memory,
            settings.exchange,
            site.workers,
            site.data.rows,
            tours_of_phase(settings, site),
            tours_between_exchanges(settings, site),
            site.stop.length,
            site.stop.iterations};
}

// ---- phases ----

bool tsp_scheduler::is_over() const noexcept {
    return found_.are_there() &&
           ((options_.length > 0 &&
             static_cast<std::uint64_t>(found_.best_length()) <= options_.length) ||
            (options_.tours > 0 &&
             static_cast<std::uint64_t>(found_.least_built()) >= options_.tours));
}

result<scheduled::phase> tsp_scheduler::schedule(std::uint64_t number, random_stream&) {
    const auto done = static_cast<std::uint64_t>(scheduled_);
    const std::uint64_t left = options_.tours == 0     ? options_.tours_of_phase
                               : done < options_.tours ? options_.tours - done
                                                       : 0;
    if (left == 0 || is_over() || since_probe_ >= phases_between_probes) {
        since_probe_ = 0;
        return scheduled::phase{number, true, {}};
    }
    const auto count = static_cast<std::int64_t>(std::min(left, options_.tours_of_phase));
    auto content = scheduled::payload_of(*options_.memory, std::array{scheduled_, count});
    if (!content)
        return content.failure();
    scheduled_ += count;
    ++since_probe_;
    return scheduled::phase{number, false, std::move(*content)};
}

std::string tsp_scheduler::describe(const scheduled::phase& p) const {
    if (p.is_probe)
        return "probe";
    const auto tours = read_tours(p);
    if (!tours)
        return scheduled::plain_description(p);
    return "tours " + std::to_string(tours->first) + " to " +
           std::to_string(tours->first + tours->count - 1) + " of each colony";
}

result<payload> tsp_scheduler::pull(const scheduled::phase& p, scheduled::in_flight,
                                    std::span<const payload> partials) {
    const auto tours = read_tours(p);
    if (!tours)
        return tours.failure();
    if (tours->first != pulled_ || partials.size() != found_.colonies())
        return error{errc::protocol, "a phase does not follow the one before it"};
    for (std::uint32_t c = 0; c < found_.colonies(); ++c) {
        const auto numbers =
            scheduled::read<std::int64_t>(partials[c], 0, 2, "what a colony has built");
        const auto tour = scheduled::read<city>(partials[c], 1, "a colony's tour");
        if (const error* failure = scheduled::first_failure(numbers, tour))
            return *failure;
        if (auto taken = found_.take(c, (*numbers)[0], (*numbers)[1], *tour); !taken)
            return taken.failure();
    }
    const auto every = static_cast<std::int64_t>(options_.tours_between_exchanges);
    const std::int64_t before = pulled_;
    pulled_ += tours->count;
    return before / every < pulled_ / every ? exchange() : payload{};
}

result<payload> tsp_scheduler::exchange() {
    std::vector<std::int32_t> from;
    if (options_.exchange == exchange_kind::ring)
        from = found_.changed();
    else if (options_.exchange == exchange_kind::all &&
             (found_.best_given() < 0 || found_.best_length() < found_.best_given()))
        from = {static_cast<std::int32_t>(found_.best())};
    if (from.empty() || found_.colonies() == 1)
        return payload{};
    std::vector<std::int64_t> lengths;
    std::vector<city> tours;
    for (const std::int32_t colony : from) {
        const auto c = static_cast<std::uint32_t>(colony);
        lengths.push_back(found_.lengths()[c]);
        tours.insert(tours.end(), found_.tour_of(c).begin(), found_.tour_of(c).end());
    }
    found_.handed_out();
    return scheduled::payload_of(*options_.memory, from, lengths, tours);
}

// ---- probes ----

result<payload> tsp_scheduler::judge(std::uint64_t, scheduled::in_flight,
                                     std::span<const payload> partials) {
    double mean = 0, branching = 0;
    for (const payload& partial : partials) {
        const auto numbers = scheduled::read<double>(partial, 0, 2, "what a colony says of itself");
        if (!numbers)
            return numbers.failure();
        mean += (*numbers)[0] / static_cast<double>(partials.size());
        branching += (*numbers)[1] / static_cast<double>(partials.size());
    }
    if (!std::isfinite(mean) || !std::isfinite(branching) || !found_.are_there())
        return error{errc::protocol, "a colony says nothing of itself that is a number"};
    return scheduled::payload_of(*options_.memory, std::array{mean, branching});
}

result<scheduled::standing> tsp_scheduler::conclude(std::uint64_t,
                                                    std::span<const payload> judgements) {
    if (judgements.size() != 1)
        return error{errc::protocol, "the tours of all colonies are with one scheduler"};
    const auto means = scheduled::read<double>(judgements[0], 0, 2, "means of the colonies");
    if (!means)
        return means.failure();
    const auto lengths = found_.lengths();
    if (course_.empty() ||
        !std::equal(lengths.begin(), lengths.end(),
                    course_.end() - static_cast<std::ptrdiff_t>(lengths.size()))) {
        course_.push_back(found_.least_built());
        course_.insert(course_.end(), lengths.begin(), lengths.end());
    }
    scheduled::standing now;
    now.is_done = is_over();
    const auto count = [&](std::string name, std::int64_t value) {
        now.numbers.push_back(
            {std::move(name), static_cast<double>(value), proto::NumberStyle::COUNT});
    };
    count("length", found_.best_length());
    count("mean", std::llround((*means)[0]));
    now.numbers.push_back({"branching", (*means)[1], proto::NumberStyle::REAL});
    count("tours", found_.least_built());
    if (found_.colonies() > 1)
        for (std::uint32_t c = 0; c < std::min(found_.colonies(), colonies_shown_max); ++c)
            count("colony_" + std::to_string(c), lengths[c]);
    if (found_.best_length() == shown_)
        return now;
    auto tour = scheduled::payload_of(*options_.memory, found_.tour_of(found_.best()));
    if (!tour)
        return tour.failure();
    now.so_far = std::move(*tour);
    shown_ = found_.best_length();
    return now;
}

// ---- as it is saved ----

result<scheduled::saved_part> tsp_scheduler::save() const {
    scheduled::state_writer write{*options_.memory};
    write("tours", found_.tours())("lengths", found_.lengths())("built", found_.built());
    write("given", found_.given())("counts", std::array{scheduled_, pulled_, since_probe_});
    return std::move(write("course", course_)).finish();
}

result<void> tsp_scheduler::load(const scheduled::saved_part& saved) {
    const auto tours = scheduled::read_state<city>(saved, "tours");
    const auto lengths = scheduled::read_state<std::int64_t>(saved, "lengths"),
               built = scheduled::read_state<std::int64_t>(saved, "built"),
               given = scheduled::read_state<std::int64_t>(saved, "given"),
               counts = scheduled::read_state<std::int64_t>(saved, "counts"),
               course = scheduled::read_state<std::int64_t>(saved, "course");
    if (const error* failure =
            scheduled::first_failure(tours, lengths, built, given, counts, course))
        return *failure;
    if (counts->size() != 3 || !std::ranges::all_of(*counts, is_count) ||
        course->size() % (1 + std::size_t{options_.colonies}) != 0)
        return error{errc::protocol, "what a scheduler of tsp has saved has other sizes"};
    if (auto loaded = found_.load(*tours, *lengths, *built, *given); !loaded)
        return loaded;
    scheduled_ = (*counts)[0];
    pulled_ = (*counts)[1];
    since_probe_ = (*counts)[2];
    course_.assign(course->begin(), course->end());
    return {};
}

result<void> forget_phases_under_way(scheduled::saved_part& saved, memory_pool& memory) {
    const auto counts = scheduled::read_state<std::int64_t>(saved, "counts");
    if (!counts)
        return counts.failure();
    if (counts->size() != 3)
        return error{errc::data, "what a scheduler of tsp has saved has other sizes"};
    auto made = scheduled::numbers_of<std::int64_t>(
        memory, std::array{(*counts)[1], (*counts)[1], std::int64_t{0}});
    if (!made)
        return made.failure();
    saved.tensors[static_cast<std::size_t>(std::ranges::find(saved.names, "counts") -
                                           saved.names.begin())] = std::move(*made);
    return {};
}

} // namespace troupe::tsp
