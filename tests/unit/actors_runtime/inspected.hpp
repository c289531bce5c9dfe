// An inspector's agent on a node, and an observer that asks it.
#pragma once

#include <boost/test/unit_test.hpp>

#include "actors/runtime/inspector_agent.hpp"
#include "actors/runtime/simulator.hpp"
#include "schemas/pipeline.capnp.h"
#include "schemas/run.capnp.h"
#include "schemas/training.capnp.h"
#include "tests/support/all_messages.hpp"
#include "tests/unit/actors_runtime/probe_actor.hpp"

namespace troupe::test {

// An observer on another node; keeps every answer.
struct answers {
    std::vector<frame_ptr> lists, batches, opened, tails;
};

class observer_actor final : public actor {
  public:
    observer_actor(actor_context& context, answers& kept) : actor{context}, kept_{kept} {
        on<proto::ActorList>(&observer_actor::list);
        on<proto::TraceBatch>(&observer_actor::batch);
        on<proto::TailOpened>(&observer_actor::opened);
        on<proto::TailEvent>(&observer_actor::tail);
        on<proto::ListActors>(&observer_actor::ask<proto::ListActors>);
        on<proto::ReadTrace>(&observer_actor::ask<proto::ReadTrace>);
        on<proto::OpenTail>(&observer_actor::ask<proto::OpenTail>);
        on<proto::TailCredit>(&observer_actor::ask<proto::TailCredit>);
        on<proto::CloseTail>(&observer_actor::ask<proto::CloseTail>);
    }

  private:
    // A test's question, passed on to the inspector of node 1.
    template <class Body>
    void ask(typename Body::Reader, const frame& f) {
        frame_builder<Body> copy;
        copy.envelope(); // stamped by send
        copy_body(f.body<Body>(), copy);
        send({node_id{1}, well_known::inspector}, std::move(copy));
    }
    template <class Body>
    static void copy_body(typename Body::Reader from, frame_builder<Body>& to) {
        capnp::MallocMessageBuilder scratch;
        scratch.setRoot(from);
        const auto root = scratch.getRoot<Body>().asReader();
        copy_fields(root, to.body());
    }
    static void copy_fields(proto::ListActors::Reader, proto::ListActors::Builder) {}
    static void copy_fields(proto::ReadTrace::Reader from, proto::ReadTrace::Builder to) {
        to.setCursor(from.getCursor());
        to.setMaxEvents(from.getMaxEvents());
        to.setFilter(from.getFilter());
    }
    static void copy_fields(proto::OpenTail::Reader from, proto::OpenTail::Builder to) {
        to.setTail(from.getTail());
        to.setCredit(from.getCredit());
        to.setFilter(from.getFilter());
    }
    static void copy_fields(proto::TailCredit::Reader from, proto::TailCredit::Builder to) {
        to.setTail(from.getTail());
        to.setCredit(from.getCredit());
    }
    static void copy_fields(proto::CloseTail::Reader from, proto::CloseTail::Builder to) {
        to.setTail(from.getTail());
    }

    void list(proto::ActorList::Reader, const frame&) { kept_.lists.push_back(current()); }
    void batch(proto::TraceBatch::Reader, const frame&) { kept_.batches.push_back(current()); }
    void opened(proto::TailOpened::Reader, const frame&) { kept_.opened.push_back(current()); }
    void tail(proto::TailEvent::Reader, const frame&) { kept_.tails.push_back(current()); }

    answers& kept_;
};

struct inspected {
    probe_log log, meddling;
    answers kept;
    simulator sim{{.messages = all_messages()}};
    node_runtime& node = sim.add_node("a", peer_role::member, [](node_runtime& n) {
        n.spawn_as<inspector_agent>(well_known::inspector, "inspector");
    });
    node_runtime& tools = sim.add_node("tools", peer_role::observer);
    actor_address worker = node.spawn<probe_actor>("worker", log);
    actor_address observer = tools.spawn<observer_actor>("observer", kept);

    inspected() {
        tools.connect("sim:a");
        settle();
    }
    void settle() { sim.run_for(std::chrono::seconds{1}); }

    template <class Body>
    void ask(frame_builder<Body> question) {
        tools.send(observer, std::move(question));
        settle();
    }
    void open_tail(std::uint64_t number, std::uint32_t credit, const std::string& type,
                   const std::string& field = {}, const std::string& value = {}) {
        frame_builder<proto::OpenTail> b;
        b.body().setTail(number);
        b.body().setCredit(credit);
        auto filter = b.body().initFilter();
        filter.setType(type);
        if (!field.empty()) {
            auto fields = filter.initFields(1);
            fields[0].setPath(field);
            fields[0].setValue(value);
        }
        ask(std::move(b));
    }
};

} // namespace troupe::test
