// An actor that sends what a test gives it, and writes down what it gets.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "actors/messages.hpp"
#include "actors/runtime/simulator.hpp"
#include "kernels/reference/reference.hpp"
#include "schemas/probe.capnp.h"
#include "tests/support/all_messages.hpp"

namespace troupe::test {

class puppet;

// What a puppet has to do, one at each Probe, and what it saw. Belongs to the test, must outlive the actor.
struct puppet_log {
    std::deque<std::function<void(puppet&)>> lines;
    std::vector<frame_ptr> got;
    std::vector<std::string> rejected;
    std::vector<std::string> downs; // why whom it watches has ended

    template <class Body>
    std::vector<frame_ptr> all() const {
        std::vector<frame_ptr> found;
        for (const frame_ptr& f : got)
            if (f->body_type() == type_id_of<Body>())
                found.push_back(f);
        return found;
    }
};

class puppet : public actor {
  public:
    using actor::quit;
    using actor::self_handle;
    using actor::send;
    using actor::watch;

  protected:
    puppet(actor_context& context, puppet_log& log) : actor{context}, log_{log} {
        on<proto::Probe>(&puppet::act);
    }
    template <class Body>
    void take(typename Body::Reader, const frame&) {
        if (refuses_)
            return reject("no");
        log_.got.push_back(current());
    }

  private:
    void act(proto::Probe::Reader, const frame&) {
        log_.lines.front()(*this);
        log_.lines.pop_front();
    }
    void on_rejected(proto::Rejected::Reader body, const frame&) override {
        log_.rejected.push_back(read_reason(body.getReason()));
    }
    void on_down(actor_address, const error& why) override { log_.downs.push_back(why.message()); }

  public:
    void refuse() { refuses_ = true; } // from now on, whatever comes

  private:
    puppet_log& log_;
    bool refuses_ = false;
};

// Takes messages of these types.
template <class... Bodies>
class puppet_of final : public puppet {
  public:
    puppet_of(actor_context& context, puppet_log& log) : puppet{context, log} {
        (on<Bodies>(&puppet_of::template take<Bodies>), ...);
    }
};

// A node in the simulator with a device, for one actor between puppets.
struct puppet_stage {
    struct part {
        puppet_log log;
        actor_address address;
    };

    memory_pool memory{1u << 24};
    const std::unique_ptr<operations> ops = make_reference_operations();
    std::deque<part> parts; // outlive the actors
    simulator sim{{.messages = all_messages()}};
    node_runtime& node = sim.add_node("a");
    sim_device& compute = sim.add_device(node, {}, *ops);

    puppet_stage() = default;
    puppet_stage(const puppet_stage&) = delete;
    puppet_stage& operator=(const puppet_stage&) = delete;
    ~puppet_stage() { // what came may lie in the device's memory
        for (part& p : parts)
            p.log.got.clear();
    }

    std::shared_ptr<device> shared_device() { return {std::shared_ptr<void>{}, &compute}; }
    void settle() { sim.run_for(std::chrono::seconds{1}); }

    template <class... Bodies>
    part& add(const std::string& name) {
        part& p = parts.emplace_back();
        p.address = node.spawn<puppet_of<Bodies...>>(name, p.log);
        return p;
    }
    void act(part& by, std::function<void(puppet&)> line) {
        by.log.lines.push_back(std::move(line));
        node.send(by.address, frame_builder<proto::Probe>{});
        settle();
    }
    template <class Body>
    void say(part& by, actor_address to, frame_builder<Body> message) {
        auto kept = std::make_shared<frame_builder<Body>>(std::move(message));
        act(by, [kept, to](puppet& self) { self.send(to, std::move(*kept)); });
    }
    void watch(part& by, actor_address whom) {
        act(by, [whom](puppet& self) { self.watch(whom); });
    }

    tensor floats(const std::vector<float>& values) {
        tensor t = tensor::allocate(memory, data_type::float32, {values.size()}).value();
        std::ranges::copy(values, t.mutable_values<float>().begin());
        return t;
    }
    tensor integers(std::size_t count) {
        return tensor::allocate(memory, data_type::int32, {count}).value();
    }

    // Device work in the trace under this name, with the minibatch.
    std::size_t traced(const std::string& label, std::uint64_t minibatch) {
        const std::uint64_t number = node.trace().label(label);
        return static_cast<std::size_t>(
            std::ranges::count_if(node.trace().read(0, 1u << 12).events, [&](const trace_event& e) {
                return e.kind == trace_kind::compute && e.type == number &&
                       e.work.value() == minibatch;
            }));
    }
};

inline std::vector<float> values_of(const tensor& t) {
    return {t.values<float>().begin(), t.values<float>().end()};
}

} // namespace troupe::test
