// An actor that does what a test tells it to and writes down what it sees.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "actors/runtime/actor.hpp"
#include "schemas/probe.capnp.h"

namespace troupe {

// What a probe_actor saw; belongs to the test, must outlive the actor.
struct probe_log {
    std::vector<std::uint64_t> numbers;
    std::vector<std::string> downs; // "NODE/ACTOR code: sentence"
    std::vector<std::string> rejected;
    std::vector<actor_address> rejected_by;
    bool started = false;
    bool ended = false;
};

inline frame_builder<proto::Probe> probe(std::uint64_t number, std::uint32_t hops = 0) {
    frame_builder<proto::Probe> b;
    b.body().setNumber(number);
    b.body().setHops(hops);
    return b;
}

class probe_actor : public actor {
  public:
    using reaction = std::function<void(probe_actor&, proto::Probe::Reader, const frame&)>;

    explicit probe_actor(actor_context& context, probe_log& log, reaction react = {})
        : actor{context}, log_{log}, react_{std::move(react)} {
        on<proto::Probe>(&probe_actor::take);
    }

    using actor::after;
    using actor::cancel;
    using actor::current;
    using actor::now;
    using actor::quit;
    using actor::reject;
    using actor::runtime;
    using actor::self_handle;
    using actor::send;
    using actor::trace_compute;
    using actor::unwatch;
    using actor::watch;

  private:
    void take(proto::Probe::Reader body, const frame& f) {
        log_.numbers.push_back(body.getNumber());
        if (react_)
            react_(*this, body, f);
    }
    void on_start() override { log_.started = true; }
    void on_end() override { log_.ended = true; }
    void on_down(actor_address who, const error& why) override {
        log_.downs.push_back(std::to_string(who.node.value()) + "/" +
                             std::to_string(who.actor.value()) + " " +
                             std::string{to_string(why.code())} + ": " + why.message());
    }
    void on_rejected(proto::Rejected::Reader body, const frame& f) override {
        log_.rejected.push_back(body.getReason());
        log_.rejected_by.push_back(f.from());
    }

    probe_log& log_;
    reaction react_;
};

} // namespace troupe
