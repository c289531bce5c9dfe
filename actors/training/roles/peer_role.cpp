#include "actors/training/roles/peer_role.hpp"

#include "actors/peers/admm_peer.hpp"
#include "actors/peers/elastic_peer.hpp"
#include "actors/peers/gossip_peer.hpp"
#include "actors/peers/hogwild_peer.hpp"
#include "actors/peers/malt_peer.hpp"
#include "actors/training/roles/model_part.hpp"
#include "schemas/base/limits.hpp"

namespace troupe {

namespace {

result<prepared_actor> prepare(proto::PeerOptions::Reader from, const role_resources& on) {
    const auto part = model_part::of(from.getPart(), on.node());
    if (!part)
        return part.failure();
    if (auto fits = check_role(*part, run_role::peer); !fits)
        return fits.failure();
    const auto compute = colocated_device(*part, on);
    if (!compute)
        return compute.failure();
    const peer_options options{*compute, on.asker, part->shapes()};
    const std::string name = part->name_of(run_role::peer);
    const auto& method = part->sync.exchange->method;
    if (const auto* elastic = std::get_if<elastic_rule>(&method))
        return prepared<elastic_peer>(on, name, options, *elastic);
    if (std::holds_alternative<gossip_rule>(method))
        return prepared<gossip_peer>(on, name, options, gossip_rule{part->seed});
    if (const auto* malt = std::get_if<malt_rule>(&method))
        return prepared<malt_peer>(on, name, options, malt->graph, malt->how);
    if (const auto* admm = std::get_if<admm_rule>(&method))
        return prepared<admm_peer>(on, name, options, *admm);
    // Replicas share weights by their number of elements and their stage: weights of another size could not be shared.
    std::uint64_t numbers = 0;
    for (const tensor_shape& shape : options.shapes)
        numbers += shape.elements();
    return prepared<hogwild_peer>(
        on, name, options,
        on.shared.of<shared_weights>(numbers * limits::stages_max + part->stage));
}

} // namespace

role peer_actor_role() {
    return role_of<proto::PeerOptions>(std::string{run_role::peer.name}, prepare);
}

} // namespace troupe
