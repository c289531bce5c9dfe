// Checks of topology.sync for replicas that update on their own.
#include <algorithm>
#include <cstdio>
#include <numeric>

#include "actors/peers/elastic_rule.hpp"
#include "actors/peers/malt_graph.hpp"
#include "actors/training/plan/app_checks.hpp"
#include "kernels/optim/optimizer.hpp"
#include "kernels/optim/run_shape.hpp"
#include "schemas/base/quantities.hpp"

namespace troupe::app_file {

namespace {

result<void> check_elastic(const training_app& definition) {
    const auto topology = definition.app().getTopology();
    const auto elastic = topology.getSync().getElasticAveraging();
    const std::uint32_t replicas = topology.getReplicas();
    const double most = elastic_rate_max(elastic.getSynchronous() ? replicas : 1);
    if (elastic.getRate() <= static_cast<float>(most))
        return {};
    char text[32];
    std::snprintf(text, sizeof text, "%.3g", most);
    return definition.error_at("topology.sync.elastic_averaging.rate",
                               "must be at most " + std::string{text} + " where " +
                                   counted(replicas, "replica") +
                                   " meet the centre at once; with more they and the centre swing "
                                   "ever further");
}

// The number of weights that a replica averages at once, its own included; the least where replicas differ.
std::size_t weights_at_once(proto::MaltGraph graph, std::uint32_t replicas) {
    std::vector<std::uint32_t> live(replicas);
    std::iota(live.begin(), live.end(), 0u);
    std::size_t fewest = replicas;
    for (const std::uint32_t r : live)
        fewest = std::min(fewest, 1 + in_degree(graph, r, live));
    return fewest;
}

result<void> check_malt(const training_app& definition) {
    const auto topology = definition.app().getTopology();
    const auto malt = topology.getSync().getMalt();
    const auto how = malt.getAggregation();
    const std::size_t have = weights_at_once(malt.getGraph(), topology.getReplicas());
    const auto refuse = [&](const char* key, std::size_t needs) {
        return definition.error_at(
            std::string{"topology.sync.malt.aggregation."} + key,
            "needs the weights of " + std::to_string(needs) +
                " replicas at least, and by this graph some have those of " + std::to_string(have) +
                "; give more replicas" +
                (malt.getGraph() == proto::MaltGraph::ALL ? "" : ", or graph: all"));
    };
    if (how.isMedian() && have < 3)
        return refuse("median", 3);
    if (how.isTrimmedMean() && have < 2 * std::size_t{how.getTrimmedMean().getTrim()} + 1)
        return refuse("trimmed_mean", 2 * std::size_t{how.getTrimmedMean().getTrim()} + 1);
    if (how.isKrum() && have < 2 * std::size_t{how.getKrum().getLiars()} + 3)
        return refuse("krum", 2 * std::size_t{how.getKrum().getLiars()} + 3);
    return {};
}

result<void> check_admm(const training_app& definition) {
    const auto topology = definition.app().getTopology();
    const std::uint32_t quorum = topology.getSync().getAdmm().getQuorum();
    if (quorum > topology.getReplicas())
        return definition.error_at("topology.sync.admm.quorum",
                                   std::to_string(quorum) + " replicas would have to report, of " +
                                       std::to_string(topology.getReplicas()));
    const bool is_synchronous =
        quorum == topology.getReplicas() || topology.getSync().getAdmm().getDelay() == 1;
    if (!is_synchronous && may_have_several_stages(topology))
        return definition.error_at("topology.sync.admm",
                                   "does not go with a pipeline, whose stages would come to wait "
                                   "for each other in a ring; make it synchronous by quorum: " +
                                       std::to_string(topology.getReplicas()) +
                                       " or delay: 1, or use a single stage");
    // In addition to the optimizer's step, a step of plain descent scales the distance from the consensus by
    // 1 - rate * penalty.
    const float rate = base_learning_rate(definition.app().getTrain().getOptimizer());
    if (rate * topology.getSync().getAdmm().getPenalty() >= 2)
        return definition.error_at("topology.sync.admm.penalty",
                                   "with this learning rate each update throws weights farther "
                                   "from the common ones than they were; their product must be "
                                   "below 2");
    return {};
}

float nesterov_of(proto::Optimizer::Reader optimizer) {
    return optimizer.isSgd() && optimizer.getSgd().getNesterov() ? optimizer.getSgd().getMomentum()
                                                                 : 0;
}

} // namespace

void add_doubtful_elastic(proto::App::Reader app, std::uint64_t train_samples,
                          std::vector<doubtful_key>& keys) {
    const auto topology = app.getTopology();
    const std::uint32_t replicas = topology.getReplicas();
    if (replicas == 1 || !topology.getSync().isElasticAveraging())
        return;
    const auto elastic = topology.getSync().getElasticAveraging();
    const auto add = [&](std::string why) {
        keys.push_back({"topology.sync.elastic_averaging", std::move(why)});
    };
    const std::uint64_t updates =
        run_shape::of(app.getTrain(), train_samples).in_rounds_of(replicas).minibatches_of(0);
    if (updates < elastic.getPeriod())
        add("a replica makes " + counted(updates, "update") + " in an epoch, fewer than the " +
            std::to_string(elastic.getPeriod()) +
            " of period, and so meets the centre at the end of an epoch alone; give a smaller "
            "period");
    // With a longer period it converges at any rate that is allowed, where one replica by itself does.
    constexpr double usual_step = 1;
    const double most = elastic_step_max(elastic.getSynchronous() ? replicas : 1,
                                         double{elastic_rate(elastic.getRate(), replicas)},
                                         double{nesterov_of(app.getTrain().getOptimizer())});
    if (elastic.getPeriod() > 1 || most >= usual_step)
        return;
    add("with a meeting after every update, replicas and centre swing ever further where the "
        "learning rate times the curvature of the loss is above " +
        two_digits(most) + "; give a lower rate or a longer period");
}

result<void> check_peers(const training_app& definition) {
    const auto topology = definition.app().getTopology();
    if (topology.getReplicas() == 1)
        return {};
    switch (topology.getSync().which()) {
    case proto::Sync::ELASTIC_AVERAGING:
        return check_elastic(definition);
    case proto::Sync::MALT:
        return check_malt(definition);
    case proto::Sync::ADMM:
        return check_admm(definition);
    default:
        return {};
    }
}

} // namespace troupe::app_file
