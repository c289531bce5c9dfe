#include "actors/params/parameter_cache.hpp"
#include "actors/training/roles/model_part.hpp"
#include "actors/training/roles/server_roles.hpp"

namespace troupe {

namespace {

result<prepared_actor> prepare(proto::CacheOptions::Reader from, const role_resources& on) {
    auto part = model_part::of(from.getPart(), on.node());
    if (!part)
        return part.failure();
    if (auto fits = check_role(*part, run_role::cache); !fits)
        return fits.failure();
    const std::uint32_t replicas = part->replica.replicas;
    if (from.getWorkers() == 0 || from.getWorkers() > replicas || from.getMembers() == 0 ||
        from.getMembers() > replicas || (from.getMembers() > 1 && !part->sync.node_servers))
        return error{errc::protocol, "a parameter server of " + std::to_string(replicas) +
                                         " replicas cannot have " +
                                         std::to_string(from.getWorkers()) + " workers, of " +
                                         std::to_string(from.getMembers()) + " replicas this one"};
    parameter_cache_options cache;
    cache.shapes = part->parameter_shapes();
    cache.ranges = part->shard_ranges();
    if (part->sync.sends_factors)
        cache.offered = part->pushed_forms();
    cache.state_per_parameter = part->rule->state().size();
    // Upper bound, reached where weights are pulled after every minibatch.
    cache.fetches_kept = part->sync.push_every;
    cache.members = from.getMembers();
    cache.codec = part->sync.codec;
    cache.pulls = part->sync.pulls;
    cache.seed = part->codec_seed();
    cache.workers = from.getWorkers();
    cache.compute = server_device(*part, on);
    return prepared<parameter_cache>(on, part->name_of(run_role::cache), std::move(cache));
}

} // namespace

role cache_role() {
    return role_of<proto::CacheOptions>(std::string{run_role::cache.name}, prepare);
}

} // namespace troupe
