// Makes tours shorter by exchanges of edges: local_search.hpp, and for asymmetric problems directed_search.hpp.
//
// Threads: one. The tour, the instance and the candidates outlive what is made for them.
#pragma once

#include <cstdint>
#include <memory>

#include "apps/tsp/candidates.hpp"
#include "apps/tsp/tour.hpp"

namespace troupe::tsp {

enum class search_kind : std::uint8_t { none, two_opt, three_opt, lin_kernighan };

class improver {
  public:
    virtual ~improver() = default;

    // Puts a city on the queue of those from which changes are searched, unless it is there.
    virtual void look_at(city c) = 0;
    // Until the queue is empty. Returns by how much the tour has become shorter.
    virtual std::int64_t improve(tour& t) = 0;
};

// For asymmetric problems every kind but `none` exchanges three edges, so that no stretch is reversed.
std::unique_ptr<improver> make_improver(const instance& of, const candidates& near,
                                        search_kind kind);

} // namespace troupe::tsp
