#include "apps/tsp/colony.hpp"

#include "apps/tsp/ant_system.hpp"
#include "apps/tsp/focused_colony.hpp"

namespace troupe::tsp {

std::uint32_t candidates_of(const colony_settings& settings) {
    if (settings.candidates != 0)
        return settings.candidates;
    return settings.kind == colony_kind::focused ? 8 : 20;
}

candidates candidates_for(const instance& of, const colony_settings& settings) {
    return {of, candidates_of(settings),
            settings.kind == colony_kind::focused ? nearness::alpha : nearness::length};
}

std::unique_ptr<colony> make_colony(const instance& of, const candidates& near,
                                    const colony_settings& settings, std::uint64_t seed) {
    if (settings.kind == colony_kind::focused)
        return std::make_unique<focused_colony>(of, near, settings, seed);
    return std::make_unique<ant_system>(of, near, settings, seed);
}

} // namespace troupe::tsp
