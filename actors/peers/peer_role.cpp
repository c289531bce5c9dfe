#include "actors/peers/peer_role.hpp"

#include "actors/peers/admm_peer.hpp"
#include "actors/peers/elastic_peer.hpp"
#include "actors/peers/gossip_peer.hpp"
#include "actors/peers/hogwild_peer.hpp"
#include "actors/peers/malt_peer.hpp"
#include "actors/pipeline/model_part.hpp"
#include "schemas/base/limits.hpp"

namespace troupe {

namespace {

struct made_peer {
    model_part part;
    peer_options options;
};

result<made_peer> make(proto::PeerOptions::Reader from, const role_resources& on) {
    auto part = model_part::of(from.getPart(), on.node());
    if (!part)
        return part.failure();
    if (auto fits = check_role(*part, run_role::peer); !fits)
        return fits.failure();
    auto compute = device_beside(*part, on);
    if (!compute)
        return compute.failure();
    peer_options options{std::move(compute).value(), on.asker, part->shapes()};
    return made_peer{std::move(part).value(), std::move(options)};
}

result<void> check(proto::PeerOptions::Reader options, const role_resources& on) {
    const auto made = make(options, on);
    return made ? result<void>{} : made.failure();
}

result<actor_address> spawn(proto::PeerOptions::Reader from, const role_resources& on) {
    const auto made = make(from, on);
    if (!made)
        return made.failure();
    const model_part& part = made->part;
    const std::string name = part.name_of(run_role::peer);
    const auto& method = part.sync.exchange->method;
    if (const auto* elastic = std::get_if<elastic_rule>(&method))
        return on.runtime.spawn<elastic_peer>(name, made->options, *elastic);
    if (std::holds_alternative<gossip_rule>(method))
        return on.runtime.spawn<gossip_peer>(name, made->options, gossip_rule{part.seed});
    if (const auto* malt = std::get_if<malt_rule>(&method))
        return on.runtime.spawn<malt_peer>(name, made->options, malt->graph, malt->how);
    if (const auto* admm = std::get_if<admm_rule>(&method))
        return on.runtime.spawn<admm_peer>(name, made->options, *admm);
    // Those with as many numbers: others could not share them.
    std::uint64_t numbers = 0;
    for (const tensor_shape& shape : made->options.shapes)
        numbers += shape.elements();
    return on.runtime.spawn<hogwild_peer>(
        name, made->options,
        on.shared.of<shared_weights>(numbers * limits::stages_max + part.stage));
}

} // namespace

role peer_actor_role() {
    return role_of<proto::PeerOptions>(name_of(run_role::peer), check, spawn);
}

} // namespace troupe
