#include "actors/plan/plan.hpp"

#include <algorithm>
#include <optional>

#include "actors/pipeline/run_shape.hpp"
#include "actors/plan/saturated.hpp"
#include "kernels/optim/optimizer.hpp"
#include "schemas/base/limits.hpp"
#include "transport/frame/wire.hpp"

namespace troupe {

namespace {

// The devices of one replica; at least one.
std::size_t devices_of_replica(proto::App::Reader app, std::size_t devices) {
    return std::max<std::size_t>(1, devices / app.getTopology().getReplicas());
}

// How many stages the app wants of this model on so many devices of a replica.
std::size_t stage_count(proto::App::Reader app, std::size_t devices) {
    const auto topology = app.getTopology();
    if (topology.isSingle())
        return 1;
    const auto stages = topology.getPipeline().getStages();
    switch (stages.which()) {
    case proto::Stages::AUTO:
        return std::min(devices, count_layers(app.getModel()));
    case proto::Stages::COUNT:
        return stages.getCount();
    case proto::Stages::LIST:
        return stages.getList().size();
    }
    return 1;
}

// What frames between two processes of one machine move: the lower end of what UCX reaches over shared memory and TCP
// loopback for large tensors (tests/bench/README.md). Only the balance between cuts depends on it.
constexpr double link_bytes_per_second = 3e9;

// Of every layer. Where nothing was measured only traffic costs.
std::vector<layer_cost> layer_costs(const plan_request& request,
                                    std::span<const layer_info> infos) {
    std::vector<layer_cost> costs;
    for (std::size_t l = 0; l < infos.size(); ++l) {
        const double bytes =
            static_cast<double>(infos[l].crossing_bytes + infos[l].crossing_gradient_bytes) *
            request.app.getTrain().getBatch();
        costs.push_back({request.layer_ns.empty() ? 0.0 : request.layer_ns[l],
                         bytes / link_bytes_per_second * 1e9});
    }
    return costs;
}

result<std::vector<layer_range>> cut(const plan_request& request, std::span<const layer_cost> costs,
                                     std::size_t stages) {
    const std::size_t layers = costs.size();
    if (stages > layers)
        return error{errc::usage, "topology.pipeline.stages: " + std::to_string(stages) +
                                      " stages for " + std::to_string(layers) +
                                      " layers; every stage needs at least one"};
    const auto topology = request.app.getTopology();
    if (topology.isPipeline() && topology.getPipeline().getStages().isList()) {
        std::vector<layer_range> ranges;
        std::size_t first = 0;
        for (const auto stage : topology.getPipeline().getStages().getList()) {
            ranges.push_back({first, stage.getLayers()});
            first += stage.getLayers();
        }
        if (first != layers)
            return error{errc::usage, "topology.pipeline.stages: the stages hold " +
                                          std::to_string(first) + " layers, the model has " +
                                          std::to_string(layers)};
        return ranges;
    }
    return partition_layers(costs, stages);
}

// Which of so many devices each stage has. Stages fill the devices in order; with fewer devices than stages, neighbours
// share one such that the busiest device has as little to do as can be.
std::vector<std::size_t> spread(std::span<const layer_cost> stages, std::size_t devices) {
    // Stages are to a device what layers are to a stage.
    std::vector<std::size_t> device_of;
    std::size_t device = 0;
    for (const layer_range& group : partition_layers(stages, std::min(stages.size(), devices)))
        device_of.insert(device_of.end(), group.count, device++);
    return device_of;
}

// The number of "cpu:0" or "NODE/cpu:0" among the devices.
result<std::size_t> find_device(const std::string& wanted, std::span<const plan_device> devices) {
    std::string known;
    for (std::size_t d = 0; d < devices.size(); ++d) {
        const std::string full = devices[d].node_name + "/" + devices[d].device;
        if (wanted == devices[d].device || wanted == full)
            return d;
        known += (known.empty() ? "" : ", ") + full;
    }
    return error{errc::usage, "no device '" + wanted + "'; there are: " + known};
}

// The devices that stages name, and which are left for the other stages.
struct seating {
    std::vector<std::optional<std::size_t>> named; // by stage
    std::vector<std::size_t> left;                 // in order; all if every device is named
};

result<seating> seat_named(proto::App::Reader app, std::span<const plan_device> devices) {
    seating seats;
    seats.named.resize(stage_count(app, devices.size()));
    const auto topology = app.getTopology();
    if (topology.isPipeline() && topology.getPipeline().getStages().isList()) {
        const auto list = topology.getPipeline().getStages().getList();
        for (unsigned s = 0; s < list.size(); ++s) {
            if (list[s].getDevice().size() == 0)
                continue;
            auto device = find_device(list[s].getDevice().cStr(), devices);
            if (!device)
                return device.failure().in("topology.pipeline.stages[" + std::to_string(s) +
                                           "].device");
            seats.named[s] = *device;
        }
    }
    for (std::size_t d = 0; d < devices.size(); ++d)
        if (std::ranges::count(seats.named, std::optional{d}) == 0)
            seats.left.push_back(d);
    if (seats.left.empty())
        for (std::size_t d = 0; d < devices.size(); ++d)
            seats.left.push_back(d);
    return seats;
}

// Which of these devices each stage has, by its number.
result<std::vector<std::size_t>> place(const plan_request& request,
                                       std::span<const plan_device> devices,
                                       std::span<const layer_range> stages,
                                       std::span<const layer_cost> layers) {
    const auto seats = seat_named(request.app, devices);
    if (!seats)
        return seats.failure();
    std::vector<layer_cost> others; // of the stages that name no device
    for (std::size_t s = 0; s < stages.size(); ++s) {
        if (seats->named[s])
            continue;
        layer_cost cost;
        for (const layer_cost& layer : layers.subspan(stages[s].first, stages[s].count))
            cost = {cost.compute_ns + layer.compute_ns, layer.link_ns};
        others.push_back(cost);
    }
    std::vector<std::size_t> spread_over;
    if (!others.empty())
        spread_over = spread(others, seats->left.size());
    std::vector<std::size_t> device_of;
    auto next = spread_over.begin();
    for (const auto& named : seats->named)
        device_of.push_back(named ? *named : seats->left[*next++]);
    return device_of;
}

// The devices of each replica are those of the first with another device for each of its devices.
result<void> place_replicas(const plan_request& request, std::span<const std::size_t> device_of,
                            std::span<planned_stage> stages) {
    const std::uint32_t replicas = request.app.getTopology().getReplicas();
    const std::size_t each = devices_of_replica(request.app, request.devices.size());
    if (replicas > request.devices.size())
        return error{errc::usage, "topology.replicas: " + std::to_string(replicas) +
                                      " replicas need a device each, and there are " +
                                      std::to_string(request.devices.size()) +
                                      "; start more nodes (--nodes), or give them more devices "
                                      "(--devices cpu:N)"};
    for (std::size_t s = 0; s < stages.size(); ++s)
        for (std::uint32_t r = 0; r < replicas; ++r)
            stages[s].where.push_back(request.devices[r * each + device_of[s]]);
    return {};
}

// Whether a checkpoint of the stage can be sent: its weights and the optimizer's state are one message.
result<void> check_snapshot(proto::App::Reader app, const planned_stage& stage,
                            std::size_t number) {
    const auto& entries = stage.layout.entries();
    const std::size_t tensors = entries.size();
    std::uint64_t bytes = 0;
    for (const auto& entry : entries)
        bytes += wire::aligned(entry.shape.elements() * sizeof(float));
    if (!app.hasCheckpoint() ||
        (tensors <= limits::frame_tensors_max && bytes <= limits::frame_bytes_max))
        return {};
    const bool has_state = std::ranges::any_of(entries, &weights_layout::entry::is_state);
    return error{errc::usage,
                 "stage " + std::to_string(number) + " (" + stage.first_layer + " .. " +
                     stage.last_layer + ") has " + std::to_string(tensors) + " weight tensors of " +
                     std::to_string(bytes) + " bytes" +
                     (has_state ? " with the optimizer's state" : "") +
                     "; the message that a checkpoint needs holds " +
                     std::to_string(limits::frame_tensors_max) + " tensors and " +
                     std::to_string(limits::frame_bytes_max) + " bytes; " +
                     (stage.layers.count > 1 ? "use more stages (topology.pipeline.stages)"
                                             : "make its layer smaller") +
                     ", or leave out checkpoint"};
}

std::uint32_t largest_batch(proto::Train::Reader train) {
    return batch_sizes::of(train).at(train.getEpochs() - 1);
}

planned_layer describe_layer(const plan_request& request, std::span<const layer_info> layers,
                             std::size_t number) {
    const layer_info& info = layers[number];
    const std::uint32_t batch = largest_batch(request.app.getTrain());
    planned_layer layer;
    layer.name = info.name;
    layer.key = info.key;
    layer.output = info.output_shape;
    layer.parameters = info.parameter_elements;
    layer.forward_flops = info.forward_flops_per_sample * batch;
    layer.backward_flops = info.backward_flops_per_sample * batch;
    if (number + 1 < layers.size())
        layer.crossing_bytes =
            saturated_product(info.crossing_bytes + info.crossing_gradient_bytes, batch);
    if (!request.layer_ns.empty())
        layer.compute_ns = request.layer_ns[number];
    return layer;
}

// What does not depend on the other stages.
planned_stage describe_stage(const plan_request& request, std::span<const layer_info> layers,
                             const stage_program& program) {
    const optimizer_ptr rule = make_optimizer(request.app.getTrain().getOptimizer());
    TROUPE_CHECK(rule != nullptr, "the app file was checked by this build");
    const auto own = layers.subspan(program.range().first, program.range().count);
    const std::uint32_t batch = largest_batch(request.app.getTrain());
    planned_stage stage;
    stage.layers = program.range();
    stage.first_layer = own.front().name;
    stage.last_layer = own.back().name;
    stage.layout = program.layout(rule->state());
    stage.parameter_bytes = program.parameter_bytes();
    stage.parameters = stage.parameter_bytes / sizeof(float);
    stage.activation_bytes =
        program.has_loss() ? 0 : saturated_product(own.back().crossing_bytes, batch);
    stage.gradient_bytes =
        program.has_loss() ? 0 : saturated_product(own.back().crossing_gradient_bytes, batch);
    stage.forward_flops = program.forward_flops_per_sample() * batch;
    stage.backward_flops = program.backward_flops_per_sample() * batch;
    if (!request.layer_ns.empty())
        for (std::size_t l = 0; l < own.size(); ++l)
            stage.compute_ns += request.layer_ns[stage.layers.first + l];
    return stage;
}

// The gradients of a microbatch, beside the sum of those before it, are as large as a version; they are gone before the
// next minibatch's. The optimizer's state is the latest version's alone.
std::uint64_t weight_bytes(const planned_stage& stage, std::uint32_t microbatches) {
    const std::uint64_t state_bytes = stage.layout.state_bytes();
    const std::uint64_t gradients = microbatches > 1 ? 2 : 1;
    return saturated_sum(
        saturated_product(stage.layout.bytes() - state_bytes, stage.versions_max + gradients),
        state_bytes);
}

} // namespace

bool needs_layer_times(proto::App::Reader app, std::span<const plan_device> devices) {
    const auto topology = app.getTopology();
    devices = devices.first(devices_of_replica(app, devices.size()));
    if (!topology.isPipeline())
        return false;
    if (!topology.getPipeline().getStages().isList())
        return stage_count(app, devices.size()) > 1;
    const auto seats = seat_named(app, devices);
    if (!seats)
        return false; // make_plan says why
    const auto others =
        static_cast<std::size_t>(std::ranges::count(seats->named, std::optional<std::size_t>{}));
    return seats->left.size() > 1 && others > seats->left.size();
}

result<plan> make_plan(const plan_request& request) {
    TROUPE_CHECK(!request.devices.empty(), "a plan needs a device");
    auto layers = describe_model(request.app.getModel());
    if (!layers)
        return layers.failure();
    TROUPE_CHECK(request.layer_ns.size() == layers->size() ||
                     !needs_layer_times(request.app, request.devices),
                 "the caller measures where needs_layer_times() says so");
    const auto own = std::span{request.devices}.first(
        devices_of_replica(request.app, request.devices.size())); // of the first replica
    const std::size_t stages = stage_count(request.app, own.size());
    const std::vector<layer_cost> costs = layer_costs(request, *layers);
    auto ranges = cut(request, costs, stages);
    if (!ranges)
        return ranges.failure();
    const auto device_of = place(request, own, *ranges, costs);
    if (!device_of)
        return device_of.failure();

    plan p;
    const auto train = request.app.getTrain();
    p.batch = train.getBatch();
    p.batch_max = largest_batch(train);
    p.precision = request.app.getModel().getPrecision();
    p.replicas = request.app.getTopology().getReplicas();
    const auto sync = replica_sync::of(request.app.getTopology().getSync(), p.replicas);
    TROUPE_CHECK(sync, "the app file was checked by this build");
    p.sync = *sync;
    if (const auto topology = request.app.getTopology(); topology.isPipeline()) {
        p.is_pipeline = true;
        p.schedule = topology.getPipeline().getSchedule();
        if (cuts_minibatches(p.schedule))
            p.microbatches = topology.getPipeline().getMicrobatches();
    }
    const epoch_shape minibatch =
        epoch_shape::of(std::uint64_t{p.batch} * stages, p.batch, p.microbatches);
    const auto programs = stage_program::create(request.app.getModel(), *ranges);
    if (!programs)
        return programs.failure();
    p.input_bytes = bytes_of(programs->front().inputs()[0].info) * p.batch_max;
    p.label_bytes = bytes_of(programs->back().labels()) * p.batch_max;
    for (std::size_t s = 0; s < stages; ++s) {
        planned_stage stage = describe_stage(request, *layers, (*programs)[s]);
        const stage_place at{static_cast<std::uint32_t>(s), static_cast<std::uint32_t>(stages)};
        stage.in_flight_max = in_flight_max(p.schedule, at, minibatch);
        stage.versions_max = versions_max(p.schedule, at, minibatch);
        stage.weight_bytes = weight_bytes(stage, p.microbatches);
        for (const std::size_t bytes : (*programs)[s].kept_bytes_per_sample()) {
            planned_layer layer = describe_layer(request, *layers, p.layers.size());
            layer.kept_bytes = saturated_product(bytes, p.batch_max);
            stage.kept_bytes = saturated_sum(
                stage.kept_bytes,
                saturated_product(layer.kept_bytes, stage.in_flight_max) / p.microbatches);
            p.layers.push_back(std::move(layer));
        }
        if (const auto sendable = check_snapshot(request.app, stage, s); !sendable)
            return sendable.failure();
        p.stages.push_back(std::move(stage));
    }
    if (const auto placed = place_replicas(request, *device_of, p.stages); !placed)
        return placed.failure();
    return p;
}

planned_stage total_of(std::span<const planned_stage> stages) {
    planned_stage sum;
    for (const planned_stage& s : stages) {
        sum.layers.count += s.layers.count;
        sum.parameters += s.parameters;
        sum.parameter_bytes += s.parameter_bytes;
        sum.weight_bytes = saturated_sum(sum.weight_bytes, s.weight_bytes);
        sum.kept_bytes = saturated_sum(sum.kept_bytes, s.kept_bytes);
        sum.forward_flops += s.forward_flops;
        sum.backward_flops += s.backward_flops;
        sum.compute_ns += s.compute_ns;
    }
    return sum;
}

} // namespace troupe
