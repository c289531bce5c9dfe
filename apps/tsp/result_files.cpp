#include "apps/tsp/result_files.hpp"

#include <algorithm>
#include <fstream>

#include "actors/scheduled/named_numbers.hpp"
#include "actors/scheduled/written_files.hpp"
#include "apps/tsp/city_pieces.hpp"
#include "apps/tsp/found_tours.hpp"
#include "apps/tsp/tour_file.hpp"
#include "schemas/base/json.hpp"

namespace troupe::tsp {

namespace {

using scheduled::saved_part;

result<found_tours> read_found(const saved_part& saved, const scheduled::result_site& site) {
    const auto tours = scheduled::read_state<city>(saved, "tours");
    const auto lengths = scheduled::read_state<std::int64_t>(saved, "lengths"),
               built = scheduled::read_state<std::int64_t>(saved, "built"),
               given = scheduled::read_state<std::int64_t>(saved, "given");
    if (const error* failure = scheduled::first_failure(tours, lengths, built, given))
        return *failure;
    found_tours found{site.workers, site.data.rows};
    if (auto loaded = found.load(*tours, *lengths, *built, *given); !loaded)
        return loaded.failure();
    if (!found.are_there())
        return error{errc::data, "the run has ended before each colony had a tour; let it run "
                                 "longer"};
    return found;
}

// The course, and behind it what has been found since the last probe.
std::vector<std::int64_t> whole_course(std::span<const std::int64_t> course,
                                       const found_tours& found) {
    std::vector<std::int64_t> whole{course.begin(), course.end()};
    const auto lengths = found.lengths();
    if (whole.size() > lengths.size() &&
        std::equal(lengths.begin(), lengths.end(), whole.end() - std::ssize(lengths)))
        return whole;
    whole.push_back(found.least_built());
    whole.insert(whole.end(), lengths.begin(), lengths.end());
    return whole;
}

void write_course(std::ofstream& file, std::span<const std::int64_t> course, std::size_t colonies) {
    file << "tours";
    for (std::size_t c = 0; c < colonies; ++c)
        file << ",colony_" << c;
    file << '\n';
    for (std::size_t i = 0; i + colonies < course.size(); i += 1 + colonies) {
        file << course[i];
        for (std::size_t c = 1; c <= colonies; ++c)
            file << ',' << course[i + c];
        file << '\n';
    }
}

void write_summary(std::ofstream& file, const instance& cities, const found_tours& found) {
    json summary;
    summary["program"] = "tsp";
    summary["problem"] = cities.name();
    summary["cities"] = cities.cities();
    summary["length"] = found.best_length();
    for (std::uint32_t c = 0; c < found.colonies(); ++c)
        summary["colonies"].push_back(
            {{"length", found.lengths()[c]}, {"tours", found.built()[c]}});
    file << summary.dump(2) << '\n';
}

// The tour, and a picture of it if there can be one.
result<std::vector<std::string>> write_best(const scheduled::result_site& site,
                                            const instance& cities, std::span<const city> tour) {
    std::vector<std::string> files{"tour.tour"};
    if (auto written = write_tour(site.directory / files.back(), cities, tour); !written)
        return written.failure();
    if (cities.points().empty())
        return files;
    files.emplace_back("tour.svg");
    if (auto written = write_picture(site.directory / files.back(), cities, tour); !written)
        return written.failure();
    return files;
}

} // namespace

result<void> write_so_far(const scheduled::result_site& site, const scheduled::payload& so_far) {
    const auto tour = scheduled::read<city>(so_far, 0, "the shortest tour");
    if (!tour)
        return tour.failure();
    const auto cities = read_cities(*site.rows);
    if (!cities)
        return cities.failure();
    if (!is_tour(*tour, cities->cities()))
        return error{errc::protocol, "the shortest tour is none of all cities"};
    const auto written = write_best(site, *cities, *tour);
    return written ? result<void>{} : written.failure();
}

result<std::vector<std::string>> write_result(const scheduled::result_site& site,
                                              const scheduled::ended_run& run) {
    if (run.schedulers.size() != 1)
        return error{errc::protocol, "the tours of all colonies are with one scheduler"};
    const auto found = read_found(run.schedulers[0], site);
    const auto course = scheduled::read_state<std::int64_t>(run.schedulers[0], "course");
    if (const error* failure = scheduled::first_failure(found, course))
        return *failure;
    const auto cities = read_cities(*site.rows);
    if (!cities)
        return cities.failure();
    const std::span<const city> tour = found->tour_of(found->best());
    if (cities->length_of(tour) != found->best_length())
        return error{errc::protocol, "the best tour has another length than its colony says; this "
                                     "is a fault of troupe or of a node of another build"};
    auto files = write_best(site, *cities, tour);
    if (!files)
        return files;
    auto written = scheduled::write_file(site.directory / "course.csv", [&](std::ofstream& file) {
        write_course(file, whole_course(*course, *found), found->colonies());
    });
    if (written)
        written = scheduled::write_file(site.directory / "summary.json", [&](std::ofstream& file) {
            write_summary(file, *cities, *found);
        });
    if (!written)
        return written.failure();
    files->insert(files->end(), {"course.csv", "summary.json"});
    return files;
}

} // namespace troupe::tsp
