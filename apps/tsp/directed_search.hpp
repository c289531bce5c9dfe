// Local search of asymmetric problems: exchanges of three edges by which two stretches that follow each other change places,
// neither of them reversed (Or's moves among them), with candidates and a queue in the place of don't-look bits.
//
// Threads: one. Source: Johnson, McGeoch, The travelling salesman problem: a case study in local optimization (1997).
#pragma once

#include "apps/tsp/improver.hpp"
#include "apps/tsp/work_queue.hpp"

namespace troupe::tsp {

class directed_search final : public improver {
  public:
    directed_search(const instance& of, const candidates& near);

    void look_at(city c) override { queue_.push(c); }
    std::int64_t improve(tour& t) override;

  private:
    std::int64_t improve_after(city a);
    std::int64_t improve_before(city b);
    std::int64_t try_exchange(city a, city c, city e);

    const instance& of_;
    const candidates& near_;
    work_queue queue_;
    tour* tour_ = nullptr;
};

} // namespace troupe::tsp
