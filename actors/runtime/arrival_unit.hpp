// Private to actors/runtime: runs actors on the thread that brought a frame for them.
//
// To wake one of CAF's workers for every frame costs more than most handlers take (25 us against 2 on a machine of two
// cores), and handlers never wait and never compute; so the endpoint's thread runs the actor that a frame wakes, and
// those that this one wakes in turn, up to runs_max. Actors left then, and every actor with more to do than a few
// messages, go to the workers. Only the endpoint's thread may use it.
#pragma once

#include <deque>

#include <caf/execution_unit.hpp>

namespace troupe {

class arrival_unit final : public caf::execution_unit {
  public:
    explicit arrival_unit(caf::actor_system& system) : caf::execution_unit{&system} {}
    arrival_unit(const arrival_unit&) = delete;
    arrival_unit& operator=(const arrival_unit&) = delete;

    void exec_later(caf::resumable* actor) override {
        woken_.push_back(actor);
    } // takes its reference
    void run();

  private:
    std::deque<caf::resumable*> woken_;
};

} // namespace troupe
