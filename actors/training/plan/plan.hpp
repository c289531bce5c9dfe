// The plan: a placed topology, made from an app definition and a cluster's devices. It says which layers run on which device
// and what flows between them. Pure; nothing is started.
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

#include "actors/pipeline/shape/partition.hpp"
#include "actors/pipeline/shape/run_roles.hpp"
#include "actors/run/plan_device.hpp"
#include "actors/training/plan/planned_rate.hpp"
#include "actors/training/plan/planned_schedule.hpp"
#include "kernels/graph/stage_program.hpp"
#include "schemas/app.capnp.h"
#include "schemas/base/ids.hpp"

namespace troupe {

// A layer as topology.pipeline.stages counts them. Bytes and operations are those of a minibatch.
struct planned_layer {
    std::string name; // "layers.2.0.0.layers.1 attention", as its parameters are named
    // Key in the app file below model: "layers[2].repeat.layers[0].residual.layers[1]".
    std::string key;
    tensor_shape output; // shape for one sample
    std::uint64_t parameters = 0;
    double forward_flops = 0;
    double backward_flops = 0;
    std::uint64_t kept_bytes = 0; // memory kept from its forward to its backward pass
    // Bytes sent forward and back if a stage ends behind the layer; an upper bound with int8.
    std::uint64_t crossing_bytes = 0;
    double compute_ns = 0; // measured time, forward and backward; 0 if nothing was measured
};

// The layers of a stage.
struct stage_layers {
    layer_range range;
    std::string first_name; // "layers.0 conv2d"
    std::string last_name;
};

// The weights of a stage, as they are saved, summed over replicas and updated.
struct stage_weights {
    weights_layout layout{{}, {}, {}}; // includes the optimizer's state
    std::size_t averages = 0;          // number of running averages, the last entries of `layout`
    std::vector<std::size_t> factor_rows; // by parameter (parameter_info)
    float rate_factor = 1; // factor of its learning rate, relative to train.optimizer's
};

// The memory and computation that a stage needs, or several (total_of). Operations and times are of a minibatch.
struct stage_needs {
    std::uint64_t parameters = 0;
    std::uint64_t parameter_bytes = 0;
    // All versions alive at once, gradients, and the optimizer's state.
    std::uint64_t weight_bytes = 0;
    std::uint64_t kept_bytes = 0; // activations of all microbatches in flight
    // Copies in 16 bits that a GPU needs besides: those of one product's factors, at most.
    std::uint64_t rounded_bytes = 0;
    double forward_flops = 0;
    double backward_flops = 0;
    double weight_half_flops = 0; // of these, in the second half of a backward pass
    double compute_ns = 0;        // measured time, forward and backward; 0 if nothing was measured
};

// Bytes per minibatch between a stage and the next one; 0 for the last.
struct stage_traffic {
    std::uint64_t activation_bytes = 0; // sent to the next stage
    std::uint64_t gradient_bytes = 0;   // gradients that come back for these activations
};

struct planned_stage {
    stage_layers layers;
    std::vector<plan_device> where; // by replica
    // Number of shards of its parameter server, placed beside the first replicas.
    std::size_t shards = 0;
    stage_weights weights;
    stage_needs needs;
    stage_traffic traffic;
    std::uint32_t in_flight_max = 1; // planned_schedule::in_flight
    std::uint32_t versions_max = 1;  // planned_schedule::versions
};

// An actor that a node's agent spawns.
struct planned_actor {
    run_role role = run_role::stage;
    std::string name; // "reducer-0.1"
    plan_device where;
    std::uint32_t stage = 0; // the stage that it is, or that it stands beside
    // Replicas of that stage: one, or several for a server that the replicas of a node share.
    std::vector<std::uint32_t> replicas;
};

// The way of minibatches through the stages.
struct plan_shape {
    bool is_pipeline = false; // false: all layers are on one device, as a pipeline of one stage
    std::uint32_t batch = 1;
    // Size to which minibatches grow; figures per minibatch are for this size.
    std::uint32_t batch_max = 1;
    std::uint32_t microbatches = 1;
};

// The forms of numbers.
struct plan_forms {
    // Form in which stages send activations and their gradients; null: unchanged.
    number_form_ptr activations;
    proto::Precision precision = proto::Precision::F32; // precision of the model's matrix products
};

// Bytes per minibatch from the data source.
struct source_traffic {
    std::uint64_t input_bytes = 0; // to the first stage
    std::uint64_t label_bytes = 0; // to the last stage
};

struct plan {
    plan_shape shape;
    planned_schedule schedule; // of a pipeline of all stages, also if it is one
    planned_rate rate;
    std::uint32_t replicas = 1; // number of replicas of the whole pipeline
    // Numbers of replicas by stage, where they differ.
    std::vector<std::uint32_t> stage_replicas;
    replica_sync sync;
    plan_forms forms;
    source_traffic source;
    std::vector<planned_stage> stages;
    std::vector<planned_layer> layers;
    // All actors of the run, by replica, then stage; each stage follows its companions.
    std::vector<planned_actor> actors;
};

struct plan_request {
    proto::App::Reader app;
    std::vector<plan_device> devices; // in order of preference; not empty
    // Measured times of a minibatch, forward and backward, one per layer; or empty.
    std::vector<double> layer_ns;
    std::shared_ptr<const schedule_table> table{}; // read_table_file()
};

// Returns whether the plan depends on measured layer times: for the cut, or for the stages that share a device where more
// stages name none than devices are left for them.
bool needs_layer_times(proto::App::Reader app, std::span<const plan_device> devices);

// A stage that names no device gets the next device that no stage names; if every device is named, all are shared. Each
// replica has as many devices as the others; the first replica has the first of them.
result<plan> make_plan(const plan_request& request);

// The way in which the replicas of a stage sum gradients, and the bytes that one of them sends at most each time (with
// compression: compressed_sum). Defined only where replicas sum.
struct planned_reduction {
    std::string by; // "ring"; with compression "all-gather" or compressed_sum::name()
    std::uint64_t bytes = 0;
    std::uint64_t bytes_without = 0; // the same without compression
    std::size_t as_factors = 0;      // number of weights whose gradients are sent as factors
};
planned_reduction reduction_of(const plan& p, const planned_stage& s);

// The sum of what the stages need, without rounded copies, which are of one product at a time.
stage_needs total_of(std::span<const planned_stage> stages);

// Text for people: the stages, their needs and the traffic between them.
std::string describe(const plan& p);

// Notes on parts of the plan that may not be intended, one sentence each: stages that take turns on a device, devices that
// may not hold what their stages keep, and a codec with which replicas send more than without. A note on memory names the
// command's option that bounds it: that of `troupe node` if the devices are a cluster's.
std::vector<std::string> notes_of(const plan& p, bool of_cluster);

// Text for people: a table of the layers. Layers of a `repeat` block have one row, with sums, unless `all` is set.
std::string describe_layers(const plan& p, bool all);

} // namespace troupe
