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
#include "actors/pipeline/run_roles.hpp"
#include "actors/pipeline/schedule.hpp"
#include "actors/run/plan_device.hpp"
#include "kernels/graph/stage_program.hpp"
#include "schemas/app.capnp.h"
#include "schemas/base/ids.hpp"

namespace troupe {

// A layer as topology.pipeline.stages counts them. Bytes and operations are of a minibatch.
struct planned_layer {
    std::string name; // "layers.2.0.0.layers.1 attention", as its parameters are named
    std::string
        key; // of the app file, below model: "layers[2].repeat.layers[0].residual.layers[1]"
    tensor_shape output; // of a sample
    std::uint64_t parameters = 0;
    double forward_flops = 0;
    double backward_flops = 0;
    std::uint64_t kept_bytes = 0; // from its forward to its backward pass
    std::uint64_t crossing_bytes =
        0;                 // forward and back, if a stage ends behind it; in int8 at most
    double compute_ns = 0; // measured, forward and backward; 0 if nothing was
};

struct planned_stage {
    layer_range layers;
    std::string first_layer; // "layers.0 conv2d"
    std::string last_layer;
    std::vector<plan_device> where; // by replica
    std::size_t shards = 0;         // of its parameter server, beside the first replicas
    std::uint64_t parameters = 0;
    std::uint64_t parameter_bytes = 0;
    weights_layout layout{{}, {}, {}};    // with what the optimizer keeps
    std::size_t averages = 0;             // of its entries the last
    std::vector<std::size_t> factor_rows; // by parameter (parameter_info)
    float rate_factor = 1;                // of its learning rate, beside train.optimizer's
    std::uint64_t weight_bytes =
        0; // all versions alive at once, gradients, and what the optimizer keeps
    std::uint64_t kept_bytes = 0; // activations, of all microbatches in flight
    std::uint64_t rounded_bytes =
        0; // on a GPU meanwhile, copies in 16 bits: of one product's factors, at most
    std::uint64_t activation_bytes = 0; // sent to the next stage per minibatch; 0 for the last
    std::uint64_t gradient_bytes = 0;   // that come back for them
    double forward_flops = 0;           // per minibatch
    double backward_flops = 0;
    std::uint32_t in_flight_max = 1; // of one replica: microbatches between forward and backward
    std::uint32_t versions_max = 1;  // weight versions alive at once
    double compute_ns =
        0; // measured, forward and backward of a minibatch; 0 if nothing was measured
};

// An actor that a node's agent spawns.
struct planned_actor {
    run_role role = run_role::stage;
    std::string name; // "reducer-0.1"
    plan_device where;
    std::uint32_t stage = 0;             // that it is, or stands beside
    std::vector<std::uint32_t> replicas; // of that stage: one, but of a server that a node shares
};

struct plan {
    bool is_pipeline = false; // else all layers are on one device, as a pipeline of one stage
    proto::PipelineSchedule schedule = proto::PipelineSchedule::PIPEDREAM;
    std::uint32_t batch = 1;
    std::uint32_t batch_max =
        1; // to which minibatches grow; what is said per minibatch is of these
    std::uint32_t microbatches = 1;
    std::uint32_t replicas = 1;                // of the whole
    std::vector<std::uint32_t> stage_replicas; // of every stage, where they differ
    replica_sync sync;
    number_form_ptr activations; // how stages send them and their gradients; null: as they are
    proto::Precision precision = proto::Precision::F32; // of the model's products
    std::uint64_t input_bytes = 0; // from the data source to the first stage, per minibatch
    std::uint64_t label_bytes = 0; // from the data source to the last stage, per minibatch
    std::vector<planned_stage> stages;
    std::vector<planned_layer> layers;
    // All of the run: by replica, then stage, each stage behind what stands beside it.
    std::vector<planned_actor> actors;
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

// A stage that names no device gets the next that no stage names; if every device is named, all are shared. Each replica has
// as many devices as the others, the first replica the first of them.
result<plan> make_plan(const plan_request& request);

// How the replicas of a stage sum, and the bytes that one of them sends at most each time (compressed: compressed_exchange).
// Only where they do.
struct planned_reduction {
    std::string by; // "ring"; compressed "all-gather" or as compressed_exchange::name() says
    std::uint64_t bytes = 0;
    std::uint64_t bytes_without = 0; // as gradients are
    std::size_t as_factors = 0;      // so many weights
};
planned_reduction reduction_of(const plan& p, const planned_stage& s);

// What all stages need together; their places and traffic aside.
planned_stage total_of(std::span<const planned_stage> stages);

// For people: the stages, what they need and the traffic between them.
std::string describe(const plan& p);

// What of it may not be meant, a sentence each: stages that take turns on a device, devices that may not hold what their
// stages keep, and a codec with which replicas send more than without. With the option of the command that bounds their
// memory: of `troupe node`, if they are a cluster's.
std::vector<std::string> notes_of(const plan& p, bool of_cluster);

// For people: a table of the layers. Those of a `repeat` block stand there once, with the sums of the others, unless `all`.
std::string describe_layers(const plan& p, bool all);

} // namespace troupe
