// Members of the cluster that send heartbeats and answer nothing else: a run waits for what they owe it, and would for ever.
// An actor of the run's process asks the agent of every member again and again. One that does not answer is told of, and
// after the run's patience its connection is ended, so that the run loses it as it loses a node that is cut off.
//
//     runtime.spawn<patience_actor>("patience", patience_options{.times = {.give_up = 60s}, .note = ...});
//
// Agents carry out nothing that takes long (actors/agent/role.hpp), and how long the work of a run takes is not judged here.
// Questions and answers wait behind what else travels between two nodes, over a slow link for minutes. So a member does not
// age while its link moves messages, and is asked once until it answers. Where the queue to a member is full the asker rests
// until there is room, and judges nobody meanwhile.
//
// Threads: answer_ages is a pure value; patience_actor is an actor. Errors: errc::lost, as the reason of the end of a
// connection.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "actors/runtime/actor.hpp"
#include "schemas/base/time_source.hpp"
#include "schemas/cluster.capnp.h"
#include "schemas/run.capnp.h"

namespace troupe {

struct patience_times {
    duration interval = std::chrono::seconds{2}; // between two questions
    duration tell = std::chrono::seconds{10};    // without an answer, until people are told
    duration give_up = std::chrono::seconds{60}; // and until the member is given up; 0: it never is
};

// The bytes in an interval from which on a link moves messages of the run. Heartbeats, questions and answers make less than
// 4 KiB in the default interval, so they alone do not reach it; a link that large messages fill does from 64 kbit/s on.
inline constexpr std::uint64_t moving_bytes = 16u << 10;

// For how long members have owed an answer while their links were idle.
class answer_ages {
  public:
    explicit answer_ages(const patience_times& times) : times_{times} {}

    // The member is asked from the next tick on.
    void expect(node_id member) { ages_.try_emplace(member); }
    void answered(node_id member);
    void forget(node_id member) { ages_.erase(member); }

    // By node id.
    struct late_members {
        std::vector<node_id> due;      // to be asked: they owe no answer, and their links are idle
        std::vector<node_id> told;     // late for the first time since their last answer
        std::vector<node_id> given_up; // they are forgotten
    };
    // To be called once per interval. `moved` says how many bytes have moved between this process and a member so far
    // (endpoint::bytes_moved). A process that was stopped itself has heard nobody meanwhile: all ages begin anew.
    late_members tick(time_point now, const std::function<std::uint64_t(node_id)>& moved);

  private:
    struct age {
        std::optional<time_point> asked_at; // of the question that is not answered yet
        bool is_told = false;
        std::uint64_t moved = 0;
    };

    const patience_times times_;
    std::map<node_id, age> ages_;
    std::optional<time_point> last_tick_;
};

struct patience_options {
    patience_times times;
    // A sentence for people. Called on the actor's thread and must only pass it on, without blocking.
    std::function<void(const std::string&)> note;
};

class patience_actor final : public actor {
  public:
    patience_actor(actor_context& context, patience_options options);

  private:
    void on_start() override;
    void on_rejected(proto::Rejected::Reader body, const frame& f) override;

    void members_listed(proto::MemberList::Reader body, const frame& f);
    void node_joined(proto::NodeJoined::Reader body, const frame& f);
    void node_lost(proto::NodeLost::Reader body, const frame& f);
    void here(proto::HereIAm::Reader body, const frame& f);
    void ask(proto::QuestionDue::Reader due, const frame& f);
    void expect(proto::Member::Reader member);

    bool is_of_cluster(const frame& f) const; // of this node

    const patience_options options_;
    answer_ages ages_;
    std::map<node_id, std::string> names_;
};

} // namespace troupe
