#include "actors/training/plan/placement.hpp"

#include <algorithm>
#include <optional>

#include "actors/collective/link_cost.hpp"
#include "actors/pipeline/shape/partition.hpp"
#include "actors/pipeline/shape/replica_sync.hpp"
#include "schemas/base/quantities.hpp"

namespace troupe {

namespace {

// The stages on each device that the app's schedule orders.
std::size_t per_device_of(proto::App::Reader app) {
    const auto topology = app.getTopology();
    return topology.isPipeline() ? stages_per_device(topology.getPipeline().getSchedule()) : 1;
}

// The number of stages that the app asks for on a replica with this number of devices.
std::size_t stage_count(proto::App::Reader app, std::size_t devices) {
    const auto topology = app.getTopology();
    if (topology.isSingle())
        return 1;
    const auto stages = topology.getPipeline().getStages();
    switch (stages.which()) {
    case proto::Stages::AUTO: {
        const std::size_t per_device = std::max<std::size_t>(1, per_device_of(app));
        return std::max<std::size_t>(1,
                                     std::min(devices, count_layers(app.getModel()) / per_device)) *
               per_device;
    }
    case proto::Stages::COUNT:
        return stages.getCount();
    case proto::Stages::LIST:
        return stages.getList().size();
    }
    return 1;
}

// The costs of every layer. If nothing was measured, only traffic has a cost.
std::vector<layer_cost> layer_costs(const plan_request& request,
                                    std::span<const layer_info> infos) {
    std::vector<layer_cost> costs;
    for (std::size_t l = 0; l < infos.size(); ++l) {
        const double bytes =
            static_cast<double>(infos[l].crossing_bytes + infos[l].crossing_gradient_bytes) *
            request.app.getTrain().getBatch();
        // Only the balance between cuts depends on what a link costs.
        costs.push_back({request.layer_ns.empty() ? 0.0 : request.layer_ns[l],
                         bytes * measured_costs.between_nodes.byte_ns});
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

// The device of each stage, by number. Stages fill the devices in order; with fewer devices than stages, neighbours
// share one such that the busiest device has as little to do as possible.
std::vector<std::size_t> spread(std::span<const layer_cost> stages, std::size_t devices) {
    // Stages are divided among devices as layers are among stages.
    std::vector<std::size_t> device_of;
    std::size_t device = 0;
    for (const layer_range& group : partition_layers(stages, std::min(stages.size(), devices)))
        device_of.insert(device_of.end(), group.count, device++);
    return device_of;
}

// The number of "cpu:0" or "NODE/cpu:0" among the devices.
result<std::size_t> find_device(const std::string& wanted, std::span<const plan_device> devices,
                                bool of_first_replica) {
    std::string known;
    for (std::size_t d = 0; d < devices.size(); ++d) {
        const std::string full = where_text(devices[d]);
        if (wanted == devices[d].device || wanted == full)
            return d;
        known += (known.empty() ? "" : ", ") + full;
    }
    return error{errc::usage, "no device '" + wanted + "'; " +
                                  (of_first_replica ? "the first replica has: " : "there are: ") +
                                  known};
}

// The devices that stages name, and the devices left for the other stages.
struct device_choice {
    std::vector<std::optional<std::size_t>> named; // by stage
    std::vector<std::size_t> left;                 // in order; all if every device is named
};

result<device_choice> choose_named(proto::App::Reader app, std::span<const plan_device> devices) {
    device_choice chosen;
    chosen.named.resize(stage_count(app, devices.size()));
    const auto topology = app.getTopology();
    if (topology.isPipeline() && topology.getPipeline().getStages().isList()) {
        const auto list = topology.getPipeline().getStages().getList();
        for (unsigned s = 0; s < list.size(); ++s) {
            if (list[s].getDevice().size() == 0)
                continue;
            auto device =
                find_device(list[s].getDevice().cStr(), devices, topology.getReplicas() > 1);
            if (!device)
                return device.failure().in("topology.pipeline.stages[" + std::to_string(s) +
                                           "].device");
            chosen.named[s] = *device;
        }
    }
    for (std::size_t d = 0; d < devices.size(); ++d)
        if (std::ranges::count(chosen.named, std::optional{d}) == 0)
            chosen.left.push_back(d);
    if (chosen.left.empty())
        for (std::size_t d = 0; d < devices.size(); ++d)
            chosen.left.push_back(d);
    return chosen;
}

// The schedule that deals so many stages to the first devices.
result<planned_schedule> deal_stages(const plan_request& request, std::size_t stages,
                                     std::span<const plan_device> devices) {
    const auto chosen = choose_named(request.app, devices);
    if (!chosen)
        return chosen.failure();
    const proto::App::Reader app = request.app;
    const std::size_t per_device = per_device_of(app);
    const auto refuse = [&](const std::string& why) {
        return error{errc::usage, "topology.pipeline.stages: " + why};
    };
    const auto schedule = app.getTopology().getPipeline().getSchedule();
    if (std::ranges::any_of(chosen->named, [](const auto& named) { return named.has_value(); }))
        return refuse("schedule " + name_of(schedule) +
                      " says which stage is on which device; leave out device");
    if (per_device > 0 && stages % per_device != 0)
        return refuse(counted(stages, "stage") + ", but schedule " + name_of(schedule) + " puts " +
                      std::to_string(per_device) + " on each device; use a multiple of that");
    const std::size_t needed = per_device > 0 ? stages / per_device : request.table->devices.size();
    if (needed > devices.size())
        return refuse(counted(stages, "stage") + " need " + counted(needed, "device") +
                      " with schedule " + name_of(schedule) + ", and there " +
                      (devices.size() == 1 ? "is 1" : "are " + std::to_string(devices.size())) +
                      "; start more nodes (--nodes), or use fewer stages");
    auto planned = plan_schedule(app.getTopology().getPipeline(),
                                 static_cast<std::uint32_t>(stages), {}, request.table.get());
    return planned ? std::move(planned) : planned.failure().in("topology.pipeline.schedule");
}

// The number of each stage's device.
result<std::vector<std::size_t>> stage_devices(const plan_request& request,
                                               std::span<const plan_device> devices,
                                               std::span<const layer_range> stages,
                                               std::span<const layer_cost> layers) {
    const auto chosen = choose_named(request.app, devices);
    if (!chosen)
        return chosen.failure();
    std::vector<layer_cost> others; // costs of the stages that name no device
    for (std::size_t s = 0; s < stages.size(); ++s) {
        if (chosen->named[s])
            continue;
        layer_cost cost;
        for (const layer_cost& layer : layers.subspan(stages[s].first, stages[s].count))
            cost = {cost.compute_ns + layer.compute_ns, layer.link_ns};
        others.push_back(cost);
    }
    std::vector<std::size_t> spread_over;
    if (!others.empty())
        spread_over = spread(others, chosen->left.size());
    std::vector<std::size_t> device_of;
    auto next = spread_over.begin();
    for (const auto& named : chosen->named)
        device_of.push_back(named ? *named : chosen->left[*next++]);
    return device_of;
}

// Places each replica of a stage on a device of its own: the first on the device that the stage names, if any, all others
// on the devices that are left, in order.
result<std::vector<std::vector<plan_device>>>
place_replicas(const plan_request& request, std::span<const plan_device> devices,
               std::span<const std::uint32_t> replicas) {
    const auto chosen = choose_named(request.app, devices);
    if (!chosen)
        return chosen.failure();
    std::size_t all = 0;
    for (const std::uint32_t r : replicas)
        all += r;
    if (all > devices.size())
        return error{errc::usage, "topology.pipeline.stages: their " + std::to_string(all) +
                                      " replicas need a device each, and the nodes have " +
                                      std::to_string(devices.size()) +
                                      "; start more nodes (--nodes), or give them more devices "
                                      "(--devices cpu:N,cuda:I)"};
    std::vector<std::vector<plan_device>> where(replicas.size());
    auto next = chosen->left.begin();
    for (std::size_t s = 0; s < replicas.size(); ++s)
        for (std::uint32_t r = 0; r < replicas[s]; ++r)
            where[s].push_back(devices[r == 0 && chosen->named[s] ? *chosen->named[s] : *next++]);
    return where;
}

// The devices of one replica; at least one.
std::span<const plan_device> devices_of_replica(proto::App::Reader app,
                                                std::span<const plan_device> devices) {
    return devices.first(
        std::max<std::size_t>(1, devices.size() / app.getTopology().getReplicas()));
}

result<void> check_replicas(const plan_request& request) {
    const std::uint32_t replicas = request.app.getTopology().getReplicas();
    if (replicas <= request.devices.size())
        return {};
    return error{errc::usage, "topology.replicas: " + std::to_string(replicas) +
                                  " replicas need a device each, and the nodes have " +
                                  std::to_string(request.devices.size()) +
                                  "; start more nodes (--nodes), or give them more devices "
                                  "(--devices cpu:N,cuda:I)"};
}

// The devices with their options from topology.devices.
result<std::vector<plan_device>> with_options(const plan_request& request) {
    std::vector<plan_device> devices = request.devices;
    const auto options = request.app.getTopology().getDevices();
    for (unsigned i = 0; i < options.size(); ++i) {
        const auto found = find_device(options[i].getDevice().cStr(), devices, false);
        if (!found)
            return found.failure().in("topology.devices[" + std::to_string(i) + "].device");
        devices[*found].slow_down = options[i].getSlowDown();
    }
    return devices;
}

} // namespace

bool needs_layer_times(proto::App::Reader app, std::span<const plan_device> devices) {
    const auto topology = app.getTopology();
    devices = devices_of_replica(app, devices);
    if (!topology.isPipeline())
        return false;
    if (!topology.getPipeline().getStages().isList())
        return stage_count(app, devices.size()) > 1;
    const auto chosen = choose_named(app, devices);
    if (!chosen)
        return false; // make_plan reports the error
    const auto others =
        static_cast<std::size_t>(std::ranges::count(chosen->named, std::optional<std::size_t>{}));
    return chosen->left.size() > 1 && others > chosen->left.size();
}

result<placement> place_stages(const plan_request& request, std::span<const layer_info> layers) {
    if (auto enough = check_replicas(request); !enough)
        return enough.failure();
    const auto devices = with_options(request);
    if (!devices)
        return devices.failure();
    const auto own = devices_of_replica(request.app, *devices); // the first replica's
    const std::vector<layer_cost> costs = layer_costs(request, layers);
    const bool is_auto = request.app.getTopology().isPipeline() &&
                         request.app.getTopology().getPipeline().getStages().isAuto();
    auto stages = cut(request, costs,
                      request.table && is_auto ? request.table->stages
                                               : stage_count(request.app, own.size()));
    if (!stages)
        return stages.failure();
    if (const auto replicas = replicas_of_stages(request.app.getTopology()); !replicas.empty()) {
        auto where = place_replicas(request, *devices, replicas);
        if (!where)
            return where.failure();
        return placement{std::move(*stages), std::move(*where)};
    }
    placement placed;
    std::vector<std::size_t> device_of;
    if (per_device_of(request.app) != 1) {
        auto dealt = deal_stages(request, stages->size(), own);
        if (!dealt)
            return dealt.failure();
        device_of.assign(dealt->table.device_of.begin(), dealt->table.device_of.end());
        placed.schedule = std::move(*dealt);
    } else {
        auto spread_out = stage_devices(request, own, *stages, costs);
        if (!spread_out)
            return spread_out.failure();
        device_of = std::move(*spread_out);
    }
    placed.stages = std::move(*stages);
    for (const std::size_t first : device_of) {
        std::vector<plan_device> where;
        for (std::uint32_t r = 0; r < request.app.getTopology().getReplicas(); ++r)
            where.push_back((*devices)[r * own.size() + first]);
        placed.where.push_back(std::move(where));
    }
    return placed;
}

} // namespace troupe
