// A cluster made of answers: an endpoint whose peers are functions. Everything happens within the caller's calls.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "actors/runtime/trace_messages.hpp"
#include "actors/runtime/well_known.hpp"
#include "schemas/base/time_source.hpp"
#include "schemas/cluster.capnp.h"
#include "tests/unit/tools_inspector/pipeline_trace.hpp"
#include "transport/endpoint.hpp"

namespace troupe::inspector {

class scripted_cluster : public endpoint {
  public:
    // One node. Its answers can be replaced.
    struct node {
        peer_info info;
        std::vector<actor_row> actors;
        std::vector<trace_event> events;
        node_names names;
        std::vector<frame_ptr> tail; // sent when a tail is opened
        std::string tail_problem;
        bool silent = false; // takes everything, answers nothing
        bool knows_members = true;
        std::uint64_t handled_per_list = 0; // how much busier its actors are in each list of them
        std::int64_t list_takes_ns =
            0; // the node's clock runs by so much per list of actors; 0: it is ours
        std::int64_t now_ns = 0;
        std::function<void(const frame&)> on_message; // sees all that arrives, first
        std::uint64_t credit_given = 0;
        bool tail_closed = false;
    };

    node& add(std::uint64_t id, const std::string& name) {
        node n;
        n.info = {node_id{id}, name, name + ":1", peer_role::member};
        n.names.name = name;
        return nodes_[node_id{id}] = std::move(n);
    }

    node& at(std::uint64_t id) { return nodes_.at(node_id{id}); }

    // The nodes of a made-up pipeline.
    void add(const pipeline_trace& trace) {
        for (const node_trace& t : trace.traces) {
            const node_names& names = trace.names.at(t.node);
            node& n = add(t.node.value(), names.name);
            n.events = t.events;
            n.names = names;
            for (const auto& [number, name] : names.actors)
                n.actors.push_back({number, name});
        }
    }

    void lose(std::uint64_t id, errc code) {
        nodes_.at(node_id{id}).info.address = "gone";
        listener_->peer_down(node_id{id}, {code, "the connection ended"});
    }

    // ---- endpoint ----
    result<void> start(endpoint_listener& listener) override {
        listener_ = &listener;
        return {};
    }
    std::string address() const override { return "observer:1"; }
    void connect(const std::string& address) override {
        if (refusal)
            return listener_->connect_failed(address, *refusal);
        for (auto& [id, n] : nodes_)
            if (n.info.address == address)
                return listener_->peer_up(n.info);
        listener_->connect_failed(address, {errc::unreachable, "nobody answers"});
    }
    send_status send(node_id peer, frame_ptr f) override {
        const auto found = nodes_.find(peer);
        if (found == nodes_.end() || found->second.info.address == "gone")
            return send_status::gone;
        if (found->second.on_message)
            found->second.on_message(*f);
        if (!found->second.silent)
            answer(found->second, *f);
        return send_status::accepted;
    }
    void disconnect(node_id peer, error why) override { listener_->peer_down(peer, why); }
    void close() override { closed = true; }
    endpoint_statistics statistics() const override { return {}; }

    std::optional<error> refusal; // of every connection
    bool closed = false;

    // Sends to the observer.
    template <class Body>
    void deliver(node_id from, frame_builder<Body>&& b) {
        listener_->frame_arrived(from, std::move(b).finish());
    }

  private:
    void answer(node& n, const frame& f) {
        const auto type = f.body_type();
        if (type == type_id_of<proto::ListActors>())
            deliver(n.info.node, list_of(n));
        else if (type == type_id_of<proto::ListMembers>())
            answer_members(n, f);
        else if (type == type_id_of<proto::ReadTrace>())
            deliver(n.info.node, page_of(n, f.body<proto::ReadTrace>()));
        else if (type == type_id_of<proto::OpenTail>())
            open_tail(n, f.body<proto::OpenTail>());
        else if (type == type_id_of<proto::TailCredit>())
            n.credit_given += f.body<proto::TailCredit>().getCredit();
        else if (type == type_id_of<proto::CloseTail>())
            n.tail_closed = true;
    }

    frame_builder<proto::ActorList> list_of(node& n) {
        frame_builder<proto::ActorList> b;
        n.now_ns = n.list_takes_ns > 0 ? n.now_ns + n.list_takes_ns : monotonic_time{}.now().ns;
        b.body().setNode(n.info.node.value());
        b.body().setNodeName(n.info.name);
        b.body().setNowNs(n.now_ns);
        auto list = b.body().initActors(static_cast<unsigned>(n.actors.size()));
        for (unsigned i = 0; i < list.size(); ++i) {
            n.actors[i].messages_handled += n.handled_per_list;
            list[i].setNumber(n.actors[i].number.value());
            list[i].setRun(n.actors[i].run);
            list[i].setName(n.actors[i].name);
            list[i].setMailboxDepth(n.actors[i].mailbox_depth);
            list[i].setMessagesHandled(n.actors[i].messages_handled);
            list[i].setHandlerNs(n.actors[i].handler_ns);
            list[i].setDeviceNs(n.actors[i].device_ns);
            list[i].setPaused(n.actors[i].paused);
            list_workers(list[i], n.actors[i].workers);
            list_facts(list[i], n.actors[i].facts);
        }
        auto pools = b.body().initPools(1);
        pools[0].setName("cpu:0");
        pools[0].setBytesInUse(1'000'000);
        pools[0].setBytesInUsePeak(2'000'000);
        pools[0].setBytesReserved(3'000'000);
        pools[0].setBytesMax(4'000'000);
        pools[0].setSystemAllocations(321);
        auto links = b.body().initLinks(static_cast<unsigned>(nodes_.size()) - 1);
        unsigned next = 0;
        for (const auto& [id, other] : nodes_)
            if (id != n.info.node) {
                links[next].setNode(id.value());
                links[next++].setOver("rdma (rc_mlx5, mlx5_0:1)");
            }
        return b;
    }

    static void list_workers(proto::ActorList::Actor::Builder to,
                             const std::vector<worker_row>& workers) {
        auto list = to.initWorkers(static_cast<unsigned>(workers.size()));
        for (unsigned i = 0; i < list.size(); ++i) {
            list[i].setWorker(workers[i].worker);
            list[i].setClock(workers[i].clock);
            auto late = list[i].initLate(static_cast<unsigned>(workers[i].late.size()));
            for (unsigned l = 0; l < late.size(); ++l)
                late.set(l, workers[i].late[l]);
            if (workers[i].waits_for)
                list[i].setWaitsFor(*workers[i].waits_for);
        }
    }

    static void list_facts(proto::ActorList::Actor::Builder to,
                           const std::vector<fact_board::fact>& facts) {
        auto list = to.initFacts(static_cast<unsigned>(facts.size()));
        for (unsigned i = 0; i < list.size(); ++i) {
            list[i].setName(facts[i].name);
            list[i].setText(facts[i].text);
        }
    }

    void answer_members(node& n, const frame& f) {
        if (!n.knows_members) {
            frame_builder<proto::Rejected> no;
            no.body().setSequence(f.envelope().getSequence());
            no.body().setReason("there is no such actor");
            return deliver(n.info.node, std::move(no));
        }
        frame_builder<proto::MemberList> b;
        auto list = b.body().initMembers(static_cast<unsigned>(nodes_.size()));
        unsigned i = 0;
        for (const auto& [id, other] : nodes_) {
            list[i].setNode(id.value());
            list[i].setName(other.info.name);
            list[i++].setAddress(other.info.address);
        }
        deliver(n.info.node, std::move(b));
    }

    frame_builder<proto::TraceBatch> page_of(const node& n, proto::ReadTrace::Reader question) {
        frame_builder<proto::TraceBatch> b;
        const std::size_t begin = std::min<std::size_t>(question.getCursor(), n.events.size());
        const std::size_t end =
            std::min<std::size_t>(begin + question.getMaxEvents(), n.events.size());
        std::vector<trace_event> events(n.events.begin() + static_cast<std::ptrdiff_t>(begin),
                                        n.events.begin() + static_cast<std::ptrdiff_t>(end));
        const std::uint64_t minibatch = question.getFilter().getWork();
        const std::uint64_t run = question.getFilter().getRun();
        std::erase_if(events, [&](const trace_event& e) {
            return (minibatch != none && e.work.value() != minibatch) || (run != 0 && e.run != run);
        });
        b.body().setNextCursor(end);
        auto list = b.body().initEvents(static_cast<unsigned>(events.size()));
        for (unsigned i = 0; i < list.size(); ++i)
            write_event(list[i], events[i]);
        auto labels = b.body().initLabels(static_cast<unsigned>(n.names.labels.size()));
        for (unsigned i = 0; i < labels.size(); ++i)
            labels.set(i, n.names.labels[i]);
        auto types = b.body().initTypes(static_cast<unsigned>(n.names.types.size()));
        unsigned i = 0;
        for (const auto& [id, name] : n.names.types) {
            types[i].setId(id);
            types[i++].setName(name);
        }
        return b;
    }

    void open_tail(node& n, proto::OpenTail::Reader question) {
        frame_builder<proto::TailOpened> b;
        b.body().setTail(question.getTail());
        b.body().setProblem(n.tail_problem);
        deliver(n.info.node, std::move(b));
        for (const frame_ptr& f : n.tail)
            listener_->frame_arrived(n.info.node, f);
    }

    std::map<node_id, node> nodes_;
    endpoint_listener* listener_ = nullptr;
};

} // namespace troupe::inspector
