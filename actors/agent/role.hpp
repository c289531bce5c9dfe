// What a node's agent can spawn: roles. A row of the table that the agent's owner hands to it names the
// role, the struct of its options, and what prepares an actor of it. The agent knows no role; a family
// of actors has its rows in its own folder.
//
//     result<prepared_actor> prepare(proto::EchoOptions::Reader options, const role_resources& on) {
//         if (options.getTimes() == 0)
//             return error{errc::protocol, "an echo answers once at least"};
//         return prepared<echo_actor>(on, "echo", options.getTimes());
//     }
//     const role echo = role_of<proto::EchoOptions>("echo", prepare);
//
// Threads: rows are values; they are called on the agent's thread and do not wait.
// Errors: options come from other nodes, and are checked whole before anything is spawned.
#pragma once

#include <capnp/any.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <typeindex>
#include <utility>

#include "actors/runtime/node_runtime.hpp"
#include "kernels/device/device.hpp"

namespace troupe {

// What actors of one run on one node have in common: objects, by type and a number of their own. The first that asks for one
// makes it; the last that holds it ends it.
//
// Threads: the agent's; the objects say for themselves.
class shared_objects {
  public:
    template <class T>
    std::shared_ptr<T> of(std::uint64_t number) {
        std::shared_ptr<void>& kept = objects_[{std::type_index{typeid(T)}, number}];
        if (!kept)
            kept = std::make_shared<T>();
        return std::static_pointer_cast<T>(kept);
    }

  private:
    std::map<std::pair<std::type_index, std::uint64_t>, std::shared_ptr<void>> objects_;
};

// What an actor is spawned with beside its options.
struct role_resources {
    node_runtime& runtime;
    std::shared_ptr<device> compute; // that the request names
    std::shared_ptr<device> worker;  // the node's, beside its devices; null: it has none
    actor_address asker;             // of the run: alone leads it
    shared_objects& shared;          // of the run on this node

    const std::string& node() const { return runtime.options().name; }
};

// An actor whose options have been checked.
struct prepared_actor {
    std::string name;
    std::function<actor_address()> spawn; // once, and without fail
};

// One of class A: A(actor_context&, args...). Where this is called, A is known (actor.hpp).
template <class A, class... Args>
prepared_actor prepared(const role_resources& on, std::string name, Args... args) {
    return {name, [&runtime = on.runtime, name, ... args = std::move(args)] {
                return runtime.template spawn<A>(name, args...);
            }};
}

struct role {
    std::string name;               // "stage"
    std::uint64_t options_type = 0; // the schema's id of its options
    std::function<result<prepared_actor>(capnp::AnyPointer::Reader, const role_resources&)> prepare;
};

template <class Options>
role role_of(std::string name,
             result<prepared_actor> (*prepare)(typename Options::Reader, const role_resources&)) {
    return {std::move(name), type_id_of<Options>(),
            [prepare](capnp::AnyPointer::Reader options, const role_resources& on) {
                return prepare(options.getAs<Options>(), on);
            }};
}

} // namespace troupe
