// A node on which roles are checked and carried out by themselves, with options that a test changes.
#pragma once

#include <functional>
#include <string>

#include "actors/agent/role.hpp"
#include "actors/pipeline/shape/schedule_message.hpp"
#include "actors/training/plan/training_app.hpp"
#include "schemas/pipeline.capnp.h"
#include "schemas/run.capnp.h"
#include "tests/support/pipeline_app.hpp"
#include "tests/support/puppet.hpp"
#include "tests/support/stage_schedules.hpp"

namespace troupe::test {

// That of the whole model's only replica, of the app.
inline void write_part(proto::ModelPart::Builder to, proto::App::Reader app) {
    to.setModel(app.getModel());
    to.setTrain(app.getTrain());
    to.setSync(app.getTopology().getSync());
    to.setLayers(6);
    to.setReplicas(app.getTopology().getReplicas());
}

struct role_stage : puppet_stage {
    // `topology`: "replicas: 2, sync: all_reduce, ", or nothing.
    explicit role_stage(const std::string& topology = {}) : app{make_app(topology)} {}

    static training_app make_app(const std::string& topology) {
        std::string text = pipeline_app("gpipe", {6}, 1);
        const std::string key = "topology: {";
        text.insert(text.find(key) + key.size(), topology);
        return parse_training(text, "app.yaml").value();
    }

    template <class Builder>
    void write_options(Builder to) const {
        write_part(to.initPart(), app.app());
        if constexpr (std::is_same_v<Builder, proto::StageOptions::Builder>)
            write_schedule(to.initSchedule(), schedule_of_stage("gpipe", 0, 1));
    }
    role_resources resources() {
        return {.runtime = node,
                .compute = shared_device(),
                .io = nullptr,
                .asker = {},
                .shared = shared};
    }

    // Why these options are refused, with this change; empty: they are not.
    template <class Options>
    std::string refusal(const role& r,
                        const std::function<void(typename Options::Builder)>& change) {
        capnp::MallocMessageBuilder message;
        auto any = message.getRoot<capnp::AnyPointer>();
        auto options = any.initAs<Options>();
        write_options(options);
        change(options);
        const auto prepared = r.prepare(any.asReader(), resources());
        return prepared ? std::string{} : prepared.failure().message();
    }
    // The actor's name; why there is none.
    template <class Options>
    std::string spawned(
        const role& r, const std::function<void(typename Options::Builder)>& change =
                           [](typename Options::Builder) {}) {
        capnp::MallocMessageBuilder message;
        auto any = message.getRoot<capnp::AnyPointer>();
        auto options = any.initAs<Options>();
        write_options(options);
        change(options);
        const auto prepared = r.prepare(any.asReader(), resources());
        if (!prepared)
            return prepared.failure().message();
        BOOST_TEST((node.address_of(prepared->name) == prepared->spawn()));
        return prepared->name;
    }

    const training_app app;
    shared_objects shared;
};

} // namespace troupe::test
