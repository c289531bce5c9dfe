#include "actors/training/roles/model_part.hpp"

#include <capnp/dynamic.h>

#include "actors/app_file/value_ranges.hpp"
#include "actors/pipeline/shape/partition.hpp"
#include "kernels/device/slowed_device.hpp"
#include "kernels/optim/run_shape.hpp"
#include "schemas/base/limits.hpp"

namespace troupe {

namespace {

// The factor_rows of each parameter.
std::vector<std::size_t> factor_rows_of(const stage_program& program) {
    std::vector<std::size_t> rows;
    for (const parameter_info& parameter : program.parameters())
        rows.push_back(parameter.factor_rows);
    return rows;
}

result<void> check_numbers(proto::ModelPart::Reader from) {
    if (from.getStage() >= limits::stages_max)
        return error{errc::protocol, "there is no stage " + std::to_string(from.getStage())};
    if (from.getReplicas() == 0 || from.getReplicas() > limits::replicas_max ||
        from.getReplica() >= from.getReplicas())
        return error{errc::protocol, "there is no replica " + std::to_string(from.getReplica()) +
                                         " of " + std::to_string(from.getReplicas())};
    if (auto fits = check_ranges(capnp::toDynamic(from.getSync())); !fits)
        return fits.failure().in("sync");
    if (!(from.getSlowDown() >= 1 && from.getSlowDown() <= limits::slow_down_max))
        return error{errc::protocol, "a device cannot be slowed down " +
                                         std::to_string(from.getSlowDown()) + " times"};
    if (auto fits = check_ranges(capnp::toDynamic(from.getTrain())); !fits)
        return fits.failure().in("train");
    return {};
}

} // namespace

error unknown_to(const std::string& node, const std::string& what) {
    return {errc::protocol, "node " + node + " does not know this " + what};
}

result<model_part> model_part::of(proto::ModelPart::Reader from, const std::string& node) {
    if (auto fits = check_numbers(from); !fits)
        return fits.failure();
    model_part part;
    part.stage = from.getStage();
    part.replica = {from.getReplica(), from.getReplicas()};
    const auto train = from.getTrain();
    part.rule = make_optimizer(train.getOptimizer());
    if (part.rule == nullptr)
        return unknown_to(node, "optimizer");
    const auto clip = make_clip(train.getClip());
    if (!clip)
        return unknown_to(node, "way to clip gradients");
    part.clip = *clip;
    const auto sync = replica_sync::of(from.getSync(), from.getReplicas());
    if (!sync || (sync->sends_factors && sync->server && (clip->norm || clip->value)))
        return unknown_to(node, "way for replicas to agree");
    part.sync = *sync;
    part.seed = train.getSeed();
    part.samples_max = largest_batch(train);
    part.slow_down = from.getSlowDown();
    auto program = stage_program::create(from.getModel(), {from.getFirstLayer(), from.getLayers()});
    if (!program)
        return program.failure();
    part.program = std::make_shared<const stage_program>(std::move(program).value());
    return part;
}

std::vector<run_role> model_part::companions() const {
    return companions_of({sync, program->parameters().size(), program->averages().size(), replica});
}

std::vector<tensor_shape> model_part::shapes() const {
    std::vector<tensor_shape> shapes;
    for (const average_info& average : program->averages())
        shapes.push_back(average.shape);
    for (const parameter_info& parameter : program->parameters())
        shapes.push_back(parameter.shape);
    return shapes;
}

std::vector<tensor_shape> model_part::parameter_shapes() const {
    std::vector<tensor_shape> shapes;
    for (const parameter_info& parameter : program->parameters())
        shapes.push_back(parameter.shape);
    return shapes;
}

std::optional<compressed_sum> model_part::chosen_sum() const {
    return choose_compressed_sum({.shapes = shapes(),
                                  .averages = program->averages().size(),
                                  .codec = sync.codec,
                                  .sends_factors = sync.sends_factors,
                                  .factor_rows = factor_rows_of(*program),
                                  .samples_max = samples_max,
                                  .algorithm = sync.algorithm},
                                 replica.replicas);
}

std::vector<shard_range> model_part::shard_ranges() const {
    std::vector<layer_cost> sizes; // tensors are split among shards as layers are among stages
    for (const parameter_info& parameter : program->parameters())
        sizes.push_back({.compute_ns = static_cast<double>(parameter.shape.elements())});
    std::vector<shard_range> ranges;
    for (const layer_range& range :
         partition_layers(sizes, sync.shards_of(sizes.size(), replica.replicas)))
        ranges.push_back({range.first, range.count});
    return ranges;
}

payload_forms model_part::pushed_forms() const {
    return sync.pushed_forms(parameter_shapes(), factor_rows_of(*program), samples_max);
}

result<void> check_role(const model_part& part, const run_role& role) {
    if (role.is_due({part.sync, part.program->parameters().size(), part.program->averages().size(),
                     part.replica}))
        return {};
    return error{errc::protocol, "no " + std::string{role.name} + " stands beside stage " +
                                     std::to_string(part.stage) + ", as its replicas agree"};
}

std::shared_ptr<device> device_of(const model_part& part, const role_resources& on) {
    return slow_down(on.compute, part.slow_down, *on.runtime.options().time);
}

result<std::shared_ptr<device>> colocated_device(const model_part& part, const role_resources& on) {
    if (on.compute->memory().kind() == memory_kind::host)
        return device_of(part, on);
    if (on.io)
        return on.io;
    return error{errc::usage, "node " + on.node() +
                                  " has no background thread, without which device '" +
                                  on.compute->name() + "' cannot send gradients or weights"};
}

std::shared_ptr<device> server_device(const model_part& part, const role_resources& on) {
    return on.io ? on.io : device_of(part, on);
}

} // namespace troupe
