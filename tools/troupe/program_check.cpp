#include "tools/troupe/program_check.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "actors/scheduled/part_call.hpp"
#include "actors/scheduled/program_run.hpp"
#include "actors/scheduled/result_mark.hpp"

namespace troupe::cli {

using namespace scheduled;

namespace {

// Programs have variables that are chosen by priority or in turn, or that rotate.
result<void> check_schedule(const program_app& app, const program& what) {
    static constexpr const char* keys[] = {"dynamic", "cyclic", "rotation"};
    const auto kind = read_schedule(app.app().getSchedule()).kind;
    if (std::ranges::count(what.schedules, kind) > 0)
        return {};
    std::string wanted;
    for (const schedule_kind one : what.schedules)
        wanted += std::string{wanted.empty() ? "" : " or "} + "schedule: {" +
                  keys[static_cast<std::size_t>(one)] + ": {}}";
    return app.error_at("schedule", std::string{"is "} + keys[static_cast<std::size_t>(kind)] +
                                        ", which the program " + what.name +
                                        " does not take; write " + wanted);
}

result<void> check_bounds(const program_app& app, const program& what) {
    const stop_settings stop = read_stop(app.app().getStop());
    const auto check = [&](std::uint64_t given, stop_bound bound,
                           const std::string& key) -> result<void> {
        if (given == 0 || std::ranges::count(what.bounds, bound) > 0)
            return {};
        return app.error_at("stop." + key, "is no bound of the program " + what.name +
                                               ", which has none of its own by this name; leave "
                                               "it out");
    };
    if (auto fits = check(stop.length, stop_bound::length, "length"); !fits)
        return fits;
    return check(stop.iterations, stop_bound::iterations, "iterations");
}

std::vector<doubtful_key> doubts_of(proto::ProgramSchedule::Reader schedule) {
    if (!schedule.isDynamic() || schedule.getDynamic().getCouple() == proto::Coupling::CHECK)
        return {};
    return {{"schedule.dynamic.rho", "not used by couple: exact, which accounts for all "
                                     "correlations; leave it out, or give couple: check"}};
}

} // namespace

result<void> check_program(const program_app& app, const program& what) {
    auto fits = check_schedule(app, what);
    return fits ? check_bounds(app, what) : fits;
}

result<void> check_result(const program_app& app, job_purpose purpose) {
    if (!app.app().hasResult())
        return {};
    const std::filesystem::path folder = app.app().getResult().getDirectory().cStr();
    if (auto fits = check_result_folder(folder, app.program()); !fits)
        return app.at_its_place(fits.failure());
    if (purpose != job_purpose::run)
        return {};
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    if (failed || access(folder.c_str(), W_OK) != 0)
        return app.error_at("result.directory", folder.string() + ": cannot be written: " +
                                                    (failed ? failed.message() : "no permission") +
                                                    "; choose another folder");
    return {};
}

result<std::shared_ptr<piece_source>> open_data_for(const program_app& app, const program& what,
                                                    const program_site& site) {
    result<std::unique_ptr<data_rule>> rule = std::unique_ptr<data_rule>{};
    if (what.data_rule_of)
        rule = call_program(what.name, "data_rule_of", [&] { return what.data_rule_of(site); });
    if (!rule)
        return rule.failure();
    city_opener open_cities;
    if (what.open_cities)
        open_cities = [&what](const std::string& file) {
            return call_program(what.name, "open_cities", [&] { return what.open_cities(file); });
        };
    result<bool> takes_offsets = false;
    if (what.takes_offsets)
        takes_offsets =
            call_program(what.name, "takes_offsets", [&] { return what.takes_offsets(site); });
    if (!takes_offsets)
        return takes_offsets.failure();
    auto data = open_data(app.app().getData(), {.needs_targets = what.needs_targets,
                                                .takes_offsets = *takes_offsets,
                                                .takes_remainders = what.takes_remainders,
                                                .rule = rule->get(),
                                                .open_cities = std::move(open_cities)});
    if (!data)
        return app.at_its_place(data.failure());
    return data;
}

result<void> check_settings(const program_app& app, const program& what, const program_site& site) {
    if (!what.check)
        return {};
    return call_program(what.name, "check", [&]() -> result<void> {
        auto fits = what.check(site);
        return fits ? fits : app.at_setting(fits.failure());
    });
}

result<doubts_of_run> doubts_about(const program_app& app, const program& what,
                                   const program_site& site) {
    doubts_of_run all{doubts_of(app.app().getSchedule())};
    if (what.doubts) {
        auto own = call_program(what.name, "doubts", [&] { return what.doubts(site); });
        if (!own)
            return own.failure();
        std::ranges::move(*own, std::back_inserter(all.keys));
    }
    if (what.has_bits_of_processor) {
        const auto has = call_program(what.name, "has_bits_of_processor",
                                      [&] { return what.has_bits_of_processor(site); });
        if (!has)
            return has.failure();
        all.has_bits_of_processor = *has;
    }
    return all;
}

} // namespace troupe::cli
