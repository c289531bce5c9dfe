#include "apps/tsp/program_settings.hpp"

#include <algorithm>
#include <string>

#include <kj/exception.h>

#include "apps/tsp/tsp.capnp.h"
#include "apps/tsp/tsp_limits.hpp"
#include "schemas/base/quantities.hpp"

namespace troupe::tsp {

namespace {

// Phases take 0.05 to 0.3 s: an ant of the focused colony takes 25 to 150 us, others without a local search 1 us a city.
// What is found, and who asks for an end, waits for as many phases as the window has. A phase in which tours of very many
// cities breed is longer (tour_pool.hpp).
constexpr std::uint64_t phases_between_exchanges = 8;
constexpr std::uint64_t focused_tours = 2048;
constexpr std::uint64_t cities_of_phase = 1u << 15;

error wrong(const std::string& key, const std::string& sentence) {
    return {errc::usage, key + ": " + sentence};
}

// The enumerations of both sides have the same order.
tsp_settings settings_of(proto::TspSettings::Reader reader) {
    tsp_settings s;
    s.colony.kind = static_cast<colony_kind>(reader.getColony());
    s.colony.search = static_cast<search_kind>(reader.getLocalSearch());
    s.colony.choice = static_cast<city_choice>(reader.getChoice());
    s.colony.ants = reader.getAnts();
    s.colony.candidates = reader.getCandidates();
    s.colony.alpha = reader.getAlpha();
    s.colony.beta = reader.getBeta();
    s.colony.evaporation = reader.getRho();
    s.colony.greed = reader.getQ0();
    s.exchange = static_cast<exchange_kind>(reader.getExchange());
    s.exchange_every = reader.getExchangeEvery();
    return s;
}

bool is_share(double x) {
    return x >= 0 && x <= 1;
}

bool is_power(double x) {
    return x >= 0 && x <= 20;
}

bool is_known(const tsp_settings& s) {
    const colony_settings& c = s.colony;
    return c.kind <= colony_kind::focused && c.search <= search_kind::lin_kernighan &&
           c.choice <= city_choice::independent && s.exchange <= exchange_kind::none &&
           c.ants <= ants_max && c.candidates <= limits::candidates_max && is_power(c.alpha) &&
           is_power(c.beta) && is_share(c.evaporation) && is_share(c.greed);
}

result<void> check_run(const scheduled::program_site& site) {
    if (site.schedule.kind != scheduled::schedule_kind::cyclic)
        return wrong("schedule", "colonies work in phases of so many tours; write schedule: "
                                 "{cyclic: {}}");
    const scheduled::stop_settings& stop = site.stop;
    if (stop.length == 0 && stop.iterations == 0 && stop.sweeps == 0 && stop.phases == 0 &&
        stop.seconds <= 0)
        return wrong("stop", "colonies have no gap that they could stop at; give stop.seconds, "
                             "such as 20, or stop.length");
    return {};
}

} // namespace

result<tsp_settings> read_settings(capnp::AnyPointer::Reader settings) {
    try {
        const auto s = settings_of(settings.getAs<proto::TspSettings>());
        if (is_known(s))
            return s;
    } catch (const kj::Exception&) {
    }
    return error{errc::protocol, "the settings of tsp are not what this build knows by that name"};
}

std::uint64_t tours_of_phase(const tsp_settings& settings, const scheduled::program_site& site) {
    if (site.schedule.set > 0)
        return site.schedule.set;
    if (settings.colony.kind == colony_kind::focused)
        return focused_tours;
    return std::max<std::uint64_t>(1, cities_of_phase / std::max<std::uint64_t>(1, site.data.rows));
}

std::uint64_t tours_between_exchanges(const tsp_settings& settings,
                                      const scheduled::program_site& site) {
    return settings.exchange_every > 0 ? settings.exchange_every
                                       : phases_between_exchanges * tours_of_phase(settings, site);
}

result<void> check(const scheduled::program_site& site) {
    const auto read = read_settings(site.settings);
    if (!read)
        return read.failure();
    if (auto fits = check_run(site); !fits)
        return fits;
    const colony_settings& c = read->colony;
    if (c.kind == colony_kind::focused && c.search == search_kind::none)
        return wrong("local_search", "none leaves what an ant of a focused colony has cut as it "
                                     "is; give lin_kernighan, or another colony");
    if (site.data.rows < limits::cities_min || site.data.rows > limits::cities_max)
        return wrong("data", "has " + counted(site.data.rows, "city", "cities") + "; give " +
                                 std::to_string(limits::cities_min) + " to " +
                                 std::to_string(limits::cities_max));
    if (c.kind == colony_kind::ant_system && c.ants > ant_cities_max / site.data.rows)
        return wrong("ants", std::to_string(c.ants) + " tours of " +
                                 std::to_string(site.data.rows) +
                                 " cities are kept at a time, which takes more than 4 GiB; give "
                                 "at most " +
                                 std::to_string(ant_cities_max / site.data.rows));
    return {};
}

std::vector<scheduled::doubtful_key> doubts(const scheduled::program_site& site) {
    const auto read = read_settings(site.settings);
    if (!read)
        return {};
    std::vector<scheduled::doubtful_key> keys{
        {"stop.gap", "not used: nothing bounds how far a tour is from the shortest; leave it out"}};
    if (read->colony.kind != colony_kind::ant_colony_system)
        keys.push_back({"program.tsp.q0", "not used by this colony; leave it out, or give colony: "
                                          "ant_colony_system"});
    if (read->exchange == exchange_kind::none)
        keys.push_back(
            {"program.tsp.exchange_every", "not used with exchange: none; leave one of them out"});
    return keys;
}

} // namespace troupe::tsp
