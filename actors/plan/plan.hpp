// From an app definition and a cluster's devices to a placed topology: which layers run on which device and what flows
// between them. Pure; nothing is started.
//
//     plan_request request{app, devices};
//     if (needs_layer_times(app, devices)) request.layer_ns = measured;
//     auto plan = make_plan(request);
//
// Errors: errc::usage for a topology that the devices or layers cannot carry, "KEY: SENTENCE" with a key of the app file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "actors/pipeline/partition.hpp"
#include "actors/pipeline/schedule.hpp"
#include "kernels/graph/stage_program.hpp"
#include "schemas/app.capnp.h"
#include "schemas/base/ids.hpp"

namespace troupe {

// A device that a stage may be placed on.
struct plan_device {
    node_id node;
    std::string node_name;
    std::string device; // "cpu:0"

    friend bool operator==(const plan_device&, const plan_device&) = default;
};

struct planned_stage {
    layer_range layers;
    std::string first_layer; // "layers.0 conv2d"
    std::string last_layer;
    plan_device where;
    std::uint64_t parameter_bytes = 0;
    weights_layout layout{{}, {}, {}};  // with what the optimizer keeps
    std::uint64_t activation_bytes = 0; // sent to the next stage per minibatch; 0 for the last
    std::uint64_t gradient_bytes = 0;   // that come back for them
    double forward_flops = 0;           // per minibatch
    std::uint32_t in_flight_max = 1;    // microbatches between forward and backward
    std::uint32_t versions_max = 1;     // weight versions alive at once
    double compute_ns =
        0; // measured, forward and backward of a minibatch; 0 if nothing was measured
};

struct plan {
    proto::PipelineSchedule schedule = proto::PipelineSchedule::PIPEDREAM;
    std::uint32_t batch = 1;
    std::uint32_t batch_max =
        1; // to which minibatches grow; what is said per minibatch is of these
    std::uint32_t microbatches = 1;
    proto::Precision precision = proto::Precision::F32; // of the model's products
    std::uint64_t input_bytes = 0; // from the data source to the first stage, per minibatch
    std::uint64_t label_bytes = 0; // from the data source to the last stage, per minibatch
    std::vector<planned_stage> stages;
};

struct plan_request {
    proto::App::Reader app;
    std::vector<plan_device> devices; // in order of preference; not empty
    std::vector<double>
        layer_ns; // measured, forward and backward of a minibatch, one per layer; or empty
};

// Whether measured layer times decide something: the cut, or which stages share a device where more stages name none than
// devices are left for them.
bool needs_layer_times(proto::App::Reader app, std::span<const plan_device> devices);

// A stage that names no device gets the next that no stage names; if every device is named, all are shared.
result<plan> make_plan(const plan_request& request);

// For people: a table of the stages and the traffic between them.
std::string describe(const plan& p);

} // namespace troupe
