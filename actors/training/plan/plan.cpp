#include "actors/training/plan/plan.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "actors/collective/all_reduce.hpp"
#include "actors/collective/compressed_sum.hpp"
#include "actors/pipeline/shape/crossing_numbers.hpp"
#include "actors/training/plan/placement.hpp"
#include "actors/training/plan/plan_actors.hpp"
#include "actors/training/plan/saturated.hpp"
#include "kernels/optim/optimizer.hpp"
#include "kernels/optim/run_shape.hpp"
#include "schemas/base/limits.hpp"
#include "transport/frame/wire.hpp"

namespace troupe {

namespace {

// Checks that a checkpoint of the stage can be sent: its weights and the optimizer's state are one message.
result<void> check_snapshot(proto::App::Reader app, const planned_stage& stage,
                            std::size_t number) {
    const auto& entries = stage.weights.layout.entries();
    const std::size_t tensors = entries.size();
    std::uint64_t bytes = 0;
    for (const auto& entry : entries)
        bytes += wire::aligned(entry.shape.elements() * sizeof(float));
    if (!app.hasCheckpoint() ||
        (tensors <= limits::frame_tensors_max && bytes <= limits::frame_bytes_max))
        return {};
    const bool has_state = std::ranges::any_of(entries, &weights_layout::entry::is_state);
    return error{errc::usage,
                 "stage " + std::to_string(number) + " (" + stage.layers.first_name + " .. " +
                     stage.layers.last_name + ") has " + std::to_string(tensors) +
                     " weight tensors of " + std::to_string(bytes) + " bytes" +
                     (has_state ? " with the optimizer's state" : "") +
                     "; the message that a checkpoint needs holds " +
                     std::to_string(limits::frame_tensors_max) + " tensors and " +
                     std::to_string(limits::frame_bytes_max) + " bytes; " +
                     (stage.layers.range.count > 1 ? "use more stages (topology.pipeline.stages)"
                                                   : "make its layer smaller") +
                     ", or leave out checkpoint"};
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

number_form_ptr form_of_activations(proto::Topology::Reader topology) {
    if (!topology.isPipeline())
        return nullptr;
    const auto form = make_number_form(topology.getPipeline().getActivations());
    TROUPE_CHECK(form, "the app file was checked by this build");
    return *form;
}

// Counts the bytes sent behind each layer for one sample, in the form in which they are sent.
result<void> count_as_sent(proto::Model::Reader model, const number_form_ptr& form,
                           std::vector<layer_info>& layers) {
    std::vector<layer_range> each;
    for (std::size_t l = 0; l < layers.size(); ++l)
        each.push_back({l, 1});
    const auto programs = stage_program::create(model, each);
    if (!programs)
        return programs.failure();
    for (std::size_t l = 0; l + 1 < layers.size(); ++l) {
        const auto& values = (*programs)[l].outputs();
        layers[l].crossing_bytes = crossing_numbers::activations(form, values).bytes(1);
        layers[l].crossing_gradient_bytes = crossing_numbers::gradients(form, values).bytes(1);
    }
    return {};
}

// The bytes sent for a minibatch, microbatch by microbatch.
std::uint64_t sent_bytes(const crossing_numbers& values, std::uint32_t batch,
                         std::uint32_t microbatches) {
    const epoch_shape one = epoch_shape::of(batch, batch, microbatches);
    std::uint64_t bytes = 0;
    for (std::uint32_t m = 0; m < one.microbatches_of(0); ++m)
        bytes = saturated_sum(bytes, values.bytes(one.rows_of(0, m).count));
    return bytes;
}

// The part of a stage's plan that does not depend on the other stages.
planned_stage describe_stage(const plan_request& request, std::span<const layer_info> layers,
                             const stage_program& program) {
    const optimizer_ptr rule = make_optimizer(request.app.getTrain().getOptimizer());
    TROUPE_CHECK(rule != nullptr, "the app file was checked by this build");
    const auto own = layers.subspan(program.range().first, program.range().count);
    const std::uint32_t batch = largest_batch(request.app.getTrain());
    planned_stage stage;
    stage.layers.range = program.range();
    stage.layers.first_name = own.front().name;
    stage.layers.last_name = own.back().name;
    stage.weights.layout = program.layout(rule->state());
    stage.weights.averages = program.averages().size();
    for (const parameter_info& parameter : program.parameters())
        stage.weights.factor_rows.push_back(parameter.factor_rows);
    stage.needs.parameter_bytes = program.parameter_bytes();
    stage.needs.parameters = stage.needs.parameter_bytes / sizeof(float);
    stage.traffic.activation_bytes =
        program.has_loss() ? 0 : saturated_product(own.back().crossing_bytes, batch);
    stage.traffic.gradient_bytes =
        program.has_loss() ? 0 : saturated_product(own.back().crossing_gradient_bytes, batch);
    stage.needs.forward_flops = program.forward_flops_per_sample() * batch;
    stage.needs.backward_flops = program.backward_flops_per_sample() * batch;
    stage.needs.weight_half_flops = program.weight_half_flops_per_sample() * batch;
    if (!request.layer_ns.empty())
        for (std::size_t l = 0; l < own.size(); ++l)
            stage.needs.compute_ns += request.layer_ns[stage.layers.range.first + l];
    return stage;
}

// The gradients of a microbatch, beside the sum of those before it, are as large as a version; they are gone before the
// next minibatch's. Only the latest version has optimizer state.
std::uint64_t weight_bytes(const planned_stage& stage, std::uint32_t microbatches) {
    const std::uint64_t state_bytes = stage.weights.layout.state_bytes();
    const std::uint64_t gradients = microbatches > 1 ? 2 : 1;
    return saturated_sum(saturated_product(stage.weights.layout.bytes() - state_bytes,
                                           stage.versions_max + gradients),
                         state_bytes);
}

// A GPU rounds both factors of a product to 16 bits before it multiplies. Linear layers have the largest factors: input
// and weights forward, each with the output's gradient on the way back.
std::uint64_t rounded_bytes(const stage_program& program, std::uint32_t samples) {
    std::uint64_t most = 0; // in elements
    for (const parameter_info& parameter : program.parameters()) {
        if (parameter.factor_rows == 0)
            continue;
        const std::uint64_t rows = saturated_product(parameter.factor_rows, samples);
        const std::uint64_t outs = parameter.shape[0], ins = parameter.shape[1];
        std::uint64_t sizes[] = {saturated_product(rows, ins), saturated_product(rows, outs),
                                 saturated_product(outs, ins)};
        std::ranges::sort(sizes);
        most = std::max(most, saturated_sum(sizes[1], sizes[2]));
    }
    return saturated_product(most, sizeof(std::uint16_t));
}

// Replicas that share memory are on one node.
result<void> check_shared_memory(const replica_sync& sync, const placement& placed) {
    if (!sync.exchange || !std::holds_alternative<hogwild_rule>(sync.exchange->method))
        return {};
    for (std::size_t s = 0; s < placed.where.size(); ++s)
        for (const plan_device& d : placed.where[s])
            if (d.node != placed.where[s][0].node)
                return error{errc::usage,
                             "topology.sync.hogwild: replicas share memory, but stage " +
                                 std::to_string(s) + " would be on " +
                                 placed.where[s][0].node_name + " and on " + d.node_name +
                                 "; use devices of one node, as with --devices cpu:" +
                                 std::to_string(placed.where[s].size())};
    return {};
}

// The plan of a placed run, without its stages.
plan describe_run(const plan_request& request, const placement& placed) {
    plan p;
    const auto train = request.app.getTrain();
    const auto topology = request.app.getTopology();
    p.shape.batch = train.getBatch();
    p.shape.batch_max = largest_batch(train);
    if (topology.isPipeline()) {
        p.shape.is_pipeline = true;
        if (cuts_minibatches(topology.getPipeline().getSchedule()))
            p.shape.microbatches = topology.getPipeline().getMicrobatches();
    }
    p.rate = planned_rate::of(train);
    p.forms.precision = request.app.getModel().getPrecision();
    p.replicas = topology.getReplicas();
    const auto sync = [&](std::uint32_t replicas) {
        auto agreed = replica_sync::of(topology.getSync(), replicas);
        TROUPE_CHECK(agreed, "the app file was checked by this build");
        return *agreed;
    };
    p.sync = sync(p.replicas);
    const std::size_t first = placed.where[0].size();
    if (std::ranges::all_of(placed.where, [&](const auto& stage) { return stage.size() == first; }))
        return p;
    for (const auto& stage : placed.where)
        p.stage_replicas.push_back(static_cast<std::uint32_t>(stage.size()));
    // The whole is one replica; those of a stage sum gradients.
    const replica_sync of_stage = sync(std::ranges::max(p.stage_replicas));
    p.sync.algorithm = of_stage.algorithm;
    p.sync.codec = of_stage.codec;
    p.sync.sends_factors = of_stage.sends_factors;
    return p;
}

void describe_traffic(planned_stage& stage, const plan& p, const stage_program& program) {
    if (!p.forms.activations || program.has_loss())
        return;
    const auto& values = program.outputs();
    stage.traffic.activation_bytes =
        sent_bytes(crossing_numbers::activations(p.forms.activations, values), p.shape.batch_max,
                   p.shape.microbatches);
    stage.traffic.gradient_bytes =
        sent_bytes(crossing_numbers::gradients(p.forms.activations, values), p.shape.batch_max,
                   p.shape.microbatches);
}

// None where a table is too long to be played out for a plan, too.
std::optional<double> idle_share_of(const plan& p) {
    constexpr std::size_t steps_max = 20000;
    if (p.stages.size() < 2 || !p.stage_replicas.empty() || p.schedule.table.steps() > steps_max)
        return std::nullopt;
    std::vector<pass_times> times;
    for (const planned_stage& stage : p.stages) {
        const double flops = stage.needs.forward_flops + stage.needs.backward_flops;
        if (stage.needs.compute_ns <= 0 || flops <= 0)
            return std::nullopt;
        // In microseconds, by the share of floating-point operations.
        const auto part = [&](double of_flops) {
            const double us = stage.needs.compute_ns / 1000 / p.shape.microbatches;
            return fraction{std::max<std::int64_t>(1, std::llround(us * of_flops / flops))};
        };
        const double weights = stage.needs.weight_half_flops;
        times.push_back({part(stage.needs.forward_flops),
                         part(stage.needs.backward_flops - weights),
                         weights > 0 ? part(weights) : fraction{0}});
    }
    return idle_share_of(p.schedule.table, times);
}

// Adds the plan's next stage, and its layers.
result<void> add_stage(plan& p, const plan_request& request, const placement& placed,
                       std::span<const layer_info> layers, const stage_program& program) {
    const std::size_t s = p.stages.size();
    planned_stage stage = describe_stage(request, layers, program);
    describe_traffic(stage, p, program);
    stage.where = placed.where[s];
    if (!p.stage_replicas.empty())
        stage.weights.rate_factor =
            rate_factor(request.app.getTopology().getPipeline().getRate(), p.stage_replicas[s]);
    stage.shards = p.sync.shards_of(program.parameters().size(), p.replicas);
    stage.in_flight_max = p.schedule.in_flight[s];
    stage.versions_max = p.schedule.versions[s];
    stage.needs.weight_bytes = weight_bytes(stage, p.shape.microbatches);
    if (p.forms.precision == proto::Precision::BF16 || p.forms.precision == proto::Precision::F16)
        stage.needs.rounded_bytes = rounded_bytes(
            program, (p.shape.batch_max + p.shape.microbatches - 1) / p.shape.microbatches);
    for (const std::size_t bytes : program.kept_bytes_per_sample()) {
        planned_layer layer = describe_layer(request, layers, p.layers.size());
        layer.kept_bytes = saturated_product(bytes, p.shape.batch_max);
        stage.needs.kept_bytes = saturated_sum(
            stage.needs.kept_bytes,
            saturated_product(layer.kept_bytes, stage.in_flight_max) / p.shape.microbatches);
        p.layers.push_back(std::move(layer));
    }
    if (auto sendable = check_snapshot(request.app, stage, s); !sendable)
        return sendable;
    p.stages.push_back(std::move(stage));
    return {};
}

} // namespace

result<plan> make_plan(const plan_request& request) {
    TROUPE_CHECK(!request.devices.empty(), "a plan needs a device");
    auto layers = describe_model(request.app.getModel());
    if (!layers)
        return layers.failure();
    const number_form_ptr activations = form_of_activations(request.app.getTopology());
    if (activations)
        if (auto counted = count_as_sent(request.app.getModel(), activations, *layers); !counted)
            return counted.failure();
    TROUPE_CHECK(request.layer_ns.size() == layers->size() ||
                     !needs_layer_times(request.app, request.devices),
                 "the caller measures where needs_layer_times() says so");
    const auto placed = place_stages(request, *layers);
    if (!placed)
        return placed.failure();
    plan p = describe_run(request, *placed);
    p.forms.activations = activations;
    // A model on one device is a pipeline of one stage.
    auto schedule =
        placed->schedule
            ? result<planned_schedule>{*placed->schedule}
            : plan_schedule(request.app.getTopology().isPipeline()
                                ? request.app.getTopology().getPipeline()
                                : proto::PipelineTopology::Reader{},
                            static_cast<std::uint32_t>(placed->stages.size()), p.stage_replicas);
    if (!schedule)
        return schedule.failure().in("topology.pipeline.schedule");
    p.schedule = std::move(*schedule);
    p.shape.microbatches = p.schedule.table.microbatches;
    if (auto fits = check_shared_memory(p.sync, *placed); !fits)
        return fits.failure();
    const auto programs = stage_program::create(request.app.getModel(), placed->stages);
    if (!programs)
        return programs.failure();
    p.source.input_bytes = bytes_of(programs->front().inputs()[0].info) * p.shape.batch_max;
    p.source.label_bytes = bytes_of(programs->back().labels()) * p.shape.batch_max;
    for (const stage_program& program : *programs)
        if (auto added = add_stage(p, request, *placed, *layers, program); !added)
            return added.failure();
    p.schedule.idle_share = idle_share_of(p);
    p.actors = list_actors(p, request.app.getTopology().getSync());
    return p;
}

planned_reduction reduction_of(const plan& p, const planned_stage& s) {
    std::vector<std::uint32_t> nodes;
    for (const plan_device& d : s.where)
        nodes.push_back(static_cast<std::uint32_t>(
            std::ranges::find(s.where, d.node_name, &plan_device::node_name) - s.where.begin()));
    const rank_nodes ranks{std::move(nodes)};
    std::vector<tensor_shape> shapes; // averages, then parameters
    std::size_t elements = 0;
    for (const auto& entry : s.weights.layout.entries())
        if (!entry.is_state) {
            shapes.push_back(entry.shape);
            elements += entry.shape.elements();
        }
    std::ranges::rotate(shapes, shapes.end() - static_cast<std::ptrdiff_t>(s.weights.averages));
    const compressed_gradients gradients{.shapes = std::move(shapes),
                                         .averages = s.weights.averages,
                                         .codec = p.sync.codec,
                                         .sends_factors = p.sync.sends_factors,
                                         .factor_rows = s.weights.factor_rows,
                                         .samples_max = p.shape.batch_max,
                                         .algorithm = p.sync.algorithm};
    const auto algorithm = choose(p.sync.algorithm, ranks, elements);
    const std::uint64_t bytes = sizeof(float) * elements_sent_max(algorithm, ranks, elements);
    if (const auto sum = choose_compressed_sum(gradients, ranks))
        return {sum->name(), sum->bytes, bytes, p.sync.sends_factors ? sum->gathered() : 0};
    return {std::string{name_of(algorithm)}, bytes, bytes, 0};
}

stage_needs total_of(std::span<const planned_stage> stages) {
    stage_needs sum;
    for (const planned_stage& s : stages) {
        sum.parameters += s.needs.parameters;
        sum.parameter_bytes += s.needs.parameter_bytes;
        sum.weight_bytes = saturated_sum(sum.weight_bytes, s.needs.weight_bytes);
        sum.kept_bytes = saturated_sum(sum.kept_bytes, s.needs.kept_bytes);
        sum.forward_flops += s.needs.forward_flops;
        sum.backward_flops += s.needs.backward_flops;
        sum.compute_ns += s.needs.compute_ns;
    }
    return sum;
}

} // namespace troupe
