// Roles: the kinds of actors that a node's agent can spawn. A row of the table that the agent's owner passes in has the
// name of the role, the type of its options, and a function that prepares an actor of it. The agent itself knows no role;
// each family of actors has its rows in its own folder.
//
//     result<prepared_actor> prepare(proto::EchoOptions::Reader options, const role_resources& on) {
//         if (options.getTimes() == 0)
//             return error{errc::protocol, "an echo answers once at least"};
//         return prepared<echo_actor>(on, "echo", options.getTimes());
//     }
//     const role echo = role_of<proto::EchoOptions>("echo", prepare);
//
// Preparations that take long, as calls of what the author of a program has written, are work for a device (prepared_by), so
// that the agent goes on answering.
//
// Threads: rows are values; their functions run on the agent's thread and neither wait nor compute, except what prepared_by
// hands to a device.
// Errors: options come from other nodes and are fully checked before anything is spawned.
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

// Objects shared by the actors of one run on one node, by type and a number per type. The first request makes an object; it
// ends with its last owner.
//
// Threads: the agent's; the objects have rules of their own.
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

// Resources for an actor that is spawned, besides its options.
struct role_resources {
    node_runtime& runtime;
    std::shared_ptr<device> compute; // the device that the request names
    std::shared_ptr<device> io;      // the node's background thread; null: it has none
    std::uint64_t run = 0;           // the number of the run
    actor_address asker;             // the actor that leads the run
    shared_objects& shared;          // shared by the run's actors on this node

    const std::string& node() const { return runtime.options().name; }
};

// An actor whose options have been checked.
struct prepared_actor {
    std::string name;
    std::function<actor_address()> spawn; // called once, after the work; does not fail
    // Work that comes first; null: there is none. Called once, by the device. The options of the request can be read until
    // it is over.
    std::function<result<void>()> work = {};
    std::shared_ptr<device> worked_on_by = {};
};

// Prepares an actor of class A: A(actor_context&, args...). A must be complete where this is called (actor.hpp).
template <class A, class... Args>
prepared_actor prepared(const role_resources& on, std::string name, Args... args) {
    return {name, [&runtime = on.runtime, run = on.run, name, ... args = std::move(args)] {
                return runtime.template spawn_of_run<A>(run, name, args...);
            }};
}

// The same for A(actor_context&, Options), if `complete` takes long before the options are what the actor needs.
template <class A, class Options>
prepared_actor prepared_by(std::shared_ptr<device> where, const role_resources& on,
                           std::string name, Options options,
                           std::function<result<void>(Options&)> complete) {
    const auto made = std::make_shared<Options>(std::move(options));
    return {
        .name = name,
        .spawn = [&runtime = on.runtime, run = on.run, name,
                  made] { return runtime.template spawn_of_run<A>(run, name, std::move(*made)); },
        .work = [made, complete = std::move(complete)] { return complete(*made); },
        .worked_on_by = std::move(where)};
}

struct role {
    std::string name;               // "stage"
    std::uint64_t options_type = 0; // type id of its options in the schema
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
