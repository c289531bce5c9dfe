// Where a run of a program is: what its leader does, and for whom.
//
//     spawning ---> dealing ---> starting ---> running ---> writing ---> finished
//                                                | ^
//                           a loss of workers    v | all are ready
//                            respawning ---> redealing ---> rejoining
//
// In the first row it is for all, and nobody computes before `running`; in the second it is for workers that take the place
// of lost ones, while the phases of all others go on. Any other loss leads to `spawning`. What schedulers have forgotten
// leads from `rejoining` to `starting`; from the second row the run may end, too.
//
// Threads, ownership: a value of the leader. A transition that is not one of these is a bug.
#pragma once

#include <cstdint>

#include "schemas/base/check.hpp"

namespace troupe::scheduled {

class program_course {
  public:
    enum state : std::uint8_t {
        spawning,   // its actors, at first or anew
        dealing,    // data to workers that have none
        starting,   // an incarnation: all load their state
        running,    // phases are computed
        respawning, // lost workers
        redealing,
        rejoining, // they load their state, and schedulers are told of them
        writing,   // the result
        finished,
    };
    state now() const noexcept { return now_; }
    const char* name() const noexcept {
        static constexpr const char* names[] = {"spawning",  "dealing",    "starting",
                                                "running",   "respawning", "redealing",
                                                "rejoining", "writing",    "finished"};
        return names[now_];
    }

    bool is_spawning() const noexcept { return now_ == spawning || now_ == respawning; }
    bool is_dealing() const noexcept { return now_ == dealing || now_ == redealing; }
    bool is_starting() const noexcept { return now_ == starting || now_ == rejoining; }
    bool is_of_lost_workers() const noexcept { return now_ >= respawning && now_ <= rejoining; }
    bool are_phases_under_way() const noexcept { return now_ == running || is_of_lost_workers(); }
    bool is_over() const noexcept { return now_ >= writing; }

    // Whether those that take the place of workers that are lost now can replay: schedulers are not being told of others.
    bool can_replay() const noexcept { return are_phases_under_way() && now_ != rejoining; }

    void actors_are_lost(bool replay) {
        TROUPE_CHECK(!is_over() && (!replay || can_replay()), "a loss the run can go on from");
        now_ = replay ? respawning : spawning;
    }
    void actors_are_there() {
        TROUPE_CHECK(is_spawning(), "actors that were spawned");
        now_ = now_ == spawning ? dealing : redealing;
    }
    void data_is_dealt() {
        TROUPE_CHECK(is_dealing(), "data that was dealt");
        now_ = now_ == dealing ? starting : rejoining;
    }
    void phases_are_forgotten() {
        TROUPE_CHECK(now_ == rejoining, "phases that were to be replayed");
        now_ = starting;
    }
    void all_are_ready() {
        TROUPE_CHECK(is_starting(), "actors that were started");
        now_ = running;
    }
    void all_have_ended() {
        TROUPE_CHECK(are_phases_under_way(), "a run that has begun");
        now_ = writing;
    }
    void finish() noexcept { now_ = finished; }

  private:
    state now_ = spawning;
};

} // namespace troupe::scheduled
