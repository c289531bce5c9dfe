// The news of a run, as values and as the messages of schemas/run.capnp: what its asker tells its listener.
//
//     send(listener_, event_of(run(), run_note{"replica 1 joins anew on node-2/cpu:0"}));
//
// Threads: values and pure functions; a listening_actor is an actor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "actors/runtime/actor.hpp"
#include "schemas/base/error.hpp"
#include "schemas/base/time_source.hpp"
#include "schemas/run.capnp.h"
#include "transport/frame/frame.hpp"

namespace troupe {

struct named_number {
    std::string name;
    double value = 0;
    proto::NumberStyle style = proto::NumberStyle::REAL;
};

// `to` has as many elements as `from`.
void write_numbers(capnp::List<proto::NamedNumber>::Builder to,
                   const std::vector<named_number>& from);
std::vector<named_number> read_numbers(capnp::List<proto::NamedNumber>::Reader from);

struct run_started {
    std::uint32_t nodes = 0; // that carry actors of the run
    std::string milestone;   // "epoch"
    std::uint32_t milestones = 0;
    std::string plan; // for people, in lines
    std::string plan_json;
    std::vector<std::string> notes;
    std::string resumed_from; // empty: the run begins anew
};

struct run_progress {
    std::uint32_t milestone = 0; // counts from 0
    std::uint64_t done = 0;
    std::uint64_t pieces = 0;
    std::string piece; // "samples"
    duration elapsed{};
    std::vector<named_number> numbers;
};

struct run_milestone {
    std::uint32_t milestone = 0; // counts from 0
    std::vector<named_number> numbers;
};

struct run_note {
    std::string sentence;
};

struct run_finished {
    std::optional<error> failure;
    std::string saved; // empty: no checkpoint
    std::uint32_t milestones = 0;
    std::vector<named_number> numbers; // of the last milestone
    std::vector<std::string> remarks;
    std::vector<std::string> actors;
    std::string json; // an object, or empty
    std::vector<std::string> doubts;
};

frame_builder<proto::RunStarted> event_of(std::uint64_t run, const run_started& e);
frame_builder<proto::RunProgress> event_of(std::uint64_t run, const run_progress& e);
frame_builder<proto::RunMilestone> event_of(std::uint64_t run, const run_milestone& e);
frame_builder<proto::RunNote> event_of(std::uint64_t run, const run_note& e);
frame_builder<proto::RunFinished> event_of(std::uint64_t run, const run_finished& e);

// A reader of a run's events in C++.
class run_listener {
  public:
    virtual ~run_listener() = default;

    virtual void started(const run_started&) {}
    virtual void progressed(const run_progress&) {}
    virtual void reached(const run_milestone&) {}
    virtual void noted(const run_note&) {}
    virtual void finished(const run_finished&) = 0; // the last call
};

// Turns the news of one run into calls. The root of the run spawns it, in its on_start, and tells it all; what others send
// is refused. It ends after the last call, which comes also if the root ends without a word.
//
// Threads: calls come on the actor's thread, and must only hand the news on. `to` must outlive the actor.
class listening_actor final : public actor {
  public:
    listening_actor(actor_context& context, actor_address root, run_listener& to);

  private:
    void on_start() override { watch(root_); }
    void on_down(actor_address who, const error& why) override;

    bool is_of_root(const frame& f);
    void started(proto::RunStarted::Reader body, const frame& f);
    void progressed(proto::RunProgress::Reader body, const frame& f);
    void reached(proto::RunMilestone::Reader body, const frame& f);
    void noted(proto::RunNote::Reader body, const frame& f);
    void finished(proto::RunFinished::Reader body, const frame& f);

    const actor_address root_;
    run_listener& to_;
};

} // namespace troupe
