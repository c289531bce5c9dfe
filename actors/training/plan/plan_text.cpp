// A plan for people.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "actors/collective/all_reduce.hpp"
#include "actors/training/plan/plan.hpp"
#include "actors/training/plan/plan_actors.hpp"
#include "actors/training/plan/plan_text.hpp"
#include "schemas/base/nearest.hpp"

namespace troupe {

std::string milliseconds(double ns) {
    char text[48];
    std::snprintf(text, sizeof text, "%.2f ms", ns / 1e6);
    return text;
}

namespace {

// " (slowed down 4 times)" for a device that is slowed down.
std::string slowness(const plan_device& d) {
    if (d.slow_down == 1)
        return {};
    char text[48];
    std::snprintf(text, sizeof text, " (slowed down %.3g times)", static_cast<double>(d.slow_down));
    return text;
}

// "node-0/cpu:0", or for several replicas "node-0/cpu:0, node-1/cpu:0".
std::string where_text(const planned_stage& s) {
    std::vector<std::string> devices;
    for (const plan_device& d : s.where)
        devices.push_back(where_text(d) + slowness(d));
    return join(devices);
}

// Text on the rule by which replicas wait for each other.
std::string describe_rule(const consistency& rule, std::uint32_t replicas) {
    const std::string gradients = std::to_string(rule.gradients_per_update(replicas));
    if (rule.is_synchronous())
        return "bsp: all wait for each update";
    if (rule.staleness)
        return "ssp: nobody begins a minibatch more than " + std::to_string(*rule.staleness) +
               " ahead of the slowest";
    if (rule.bound)
        return "value_bounded: who has made large updates waits until the others have seen them";
    if (rule.splits)
        return "softsync: nobody waits, each update by the mean of " + gradients +
               " gradients over their staleness";
    if (rule.backups)
        return "backup_workers: each update by the first " + gradients +
               " gradients, later ones are dropped";
    return "asp: nobody waits";
}

std::string describe_server(const replica_sync& sync, std::uint32_t replicas) {
    std::string text = describe_rule(*sync.server, replicas);
    if (sync.accrues())
        text += "; pushes after every " + std::to_string(sync.push_every) + ", pulls after every " +
                std::to_string(sync.fetch_every) + " minibatches of a replica";
    if (sync.compensation.compensates)
        text += "; delays are compensated";
    switch (sync.how.by) {
    case aggregation::rule::mean:
        return text;
    case aggregation::rule::median:
        return text + "; by the median of the gradients";
    case aggregation::rule::trimmed_mean:
        return text + "; by the mean without the " + std::to_string(sync.how.trim) +
               " smallest and largest";
    case aggregation::rule::krum:
        break;
    }
    return text + "; by krum, of each shard's tensors";
}

std::string describe_replicas(const plan& p) {
    if (!p.stage_replicas.empty())
        return ", stages with replicas of their own that take their minibatches in turns and "
               "average "
               "their gradients";
    if (p.replicas == 1)
        return {};
    std::string text = ", " + std::to_string(p.replicas) + " replicas: ";
    if (p.sync.sums_gradients)
        return text + "each update by the mean gradient of a minibatch of each";
    if (p.sync.server)
        return text + "a parameter server, " + describe_server(p.sync, p.replicas);
    return text + describe(*p.sync.exchange);
}

// Two lines on the needs of a stage, or of all.
std::string describe_needs(const stage_needs& s, std::size_t layers, const std::string& versions,
                           const std::string& in_flight) {
    return "  " + counted(layers, "layer") + ", " + counted(s.parameters, "parameter") +
           "; a minibatch takes " + quantity(s.forward_flops, "FLOP") + " forward, " +
           quantity(s.backward_flops, "FLOP") + " back" +
           (s.compute_ns > 0 ? ", measured " + milliseconds(s.compute_ns) : "") +
           "\n  memory: " + bytes_text(s.weight_bytes) + " of weights" + versions +
           ", gradients and optimizer state, " + bytes_text(s.kept_bytes) + " of activations" +
           in_flight + "\n";
}

// Text on a stage's learning rate if it is not train.optimizer's.
std::string describe_rate(const planned_stage& s) {
    if (s.weights.rate_factor == 1 || s.needs.parameters == 0)
        return {};
    const std::string replicas = std::to_string(s.where.size());
    return "  learning rate: " + replicas + " times train.optimizer's, as it has " + replicas +
           " replicas (topology.pipeline.rate)\n";
}

std::string describe_stage(const plan& p, std::size_t number) {
    const planned_stage& s = p.stages[number];
    const std::string part = p.shape.microbatches > 1 ? "microbatch" : "minibatch";
    return "stage " + std::to_string(number) + " on " + where_text(s) + ": " + s.layers.first_name +
           (s.layers.range.count > 1 ? " .. " + s.layers.last_name : "") + "\n" +
           describe_needs(s.needs, s.layers.range.count,
                          s.versions_max > 1 ? " in " + counted(s.versions_max, "version") : "",
                          " of at most " + counted(s.in_flight_max, part, part + "es") +
                              " in flight") +
           describe_rate(s);
}

// "top_k with values in f16".
std::string codec_text(const codec& how) {
    const sparse_values values = how.values();
    return std::string{how.name()} +
           (values.are_exact() ? "" : " with values in " + std::string{values.name()});
}

} // namespace

planned_push push_of(const plan& p, const planned_stage& s) {
    std::vector<tensor_shape> shapes;
    for (std::size_t i = 0; i < s.weights.factor_rows.size(); ++i)
        shapes.push_back(s.weights.layout.entries()[i].shape);
    const payload_forms forms =
        p.sync.pushed_forms(shapes, s.weights.factor_rows, p.shape.batch_max);
    planned_push push;
    std::size_t weights = 0;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
        push.bytes +=
            forms[i] ? forms[i]->payload_bytes(shapes[i]) : sizeof(float) * shapes[i].elements();
        push.pulled += p.sync.pulls ? p.sync.pulls->payload_bytes(shapes[i])
                                    : sizeof(float) * shapes[i].elements();
        weights += forms[i] ? 1 : 0;
    }
    if (p.sync.codec)
        push.how = ", compressed by " + codec_text(*p.sync.codec);
    else if (weights > 0)
        push.how = ", " + counted(weights, "weight") + " as factors";
    return push;
}

namespace {

// " in bf16" if numbers are sent in a form with fewer bits.
std::string in_form(const number_form_ptr& form) {
    return form ? " in " + std::string{form->name()} : std::string{};
}

// The rhythm and the sender of pushes: " per minibatch of each replica".
std::string describe_rhythm(const replica_sync& sync) {
    return (sync.push_every > 1 ? " per " + std::to_string(sync.push_every) + " minibatches of "
                                : std::string{" per minibatch of "}) +
           (sync.node_servers ? "each node, summed over its replicas" : "each replica");
}

// Text on the traffic between the replicas of a stage; empty if there is none.
std::string describe_traffic(const plan& p, const planned_stage& s) {
    if (s.where.size() == 1 || s.needs.parameters == 0)
        return {};
    if (p.sync.server) {
        std::vector<std::string> shards;
        for (std::size_t k = 0; k < s.shards; ++k)
            shards.push_back(where_text(s.where[k]));
        const std::string pushed =
            "  -> " + counted(s.shards, "shard") + " on " + join(shards) + ": Push ";
        const planned_push push = push_of(p, s);
        return pushed + (push.how.empty() ? "" : "at most ") + bytes_text(push.bytes) +
               describe_rhythm(p.sync) + push.how + "; Pulled " +
               (push.how.empty() && !p.sync.pulls ? "of the same size" : bytes_text(push.pulled)) +
               " back" + in_form(p.sync.pulls) + "\n";
    }
    if (p.sync.exchange && !std::holds_alternative<mean_rule>(p.sync.exchange->method))
        return "  <-> its replicas: " +
               traffic_of(*p.sync.exchange, bytes_text(s.needs.parameter_bytes)) + "\n";
    const planned_reduction reduction = reduction_of(p, s);
    const std::string sent = "  <-> its replicas: ReduceChunk " + bytes_text(reduction.bytes);
    const std::string without = "; without " + bytes_text(reduction.bytes_without) + "\n";
    if (reduction.as_factors > 0)
        return sent + " of each at most per update, " + reduction.by + " of the factors of " +
               counted(reduction.as_factors, "weight") + " and all-reduce of the rest" + without;
    if (p.sync.codec)
        return sent + " of each at most per update, compressed by " + codec_text(*p.sync.codec) +
               ", " + reduction.by + without;
    return sent + " of each at most per " + (p.sync.exchange ? "mean" : "update") +
           ", all-reduce by " + reduction.by + "\n";
}

} // namespace

std::string describe(const plan& p) {
    std::string text =
        (p.shape.is_pipeline ? p.schedule.name + ", " + counted(p.stages.size(), "stage")
                             : std::string{"the whole model on one device"}) +
        ", minibatches of " + std::to_string(p.shape.batch);
    if (p.shape.microbatches > 1)
        text += " in " + std::to_string(p.shape.microbatches) + " microbatches";
    if (p.shape.batch_max > p.shape.batch)
        text += ", growing to " + std::to_string(p.shape.batch_max) + ": what follows is of these";
    if (p.forms.precision == proto::Precision::BF16)
        text += "; products in bf16";
    if (p.forms.precision == proto::Precision::F16)
        text += "; products in f16";
    if (p.forms.precision == proto::Precision::TF32)
        text += "; products in tf32 on GPUs";
    if (p.schedule.idle_share)
        text += "; devices idle " + std::to_string(std::lround(100 * *p.schedule.idle_share)) +
                "%" + " of a long epoch by these times, if links take none";
    text += describe_replicas(p);
    text += "\n" + describe(p.rate);
    text += "\n\ndata source\n  -> stage 0: Activation " + bytes_text(p.source.input_bytes) +
            " per minibatch\n";
    text += "  -> stage " + std::to_string(p.stages.size() - 1) + ": Labels " +
            bytes_text(p.source.label_bytes) + "\n";
    for (std::size_t s = 0; s < p.stages.size(); ++s) {
        text += describe_stage(p, s) + describe_traffic(p, p.stages[s]);
        if (s + 1 < p.stages.size())
            text += "  -> stage " + std::to_string(s + 1) + ": Activation " +
                    bytes_text(p.stages[s].traffic.activation_bytes) + " per minibatch" +
                    in_form(p.forms.activations) + "; Gradient " +
                    (p.stages[s].traffic.gradient_bytes == p.stages[s].traffic.activation_bytes
                         ? "of the same size"
                         : bytes_text(p.stages[s].traffic.gradient_bytes)) +
                    " back\n";
    }
    text += "trainer\n  <- stage " + std::to_string(p.stages.size() - 1) +
            ": MinibatchDone; <- every stage: StageEpochDone, Snapshot\n";
    if (p.stages.size() > 1)
        text += "all stages\n" + describe_needs(total_of(p.stages), p.layers.size(), "", "");
    return text + describe_actors(p);
}

} // namespace troupe
