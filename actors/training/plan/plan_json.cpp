#include "actors/training/plan/plan_json.hpp"

#include "actors/collective/all_reduce.hpp"
#include "schemas/base/json.hpp"

namespace troupe {

namespace {

const char* precision_text(proto::Precision precision) {
    switch (precision) {
    case proto::Precision::BF16:
        return "bf16";
    case proto::Precision::TF32:
        return "tf32";
    case proto::Precision::F16:
        return "f16";
    case proto::Precision::F32:
        break;
    }
    return "f32";
}

json method_of(const replica_sync& sync) {
    if (sync.sums_gradients)
        return {{"method", "all_reduce"}, {"algorithm", name_of(sync.algorithm)}};
    if (sync.exchange) {
        json exchange = {{"method", name_of(*sync.exchange)}, {"period", sync.exchange->every}};
        if (std::holds_alternative<mean_rule>(sync.exchange->method))
            exchange["algorithm"] = name_of(sync.algorithm);
        return exchange;
    }
    json server = {{"method", "parameter_server"}};
    const consistency& rule = *sync.server;
    server["consistency"] = rule.is_synchronous() ? "bsp"
                            : rule.staleness      ? "ssp"
                            : rule.bound          ? "value_bounded"
                            : rule.splits         ? "softsync"
                            : rule.backups        ? "backup_workers"
                                                  : "asp";
    server["staleness"] = rule.staleness ? json(*rule.staleness) : json(nullptr);
    return server; // null: unbounded
}

json to_json(const replica_sync& sync) {
    json method = method_of(sync);
    if (sync.codec)
        method["codec"] = sync.codec->name();
    if (sync.sends_factors)
        method["codec"] = "sufficient_factors";
    if (sync.pulls)
        method["pulls"] = sync.pulls->name();
    method["takes_turns"] = !sync.assigns_dynamically();
    return method;
}

json to_json(const planned_rate& rate) {
    json made = {{"full", decimal_of(rate.full)},
                 {"warmup_minibatches", rate.warmup_minibatches},
                 {"schedule", rate.schedule}};
    if (rate.last)
        made["last"] = decimal_of(*rate.last);
    if (rate.every_epochs > 0) {
        made["every_epochs"] = rate.every_epochs;
        made["factor"] = decimal_of(rate.factor);
    }
    return made;
}

json to_json(const stage_needs& s, std::size_t layers) {
    return {{"layers", layers},
            {"parameters", s.parameters},
            {"parameter_bytes", s.parameter_bytes},
            {"weight_bytes", s.weight_bytes},
            {"kept_bytes", s.kept_bytes},
            {"forward_flops", s.forward_flops},
            {"backward_flops", s.backward_flops},
            {"measured_ms", s.compute_ns / 1e6}};
}

} // namespace

json to_json(const plan& p) {
    json stages = json::array();
    for (const planned_stage& s : p.stages) {
        json replicas = json::array();
        for (const plan_device& d : s.where)
            replicas.push_back({{"node", d.node_name}, {"device", d.device}});
        json stage = {{"node", s.where[0].node_name},
                      {"device", s.where[0].device},
                      {"replicas", std::move(replicas)},
                      {"first_layer", s.layers.range.first},
                      {"activation_bytes", s.traffic.activation_bytes},
                      {"gradient_bytes", s.traffic.gradient_bytes},
                      {"in_flight_max", s.in_flight_max},
                      {"weight_versions_max", s.versions_max}};
        stage.update(to_json(s.needs, s.layers.range.count));
        stage["learning_rate_factor"] = s.weights.rate_factor;
        if (p.sync.server)
            stage["shards"] = s.shards;
        else if (s.where.size() > 1 && s.needs.parameters > 0)
            stage["all_reduce"] = reduction_of(p, s).by;
        stages.push_back(std::move(stage));
    }
    json actors = json::array();
    for (const planned_actor& a : p.actors)
        actors.push_back({{"role", std::string{a.role.name}},
                          {"name", a.name},
                          {"node", a.where.node_name},
                          {"device", a.where.device},
                          {"stage", a.stage},
                          {"replica", a.replicas[0]}});
    json planned = {{"topology", p.shape.is_pipeline ? "pipeline" : "single"},
                    {"schedule", p.schedule.name},
                    {"idle_share", p.schedule.idle_share ? json(*p.schedule.idle_share) : json()},
                    {"batch", p.shape.batch},
                    {"batch_max", p.shape.batch_max},
                    {"microbatches", p.shape.microbatches},
                    {"learning_rate", to_json(p.rate)},
                    {"replicas", p.replicas},
                    {"input_bytes", p.source.input_bytes},
                    {"label_bytes", p.source.label_bytes},
                    {"precision", precision_text(p.forms.precision)},
                    {"total", to_json(total_of(p.stages), p.layers.size())},
                    {"stages", std::move(stages)},
                    {"actors", std::move(actors)}};
    if (!p.shape.is_pipeline)
        planned.erase("schedule");
    if (p.forms.activations)
        planned["activations"] = p.forms.activations->name();
    if (p.replicas > 1)
        planned["sync"] = to_json(p.sync);
    return planned;
}

json layers_to_json(const plan& p) {
    json layers = json::array();
    std::size_t stage = 0;
    for (std::size_t l = 0; l < p.layers.size(); ++l) {
        const planned_layer& layer = p.layers[l];
        if (l == p.stages[stage].layers.range.first + p.stages[stage].layers.range.count)
            ++stage;
        const auto output = layer.output.dimensions();
        layers.push_back({{"number", l},
                          {"stage", stage},
                          {"key", "model." + layer.key},
                          {"name", layer.name.substr(0, layer.name.rfind(' '))},
                          {"kind", layer.name.substr(layer.name.rfind(' ') + 1)},
                          {"output", json(std::vector(output.begin(), output.end()))},
                          {"parameters", layer.parameters},
                          {"forward_flops", layer.forward_flops},
                          {"backward_flops", layer.backward_flops},
                          {"kept_bytes", layer.kept_bytes},
                          {"crossing_bytes", layer.crossing_bytes},
                          {"measured_ms", layer.compute_ns / 1e6}});
    }
    return layers;
}

} // namespace troupe
