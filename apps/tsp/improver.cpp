#include "apps/tsp/improver.hpp"

#include "apps/tsp/directed_search.hpp"
#include "apps/tsp/local_search.hpp"

namespace troupe::tsp {

namespace {

constexpr std::size_t lin_kernighan_depth = 5;

class no_search final : public improver {
    void look_at(city /*c*/) override {}
    std::int64_t improve(tour& /*t*/) override { return 0; }
};

} // namespace

std::unique_ptr<improver> make_improver(const instance& of, const candidates& near,
                                        search_kind kind) {
    if (kind == search_kind::none)
        return std::make_unique<no_search>();
    if (!of.is_symmetric())
        return std::make_unique<directed_search>(of, near);
    const std::size_t depth = kind == search_kind::two_opt     ? 1
                              : kind == search_kind::three_opt ? 2
                                                               : lin_kernighan_depth;
    return std::make_unique<local_search>(of, near, depth);
}

} // namespace troupe::tsp
