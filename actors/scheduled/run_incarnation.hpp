// The actors of a run of a program in one incarnation of it, as StartProgram says (schemas/scheduled.capnp): who a message
// may come from, and whether it belongs to this incarnation.
//
// Threads: a value.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "actors/messages.hpp"
#include "schemas/scheduled.capnp.h"

namespace troupe::scheduled {

enum class message_age : std::uint8_t {
    current,
    past,   // of an earlier incarnation: dropped
    future, // of one that this actor has not been told of: a bug of its sender
};

struct run_incarnation {
    std::uint32_t number = 0; // 0: not started
    std::vector<actor_address> schedulers;
    std::vector<actor_address> workers;
    std::vector<actor_address>
        gone; // workers in whose place others are: what still comes of them is dropped

    static run_incarnation of(proto::StartProgram::Reader from) {
        run_incarnation made;
        made.number = from.getIncarnation();
        for (const auto a : from.getSchedulers())
            made.schedulers.push_back(read_address(a));
        for (const auto a : from.getWorkers())
            made.workers.push_back(read_address(a));
        return made;
    }

    message_age age_of(std::uint32_t incarnation) const noexcept {
        return incarnation == number  ? message_age::current
               : incarnation < number ? message_age::past
                                      : message_age::future;
    }
    std::optional<std::uint32_t> scheduler(actor_address who) const {
        return find(schedulers, who);
    }
    std::optional<std::uint32_t> worker(actor_address who) const { return find(workers, who); }
    bool has(actor_address who) const { return scheduler(who) || worker(who); }
    void replace_worker(std::uint32_t w, actor_address by) {
        gone.push_back(workers[w]);
        workers[w] = by;
    }
    bool is_gone(actor_address who) const { return find(gone, who).has_value(); }

  private:
    static std::optional<std::uint32_t> find(const std::vector<actor_address>& all,
                                             actor_address who) {
        const auto found = std::ranges::find(all, who);
        if (found == all.end())
            return std::nullopt;
        return static_cast<std::uint32_t>(found - all.begin());
    }
};

} // namespace troupe::scheduled
