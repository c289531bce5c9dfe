#include "actors/pipeline/shape/replica_sync.hpp"

#include "actors/collective/all_reduce.hpp"
#include "kernels/codec/sufficient_factors.hpp"

namespace troupe {

namespace {

std::optional<consistency> consistency_of(proto::Consistency::Reader rule) {
    switch (rule.which()) {
    case proto::Consistency::BSP:
        return consistency{.staleness = 0};
    case proto::Consistency::SSP:
        return consistency{.staleness = rule.getSsp().getStaleness()};
    case proto::Consistency::ASP:
        return consistency{};
    case proto::Consistency::VALUE_BOUNDED:
        return consistency{.bound = rule.getValueBounded().getBound()};
    case proto::Consistency::SOFTSYNC:
        return consistency{.splits = rule.getSoftsync().getSplits()};
    case proto::Consistency::BACKUP_WORKERS:
        return consistency{.backups = rule.getBackupWorkers().getBackups()};
    }
    return std::nullopt;
}

} // namespace

std::optional<replica_sync> replica_sync::of(proto::Sync::Reader description,
                                             std::uint32_t replicas) {
    replica_sync sync;
    switch (description.which()) {
    case proto::Sync::ALL_REDUCE:
        sync.sums_gradients = true;
        sync.algorithm = description.getAllReduce().getAlgorithm();
        break;
    case proto::Sync::LOCAL_SGD:
        sync.exchange = weight_exchange::of(description, replicas);
        sync.algorithm = description.getLocalSgd().getAlgorithm();
        break;
    case proto::Sync::PARAMETER_SERVER: {
        const auto server = description.getParameterServer();
        sync.shards = server.getShards();
        sync.server = consistency_of(server.getConsistency());
        const auto how = aggregation::of(server.getAggregation());
        const auto pulls = make_number_form(server.getPulls());
        if (!sync.server || !how || !pulls)
            return std::nullopt;
        sync.how = *how;
        sync.pulls = *pulls;
        sync.compensation = delay_compensation::of(server.getDelayCompensation());
        sync.push_every = server.getPushEvery();
        sync.fetch_every = server.getFetchEvery();
        sync.node_servers = server.getNodeServers();
        break;
    }
    default:
        sync.exchange = weight_exchange::of(description, replicas);
        if (!sync.exchange)
            return std::nullopt;
    }
    if (!is_known(sync.algorithm))
        return std::nullopt;
    sync.codec = make_codec(description.getCodec());
    sync.sends_factors = description.getCodec().isSufficientFactors();
    const bool is_carried =
        (sync.codec || sync.sends_factors) && (sync.sums_gradients || sync.server);
    // Sums of factors are not the factors of the gradients' sum.
    const bool sums_before_push = sync.server && (sync.accrues() || sync.node_servers);
    if ((!description.getCodec().isNone() && !is_carried) ||
        (sync.sends_factors && sums_before_push))
        return std::nullopt;
    return replicas > 1 ? sync : replica_sync{};
}

payload_forms replica_sync::pushed_forms(std::span<const tensor_shape> shapes,
                                         std::span<const std::size_t> factor_rows,
                                         std::size_t samples_max) const {
    return sends_factors ? factors_to_server(shapes, factor_rows, samples_max)
                         : payload_forms(shapes.size(), codec);
}

std::vector<std::uint32_t> replicas_of_stages(proto::Topology::Reader topology) {
    std::vector<std::uint32_t> replicas;
    if (topology.isPipeline() && topology.getPipeline().getStages().isList())
        for (const auto stage : topology.getPipeline().getStages().getList())
            replicas.push_back(stage.getReplicas());
    if (std::ranges::all_of(replicas, [](std::uint32_t r) { return r == 1; }))
        replicas.clear();
    return replicas;
}

std::uint32_t replicas_in_turn(proto::Topology::Reader topology) {
    const std::uint32_t replicas = topology.getReplicas();
    const auto sync = replica_sync::of(topology.getSync(), replicas);
    return sync ? sync->in_turn(replicas) : replicas;
}

} // namespace troupe
