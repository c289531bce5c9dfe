#include "actors/params/parameter_shard.hpp"
#include "actors/training/roles/model_part.hpp"
#include "actors/training/roles/server_roles.hpp"

namespace troupe {

namespace {

result<prepared_actor> prepare(proto::ShardOptions::Reader from, const role_resources& on) {
    auto part = model_part::of(from.getPart(), on.node());
    if (!part)
        return part.failure();
    if (auto fits = check_role(*part, run_role::shard); !fits)
        return fits.failure();
    if (from.getWorkers() == 0 || from.getWorkers() > part->replica.replicas)
        return error{errc::protocol,
                     "a parameter server of " + std::to_string(part->replica.replicas) +
                         " replicas cannot have " + std::to_string(from.getWorkers()) + " workers"};
    parameter_shard_options shard;
    shard.rules = {*part->sync.server, part->sync.how, part->sync.compensation, part->rule};
    shard.rules.pulls = part->sync.pulls;
    const shard_range own = part->shard_ranges()[part->replica.replica];
    const payload_forms pushed = part->pushed_forms();
    const auto first = pushed.begin() + static_cast<std::ptrdiff_t>(own.first);
    shard.rules.forms.assign(first, first + static_cast<std::ptrdiff_t>(own.count));
    shard.workers = from.getWorkers();
    shard.trainer = on.asker;
    for (std::size_t p = own.first; p < own.first + own.count; ++p)
        shard.shapes.push_back(part->program->parameters()[p].shape);
    shard.rates = make_learning_rates(from.getPart().getTrain(), from.getSamples(),
                                      part->sync.in_turn(part->replica.replicas));
    if (shard.rates == nullptr)
        return unknown_to(on.node(), "schedule of the learning rate");
    shard.compute = server_device(*part, on);
    return prepared<parameter_shard>(on, part->name_of(run_role::shard), std::move(shard));
}

} // namespace

role shard_role() {
    return role_of<proto::ShardOptions>(std::string{run_role::shard.name}, prepare);
}

} // namespace troupe
