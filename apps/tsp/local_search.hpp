// Local search of symmetric problems: chains of exchanges of edges, each of which takes an edge out of the tour and puts a
// candidate in (Lin, Kernighan 1973), up to a depth: 2-opt is a chain of one exchange, 3-opt with Or's moves one of two.
//
// Don't-look bits are a queue: only chains from cities on it are searched, and where a chain is carried out its ends are put
// on it. A caller that has changed a tour at a few places puts those on it, and pays for them alone.
//
// Threads: one. The tour, the instance and the candidates outlive what is made for them. Source: Lin, Kernighan (1973);
// Bentley, Fast algorithms for geometric travelling salesman problems (1992); Johnson, McGeoch, The travelling salesman
// problem: a case study in local optimization (1997).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "apps/tsp/improver.hpp"
#include "apps/tsp/pending_path.hpp"
#include "apps/tsp/work_queue.hpp"

namespace troupe::tsp {

class local_search final : public improver {
  public:
    static constexpr std::size_t depth_max = 10;

    // Chains of up to `depth` exchanges, 1 to depth_max.
    local_search(const instance& of, const candidates& near, std::size_t depth);

    void look_at(city c) override { queue_.push(c); }
    std::int64_t improve(tour& t) override;

  private:
    using index = pending_path::index;
    // The path's end is joined to `to`, and an edge of `to` is taken out: that to `out`, which lies before it, so that the
    // path goes on from `out`; or after it, so that what lies before it is a cycle, and is opened by the next exchange.
    struct exchange {
        std::int64_t gain; // of the whole chain so far, without the edge that would close the path
        index to, out;
        std::uint32_t stretch; // of both
        bool makes_cycle;
    };
    // The most promising exchanges, best first; of equal ones the first that came.
    class choice_list {
      public:
        static constexpr std::size_t breadth_max = 5;
        void clear() noexcept { count_ = 0; }
        std::size_t count() const noexcept { return count_; }
        const exchange& operator[](std::size_t k) const noexcept { return all_[k]; }
        // Into the `breadth` best.
        void insert(const exchange& e, std::size_t breadth) noexcept;

      private:
        std::array<exchange, breadth_max> all_;
        std::size_t count_ = 0;
    };
    struct way {
        city to;
        std::uint32_t length; // fits: limits of coordinates and of matrices
    };
    struct reversal {
        city first, last; // of the part of the path
    };

    city city_at(index i) const noexcept;
    index index_of(city c) const noexcept;
    std::int64_t improve_from(city fixed, bool is_forward);
    std::int64_t search(const pending_path& path, std::int64_t gain, std::size_t level);
    std::int64_t search_cycle(const pending_path& path, const exchange& first, std::size_t level);
    std::span<const way> ways(city c) const noexcept {
        return {ways_.data() + static_cast<std::size_t>(c) * looked_at_, looked_at_};
    }
    void record(city first, city last) { chain_.push_back({first, last}); }
    void carry_out();

    const instance& of_;
    const std::size_t depth_;
    const std::size_t looked_at_; // candidates of a city
    std::vector<way> ways_;       // to them, as they lie
    work_queue queue_;
    tour* tour_ = nullptr;
    city fixed_ = 0; // where the path ends that the tour is without an edge
    bool is_forward_ = true;
    std::size_t base_ = 0;                       // the place of the path's first city
    std::vector<reversal> chain_;                // of what is being tried
    std::array<choice_list, depth_max> choices_; // of each level
};

} // namespace troupe::tsp
