// How fast ants of the program "tsp" are: of one colony without actors and without local search, in the time of the one
// thread that runs. Building whole tours and laying trails (kernels/ops/tours.hpp) is all that such a colony does.
//
//   bench_tours [CITIES [SECONDS]]      1000 and 1 unless given; seconds of each line
//
// Prints nanoseconds for each city of a tour, the least of all iterations of 25 ants, and the same for trails alone.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "apps/tsp/colony.hpp"
#include "apps/tsp/first_tour.hpp"
#include "apps/tsp/trails.hpp"
#include "kernels/cpu/cpu_operations.hpp"
#include "tests/unit/apps_tsp/problems.hpp"

using namespace troupe;
using namespace troupe::tsp;

namespace {

constexpr std::uint64_t ants = 25;

// What this thread has run, in seconds.
double thread_seconds() {
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// The least time of a call, of as many as there are in so many seconds.
template <class Work>
double least_seconds(double seconds, Work work) {
    double least = 1e9;
    for (const double begun = thread_seconds(); thread_seconds() - begun < seconds;) {
        const double before = thread_seconds();
        work();
        least = std::min(least, thread_seconds() - before);
    }
    return least;
}

void check(bool ok) {
    if (!ok) {
        std::fprintf(stderr, "a colony has failed\n");
        std::exit(1);
    }
}

} // namespace

int main(int argc, char** argv) {
    const std::size_t cities = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1000;
    const double seconds = argc > 2 ? std::strtod(argv[2], nullptr) : 1;
    if (cities < 30 || cities > 1000000 || seconds <= 0) {
        std::fprintf(stderr, "usage: bench_tours [CITIES [SECONDS]], of 30 to 1000000 cities\n");
        return 2;
    }
    const instance of = test::random_cities(cities, 1);
    memory_pool pool{1ull << 32};
    const auto ops = make_cpu_operations(pool);
    struct {
        colony_kind kind;
        const char* name;
    } const kinds[] = {{colony_kind::ant_system, "ant_system"},
                       {colony_kind::max_min, "max_min"},
                       {colony_kind::ant_colony_system, "ant_colony_system"}};
    for (const auto& [kind, name] : kinds)
        for (const auto choice : {city_choice::exact, city_choice::independent}) {
            const colony_settings settings{
                .kind = kind, .search = search_kind::none, .choice = choice, .ants = ants};
            const candidates near{of, candidates_of(settings)};
            const auto c = make_colony(of, near, settings, 7);
            const double least =
                least_seconds(seconds, [&] { check(c->advance(ants, *ops).ok()); });
            std::printf("%-18s %-10s %8.1f ns a city\n", name,
                        choice == city_choice::exact ? "exact" : "i_roulette",
                        least * 1e9 / static_cast<double>(ants * cities));
        }
    const candidates near{of, 20};
    trails t{of, near, {}};
    t.fill(1);
    const auto order = first_tour(of, near);
    const double least = least_seconds(seconds, [&] {
        check(t.lay(*ops, {.kept = 0.9, .low = 0.1, .high = 1}, order, 0.1).ok());
    });
    std::printf("%-29s %8.1f ns a city\n", "trails of one tour",
                least * 1e9 / static_cast<double>(cities));
}
