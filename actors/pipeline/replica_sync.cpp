#include "actors/pipeline/replica_sync.hpp"

#include "actors/collective/all_reduce.hpp"

namespace troupe {

std::optional<replica_sync> replica_sync::of(proto::Sync::Reader description,
                                             std::uint32_t replicas) {
    replica_sync sync;
    switch (description.which()) {
    case proto::Sync::ALL_REDUCE:
        sync.sums_gradients = true;
        sync.algorithm = description.getAllReduce().getAlgorithm();
        break;
    case proto::Sync::LOCAL_SGD:
        sync.weights_every = description.getLocalSgd().getPeriod();
        sync.algorithm = description.getLocalSgd().getAlgorithm();
        break;
    case proto::Sync::PARAMETER_SERVER: {
        const auto server = description.getParameterServer();
        sync.shards = server.getShards();
        switch (server.getConsistency().which()) {
        case proto::Consistency::BSP:
            sync.server = consistency{.staleness = 0};
            break;
        case proto::Consistency::SSP:
            sync.server = consistency{.staleness = server.getConsistency().getSsp().getStaleness()};
            break;
        case proto::Consistency::ASP:
            sync.server = consistency{};
            break;
        default:
            return std::nullopt;
        }
        break;
    }
    default:
        return std::nullopt;
    }
    if (!is_known(sync.algorithm))
        return std::nullopt;
    return replicas > 1 ? sync : replica_sync{};
}

} // namespace troupe
