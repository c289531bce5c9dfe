// Checks of topology.sync (schemas/topology.capnp) against the rest of the app file.
#include <algorithm>
#include <optional>

#include "actors/pipeline/shape/replica_sync.hpp"
#include "actors/training/plan/app_checks.hpp"
#include "actors/training/plan/planned_schedule.hpp"
#include "kernels/graph/stage_program.hpp"

namespace troupe::app_file {

namespace {

constexpr const char* server_key = "topology.sync.parameter_server";

// Bound on the pushes of one replica, since a shard keeps those that it has not applied yet.
constexpr std::uint32_t pushes_per_fetch_max = 64;

// A replica's gradient is its share of a mean under bsp, and no part of the server sees the whole sum.
result<void> check_clip(const training_app& definition) {
    const auto sync = definition.app().getTopology().getSync();
    if (definition.app().getTrain().getClip().isNone() || !sync.isParameterServer() ||
        definition.app().getTopology().getReplicas() == 1)
        return {};
    const auto rule = sync.getParameterServer().getConsistency();
    if (!rule.isBsp() && !(rule.isSsp() && rule.getSsp().getStaleness() == 0))
        return {};
    return definition.error_at("train.clip",
                               "a synchronous parameter server cannot bound the sum of its "
                               "replicas' gradients; use topology.sync: all_reduce, or leave clip "
                               "out");
}

// The requirements of each rule of a parameter server, and the options that it excludes.
class server_checks {
  public:
    explicit server_checks(const training_app& definition)
        : definition_{definition}, topology_{definition.app().getTopology()},
          server_{topology_.getSync().getParameterServer()},
          rule_{*replica_sync::of(topology_.getSync(), 2)->server}, replicas_{
                                                                        topology_.getReplicas()} {}

    result<void> consistency() const {
        const std::string have = std::to_string(replicas_) + " replicas";
        if (rule_.splits && *rule_.splits > replicas_)
            return refuse(".consistency.softsync.splits",
                          "an update cannot be made of less than one gradient: of " + have +
                              " at most as many splits");
        if (rule_.backups && *rule_.backups >= replicas_)
            return refuse(".consistency.backup_workers.backups",
                          "leaves no gradient to wait for, of " + have +
                              "; give fewer, or more replicas");
        if (!may_have_several_stages(topology_))
            return {};
        const char* const why = "does not go with a pipeline, in whose stages different gradients "
                                "would wait or be dropped; choose ssp, asp or softsync";
        if (rule_.backups)
            return refuse(".consistency.backup_workers", why);
        return rule_.bound ? refuse(".consistency.value_bounded", why) : result<void>{};
    }

    result<void> accrual() const {
        const bool is_asynchronous = server_.getConsistency().isAsp();
        const char* const why =
            "is Downpour's, in which nobody waits: it goes with consistency: asp";
        if (server_.getPushEvery() > 1 && !is_asynchronous)
            return refuse(".push_every", why);
        if (server_.getFetchEvery() > 1 && !is_asynchronous)
            return refuse(".fetch_every", why);
        const std::uint64_t most = std::uint64_t{pushes_per_fetch_max} * server_.getPushEvery();
        if (server_.getFetchEvery() > most)
            return refuse(".fetch_every",
                          "a replica would push " +
                              std::to_string(server_.getFetchEvery() / server_.getPushEvery()) +
                              " times before it waits for the server, which keeps them all; give "
                              "at most " +
                              std::to_string(most));
        return {};
    }

    result<void> compensation() const {
        if (server_.getDelayCompensation().isNone())
            return {};
        if (rule_.is_never_late())
            return refuse(".delay_compensation",
                          "no gradient comes late under this consistency; leave it out, or choose "
                          "ssp, asp, softsync or value_bounded");
        if (server_.getPushEvery() > 1 || server_.getFetchEvery() > 1)
            return refuse(
                ".delay_compensation",
                "is of single gradients of weights that were pulled; leave out push_every "
                "and fetch_every");
        return {};
    }

    result<void> robustness() const {
        const auto how = server_.getAggregation();
        if (how.isMean())
            return {};
        if (!rule_.is_never_late())
            return refuse(".aggregation",
                          "takes several gradients of the same weights; choose consistency: bsp or "
                          "backup_workers");
        const std::size_t gradients = rule_.gradients_per_update(replicas_);
        const std::string have = "; an update has " + std::to_string(gradients);
        if (how.isMedian() && gradients < 3)
            return refuse(".aggregation.median", "needs 3 gradients at least" + have);
        if (how.isTrimmedMean() && 2 * std::size_t{how.getTrimmedMean().getTrim()} >= gradients)
            return refuse(".aggregation.trimmed_mean.trim",
                          "leaves nothing to take the mean of" + have + " gradients");
        if (how.isKrum() && 2 * std::size_t{how.getKrum().getLiars()} + 3 > gradients)
            return refuse(".aggregation.krum.liars",
                          "needs " + std::to_string(2 * std::size_t{how.getKrum().getLiars()} + 3) +
                              " gradients at least" + have);
        return {};
    }

    result<void> node_servers() const {
        if (!server_.getNodeServers())
            return {};
        const auto refuse_with = [&](const char* key) {
            return refuse(".node_servers", std::string{"sums gradients of a node's replicas, which "
                                                       "does not go with "} +
                                               key + "; leave one of them out");
        };
        if (!rule_.staleness && !server_.getConsistency().isAsp())
            return refuse_with("value_bounded, softsync or backup_workers");
        if (server_.getPushEvery() > 1 || server_.getFetchEvery() > 1)
            return refuse_with("push_every or fetch_every");
        if (!server_.getDelayCompensation().isNone())
            return refuse_with("delay_compensation");
        if (!server_.getAggregation().isMean())
            return refuse_with("aggregation");
        return {};
    }

  private:
    result<void> refuse(const std::string& key, const std::string& why) const {
        return definition_.error_at(server_key + key, why);
    }

    const training_app& definition_;
    proto::Topology::Reader topology_;
    proto::ParameterServer::Reader server_;
    troupe::consistency rule_;
    std::uint32_t replicas_;
};

result<void> check_server(const training_app& definition) {
    const auto topology = definition.app().getTopology();
    if (!topology.getSync().isParameterServer() || topology.getReplicas() == 1)
        return {};
    const server_checks checks{definition};
    for (const auto check :
         {&server_checks::consistency, &server_checks::accrual, &server_checks::compensation,
          &server_checks::robustness, &server_checks::node_servers})
        if (auto checked = (checks.*check)(); !checked)
            return checked;
    return {};
}

// Shards stand beside replicas, and each keeps at least one tensor.
result<void> check_shards(const training_app& definition) {
    const auto topology = definition.app().getTopology();
    if (!topology.getSync().isParameterServer())
        return {};
    const std::uint32_t shards = topology.getSync().getParameterServer().getShards();
    const auto refuse = [&](const std::string& why) {
        return definition.error_at("topology.sync.parameter_server.shards",
                                   std::to_string(shards) + " shards, but " + why);
    };
    if (shards > topology.getReplicas())
        return refuse("they stand beside the replicas, of which there " +
                      (topology.getReplicas() == 1
                           ? std::string{"is 1"}
                           : "are " + std::to_string(topology.getReplicas())));
    const auto model = definition.app().getModel();
    const auto whole = stage_program::whole(model);
    TROUPE_CHECK(whole.ok(), "the model has been checked");
    if (shards > whole->parameters().size())
        return refuse("the model has " + counted(whole->parameters().size(), "parameter tensor") +
                      " to keep");
    return {};
}

// Replicas of a single stage take turns with its minibatches, which only an asynchronous pipeline allows.
result<void> check_stage_replicas(const training_app& definition) {
    const auto topology = definition.app().getTopology();
    const std::vector<std::uint32_t> replicas = replicas_of_stages(topology);
    if (replicas.empty())
        return {};
    const auto replicated = std::ranges::find_if(replicas, [](std::uint32_t r) { return r > 1; });
    const auto refuse = [&](const std::string& why) {
        return definition.error_at("topology.pipeline.stages[" +
                                       std::to_string(replicated - replicas.begin()) + "].replicas",
                                   why);
    };
    if (topology.getReplicas() > 1)
        return refuse("the whole pipeline has replicas already; leave topology.replicas out");
    if (std::ranges::count(replicas, replicas[0]) == std::ssize(replicas))
        return refuse("all stages have as many; say topology.replicas: " +
                      std::to_string(replicas[0]) + " instead");
    if (!topology.getPipeline().getSchedule().isPipedream())
        return refuse("stages with different numbers of replicas take whole minibatches and "
                      "update at different times, which schedule " +
                      name_of(topology.getPipeline().getSchedule()) +
                      " forbids; use pipedream, or topology.replicas");
    if (!topology.getSync().isAllReduce())
        return refuse("the replicas of a stage alone average their gradients; use topology.sync: "
                      "all_reduce, or topology.replicas");
    return {};
}

// Replicas that exchange weights, or take them from a server, keep the latest version alone.
result<void> check_older_versions(const training_app& definition) {
    const auto topology = definition.app().getTopology();
    if (!topology.isPipeline())
        return {};
    const auto schedule = topology.getPipeline().getSchedule();
    const bool is_vertical = schedule.isPipedream() && schedule.getPipedream().getVerticalSync();
    const auto refuse = [&](const std::string& why) {
        return definition.error_at("topology.pipeline.schedule", why);
    };
    if (is_vertical && !replicas_of_stages(topology).empty())
        return refuse("vertical_sync counts versions alike at all stages, and these differ in "
                      "replicas; leave it out, or use topology.replicas");
    if ((!is_vertical && !schedule.isTwoVersions() && !schedule.isLocalAccumulation()) ||
        topology.getReplicas() == 1 || topology.getSync().isAllReduce())
        return {};
    return refuse(
        name_of(schedule) + (is_vertical ? " with vertical_sync" : "") +
        " computes with older weights than the latest, which replicas with this "
        "topology.sync do not have; use topology.sync: all_reduce, or schedule: pipedream");
}

// A codec applies to gradients that are sent.
result<void> check_codec(const training_app& definition) {
    const auto app = definition.app();
    const auto sync = app.getTopology().getSync();
    const auto how = sync.getCodec();
    if (how.isNone())
        return {};
    if (!sync.isAllReduce() && !sync.isParameterServer())
        return definition.error_at(
            "topology.sync.codec",
            "compresses gradients, and these replicas send weights; leave it "
            "out, or use all_reduce or parameter_server");
    if (how.isSufficientFactors() && sync.isParameterServer()) {
        const auto server = sync.getParameterServer();
        const auto refuse = [&](const char* key) {
            return definition.error_at("topology.sync.codec.sufficient_factors",
                                       std::string{"goes to a server as the backward pass gives "
                                                   "it, without "} +
                                           key + "; leave one of them out, or use all_reduce");
        };
        if (server.getPushEvery() > 1 || server.getFetchEvery() > 1)
            return refuse("push_every or fetch_every");
        if (server.getNodeServers())
            return refuse("node_servers");
        if (!app.getTrain().getClip().isNone())
            return refuse("train.clip");
    }
    const codec_ptr made = make_codec(how);
    if (sync.isAllReduce() && !(made && made->half()) &&
        sync.getAllReduce().getAlgorithm() != proto::AllReduceAlgorithm::AUTO)
        return definition.error_at("topology.sync.all_reduce.algorithm",
                                   "the codec says who sends what to whom, as `troupe plan` "
                                   "shows; leave the algorithm out");
    const auto optimizer = app.getTrain().getOptimizer();
    if (how.isDeepGradient() && (!optimizer.isSgd() || optimizer.getSgd().getMomentum() != 0))
        return definition.error_at("topology.sync.codec.deep_gradient",
                                   "has a momentum of its own in place of the optimizer's; use "
                                   "train.optimizer: sgd without momentum");
    return {};
}

} // namespace

bool may_have_several_stages(proto::Topology::Reader topology) {
    if (!topology.isPipeline())
        return false;
    const auto stages = topology.getPipeline().getStages();
    return !(stages.isCount() && stages.getCount() == 1) &&
           !(stages.isList() && stages.getList().size() == 1);
}

result<void> check_sync(const training_app& definition) {
    // The first check that fails gives the error.
    for (const auto check : {check_codec, check_stage_replicas, check_older_versions, check_server,
                             check_shards, check_clip, check_peers})
        if (auto checked = check(definition); !checked)
            return checked;
    return {};
}

} // namespace troupe::app_file
