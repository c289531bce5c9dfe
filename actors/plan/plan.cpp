#include "actors/plan/plan.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>

#include "actors/pipeline/run_shape.hpp"
#include "kernels/optim/optimizer.hpp"
#include "schemas/base/limits.hpp"
#include "schemas/base/nearest.hpp"
#include "transport/frame/wire.hpp"

namespace troupe {

namespace {

// How many stages the app wants of this model on so many devices.
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

// The device of each stage, by its number.
result<std::vector<std::size_t>> place(const plan_request& request,
                                       std::span<const layer_range> stages,
                                       std::span<const layer_cost> layers) {
    const auto seats = seat_named(request.app, request.devices);
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
    stage.activation_bytes = program.has_loss() ? 0 : own.back().crossing_bytes * batch;
    stage.gradient_bytes = program.has_loss() ? 0 : own.back().crossing_gradient_bytes * batch;
    stage.forward_flops = program.forward_flops_per_sample() * batch;
    if (!request.layer_ns.empty())
        for (std::size_t l = 0; l < own.size(); ++l)
            stage.compute_ns += request.layer_ns[stage.layers.first + l];
    return stage;
}

} // namespace

bool needs_layer_times(proto::App::Reader app, std::span<const plan_device> devices) {
    const auto topology = app.getTopology();
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
    const std::size_t stages = stage_count(request.app, request.devices.size());
    const std::vector<layer_cost> costs = layer_costs(request, *layers);
    auto ranges = cut(request, costs, stages);
    if (!ranges)
        return ranges.failure();
    const auto device_of = place(request, *ranges, costs);
    if (!device_of)
        return device_of.failure();

    plan p;
    const auto train = request.app.getTrain();
    p.batch = train.getBatch();
    p.precision = request.app.getModel().getPrecision();
    p.batch_max = largest_batch(train);
    if (const auto topology = request.app.getTopology(); topology.isPipeline()) {
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
        stage.where = request.devices[(*device_of)[s]];
        const stage_place at{static_cast<std::uint32_t>(s), static_cast<std::uint32_t>(stages)};
        stage.in_flight_max = in_flight_max(p.schedule, at, minibatch);
        stage.versions_max = versions_max(p.schedule, at, minibatch);
        if (const auto sendable = check_snapshot(request.app, stage, s); !sendable)
            return sendable.failure();
        p.stages.push_back(std::move(stage));
    }
    return p;
}

namespace {

std::string readable_bytes(std::uint64_t bytes) {
    char text[32];
    if (bytes < 10000)
        std::snprintf(text, sizeof text, "%llu B", static_cast<unsigned long long>(bytes));
    else if (bytes < 10000000)
        std::snprintf(text, sizeof text, "%.1f kB", static_cast<double>(bytes) / 1e3);
    else
        std::snprintf(text, sizeof text, "%.1f MB", static_cast<double>(bytes) / 1e6);
    return text;
}

std::string describe_stage(const planned_stage& s, std::size_t number) {
    char numbers[160];
    std::snprintf(numbers, sizeof numbers,
                  "  parameters %s, %.2f GFLOP forward, at most %u in flight, %u weight version%s",
                  readable_bytes(s.parameter_bytes).c_str(), s.forward_flops / 1e9, s.in_flight_max,
                  s.versions_max, s.versions_max == 1 ? "" : "s");
    std::string text = "stage " + std::to_string(number) + " on " + s.where.node_name + "/" +
                       s.where.device + ": " + s.first_layer +
                       (s.layers.count > 1 ? " .. " + s.last_layer : "") + "\n" + numbers;
    if (s.compute_ns > 0) {
        char measured[64];
        std::snprintf(measured, sizeof measured, ", measured %.2f ms", s.compute_ns / 1e6);
        text += measured;
    }
    return text + "\n";
}

// Stages that have to take turns, or nothing.
std::string shared_devices(const plan& p) {
    std::map<std::string, std::vector<std::string>> stages; // by device
    for (std::size_t s = 0; s < p.stages.size(); ++s)
        stages[p.stages[s].where.node_name + "/" + p.stages[s].where.device].push_back(
            std::to_string(s));
    std::string text;
    for (const auto& [device, numbers] : stages)
        if (numbers.size() > 1)
            text += (text.empty() ? "" : "; ") + in_a_row(numbers) + " on " + device;
    return text.empty() ? "" : "note: stages that share a device take turns: " + text + "\n";
}

} // namespace

std::string describe(const plan& p) {
    std::string text = std::string{name_of(p.schedule)} + ", " + std::to_string(p.stages.size()) +
                       (p.stages.size() == 1 ? " stage" : " stages") + ", minibatches of " +
                       std::to_string(p.batch);
    if (p.microbatches > 1)
        text += " in " + std::to_string(p.microbatches) + " microbatches";
    if (p.batch_max > p.batch)
        text += ", growing to " + std::to_string(p.batch_max) + ": what follows is of these";
    if (p.precision == proto::Precision::BF16)
        text += "; products in bf16";
    text += "\n\ndata source\n  -> stage 0: Activation " + readable_bytes(p.input_bytes) +
            " per minibatch\n";
    text += "  -> stage " + std::to_string(p.stages.size() - 1) + ": Labels " +
            readable_bytes(p.label_bytes) + "\n";
    for (std::size_t s = 0; s < p.stages.size(); ++s) {
        text += describe_stage(p.stages[s], s);
        if (s + 1 < p.stages.size())
            text += "  -> stage " + std::to_string(s + 1) + ": Activation " +
                    readable_bytes(p.stages[s].activation_bytes) + " per minibatch; Gradient " +
                    (p.stages[s].gradient_bytes == p.stages[s].activation_bytes
                         ? "of the same size"
                         : readable_bytes(p.stages[s].gradient_bytes)) +
                    " back\n";
    }
    return text + "trainer\n  <- stage " + std::to_string(p.stages.size() - 1) +
           ": MinibatchDone; <- every stage: StageEpochDone, Snapshot\n" + shared_devices(p);
}

} // namespace troupe
