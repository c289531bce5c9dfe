// What a node's agent spawns for a stage: the stage, and what stands beside it for it to agree with its other replicas.
#include "actors/collective/block_reducer.hpp"
#include "actors/collective/compressed_exchange.hpp"
#include "actors/collective/gatherer.hpp"
#include "actors/collective/low_rank_reducer.hpp"
#include "actors/collective/reducer.hpp"
#include "actors/collective/sparse_reducer.hpp"
#include "actors/device/node_agent.hpp"
#include "actors/params/parameter_shard.hpp"
#include "actors/peers/admm_peer.hpp"
#include "actors/peers/elastic_peer.hpp"
#include "actors/peers/gossip_peer.hpp"
#include "actors/peers/hogwild_peer.hpp"
#include "actors/peers/malt_peer.hpp"
#include "actors/pipeline/partition.hpp"
#include "actors/pipeline/run_shape.hpp"
#include "kernels/device/slowed_device.hpp"

namespace troupe {

namespace {

// "2", with several replicas "2.1": stage and replica.
std::string name_of_stage(proto::PlaceStage::Reader body) {
    return std::to_string(body.getStage()) +
           (body.getReplicas() > 1 ? "." + std::to_string(body.getReplica()) : std::string{});
}

// Of what replicas sum or exchange. What is ready last in a backward pass comes first.
std::vector<tensor_shape> shapes_of(const stage_program& program) {
    std::vector<tensor_shape> shapes;
    for (const average_info& average : program.averages())
        shapes.push_back(average.shape);
    for (const parameter_info& parameter : program.parameters())
        shapes.push_back(parameter.shape);
    return shapes;
}

// By tensor, whether it has a form; empty where none has.
std::vector<bool> which_are_set(std::span<const payload_form_ptr> forms) {
    std::vector<bool> set;
    for (const payload_form_ptr& form : forms)
        set.push_back(form != nullptr);
    return std::ranges::count(set, true) > 0 ? set : std::vector<bool>{};
}

// By parameter.
std::vector<std::size_t> factor_rows_of(const stage_program& program) {
    std::vector<std::size_t> rows;
    for (const parameter_info& parameter : program.parameters())
        rows.push_back(parameter.factor_rows);
    return rows;
}

} // namespace

// Where the numbers of a stage are worked on that it sends to other replicas: they are in the host's memory then.
std::shared_ptr<device> node_agent::beside(const stage_options& stage) const {
    const bool is_host = stage.compute->memory().kind() == memory_kind::host;
    TROUPE_CHECK(is_host || options_.worker, "a node with GPUs has a worker");
    return is_host ? stage.compute : options_.worker;
}

// None where there is nothing to sum. Says how the stage gives it gradients.
actor_address node_agent::spawn_reducer(proto::PlaceStage::Reader body, stage_options& stage) {
    const compressed_gradients gradients{.shapes = shapes_of(*stage.program),
                                         .averages = stage.program->averages().size(),
                                         .codec = stage.sync.codec,
                                         .sends_factors = stage.sync.sends_factors,
                                         .factor_rows = factor_rows_of(*stage.program),
                                         .samples_max = largest_batch(body.getTrain()),
                                         .algorithm = stage.sync.algorithm};
    if (gradients.shapes.empty())
        return {};
    const std::string name = "reducer-" + name_of_stage(body);
    const auto exchange = choose_exchange(gradients, body.getReplicas());
    if (!exchange)
        return runtime().spawn<reducer>(
            name, reducer_options{stage.sync.algorithm, beside(stage), gradients.shapes});
    compressed_options options{.compute = beside(stage),
                               .shapes = gradients.shapes,
                               .averages = gradients.averages,
                               .forms = exchange->forms,
                               .codec = stage.sync.codec,
                               .seed = body.getTrain().getSeed() + body.getStage()};
    if (exchange->low_rank)
        return runtime().spawn<low_rank_reducer>(name, std::move(options));
    const auto first = static_cast<std::ptrdiff_t>(options.averages);
    if (stage.sync.sends_factors)
        stage.as_factors = which_are_set(std::span{options.forms}.subspan(options.averages));
    else
        stage.encoder = std::make_shared<gradient_encoder>(gradient_encoder::options{
            .how = options.codec,
            .shapes = {options.shapes.begin() + first, options.shapes.end()},
            .seed = options.seed,
            .replica = body.getReplica(),
            .replicas = body.getReplicas()});
    if (exchange->half)
        return runtime().spawn<reducer>(
            name, reducer_options{stage.sync.algorithm, beside(stage), gradients.shapes,
                                  gradients.averages, part_numbers{stage.sync.codec->half()}});
    if (exchange->sparse)
        return runtime().spawn<sparse_reducer>(name, std::move(options), *exchange->sparse);
    if (exchange->in_blocks)
        return runtime().spawn<block_reducer>(name, std::move(options));
    return runtime().spawn<gatherer>(name, std::move(options));
}

// None where there is nothing to exchange.
actor_address node_agent::spawn_peer(proto::PlaceStage::Reader body, const stage_options& stage) {
    const peer_options options{beside(stage), stage.trainer, shapes_of(*stage.program)};
    if (options.shapes.empty())
        return {};
    const std::string name = "peer-" + name_of_stage(body);
    const auto& method = stage.sync.exchange->method;
    if (const auto* elastic = std::get_if<elastic_rule>(&method))
        return runtime().spawn<elastic_peer>(name, options, *elastic);
    if (std::holds_alternative<gossip_rule>(method))
        return runtime().spawn<gossip_peer>(name, options, gossip_rule{stage.seed});
    if (const auto* malt = std::get_if<malt_rule>(&method))
        return runtime().spawn<malt_peer>(name, options, malt->graph, malt->how);
    if (const auto* admm = std::get_if<admm_rule>(&method))
        return runtime().spawn<admm_peer>(name, options, *admm);
    auto& shared = runs_[body.getRun()].shared[body.getStage()];
    if (!shared)
        shared = std::make_shared<shared_weights>();
    return runtime().spawn<hogwild_peer>(name, options, shared);
}

// A cache, and the shard of this replica if there is one.
// Says how the stage gives the cache gradients.
void node_agent::spawn_server(proto::PlaceStage::Reader body, stage_options& stage,
                              hosted_stage& into) {
    const auto& parameters = stage.program->parameters();
    const std::size_t shards = stage.sync.shards_of(parameters.size(), body.getReplicas());
    if (shards == 0)
        return; // nothing to keep
    parameter_cache_options cache;
    std::vector<layer_cost> sizes; // tensors are to a shard what layers are to a stage
    for (const parameter_info& parameter : parameters) {
        cache.shapes.push_back(parameter.shape);
        sizes.push_back({.compute_ns = static_cast<double>(parameter.shape.elements())});
    }
    for (const layer_range& range : partition_layers(sizes, shards))
        cache.ranges.push_back({range.first, range.count});
    const payload_forms pushed = stage.sync.pushed_forms(
        cache.shapes, factor_rows_of(*stage.program), largest_batch(body.getTrain()));
    if (stage.sync.sends_factors) {
        stage.as_factors = which_are_set(pushed);
        cache.offered = pushed;
    }
    if (body.getReplica() < shards)
        into.shard = spawn_shard(body, stage, cache.ranges[body.getReplica()], pushed);
    into.cache = spawn_cache(body, stage, std::move(cache));
}

actor_address node_agent::spawn_shard(proto::PlaceStage::Reader body, const stage_options& stage,
                                      shard_range own, const payload_forms& pushed) {
    parameter_shard_options shard;
    shard.rules = {*stage.sync.server, stage.sync.how, stage.sync.compensation, stage.rule};
    shard.rules.pulls = stage.sync.pulls;
    const auto first = pushed.begin() + static_cast<std::ptrdiff_t>(own.first);
    shard.rules.forms.assign(first, first + static_cast<std::ptrdiff_t>(own.count));
    shard.workers = body.getWorkers();
    shard.trainer = stage.trainer;
    for (std::size_t p = own.first; p < own.first + own.count; ++p)
        shard.shapes.push_back(stage.program->parameters()[p].shape);
    shard.rates = stage.rates;
    shard.compute = options_.worker ? options_.worker : stage.compute;
    return runtime().spawn<parameter_shard>("shard-" + name_of_stage(body), std::move(shard));
}

// One for each replica, or with node_servers for all of the stage here.
actor_address node_agent::spawn_cache(proto::PlaceStage::Reader body, const stage_options& stage,
                                      parameter_cache_options options) {
    options.state_per_parameter = stage.rule->state().size();
    options.fetches_kept = stage.sync.push_every; // the most, where weights are pulled every time
    options.members = body.getMembers();
    options.codec = stage.sync.codec;
    options.pulls = stage.sync.pulls;
    options.seed = body.getTrain().getSeed() + body.getStage();
    options.workers = body.getWorkers();
    options.compute = options_.worker ? options_.worker : stage.compute;
    if (!stage.sync.node_servers)
        return runtime().spawn<parameter_cache>("cache-" + name_of_stage(body), std::move(options));
    actor_address& shared = runs_[body.getRun()].node_servers[body.getStage()];
    if (!shared)
        shared = runtime().spawn<parameter_cache>("node-server-" + std::to_string(body.getStage()),
                                                  std::move(options));
    return shared;
}

result<node_agent::hosted_stage> node_agent::spawn_stage(proto::PlaceStage::Reader body,
                                                         actor_address trainer) {
    if (auto possible = check_placement(body, trainer); !possible)
        return possible.failure();
    auto compute = find_device(body.getDevice().cStr());
    if (!compute)
        return compute.failure();
    auto program = stage_program::create(body.getModel(), {body.getFirstLayer(), body.getLayers()});
    if (!program)
        return program.failure();
    stage_options options;
    options.place = {body.getStage(), body.getStages()};
    std::vector<std::uint32_t> replicas;
    for (const std::uint32_t of_stage : body.getStageReplicas())
        replicas.push_back(of_stage);
    if (!replicas.empty()) {
        options.warm_ups = warm_ups(replicas);
        options.place.warm_up = options.warm_ups[body.getStage()];
    }
    options.schedule = body.getSchedule();
    options.program = std::make_shared<const stage_program>(std::move(program).value());
    const auto activations = make_number_form(body.getActivations());
    if (!activations)
        return error{errc::protocol, "node " + runtime().options().name +
                                         " does not know this form of activations"};
    options.activations = *activations;
    options.compute =
        slow_down(std::move(compute).value(), body.getSlowDown(), *runtime().options().time);
    const auto train = body.getTrain();
    options.rule = make_optimizer(train.getOptimizer());
    if (options.rule == nullptr)
        return error{errc::protocol,
                     "node " + runtime().options().name + " does not know this optimizer"};
    options.rates = make_learning_rates(train, body.getMinibatches());
    if (options.rates == nullptr)
        return error{errc::protocol, "node " + runtime().options().name +
                                         " does not know this schedule of the learning rate"};
    if (body.getRate() > proto::StageRate::PER_UPDATE)
        return error{errc::protocol, "node " + runtime().options().name +
                                         " does not know this rate of a stage's replicas"};
    if (!replicas.empty())
        options.rates =
            times(std::move(options.rates), rate_factor(body.getRate(), replicas[body.getStage()]));
    const auto clip = make_clip(train.getClip());
    if (!clip)
        return error{errc::protocol, "node " + runtime().options().name +
                                         " does not know this way to clip gradients"};
    options.clip = *clip;
    options.seed = train.getSeed();
    options.trainer = trainer;
    const auto sync = replica_sync::of(body.getSync(), body.getReplicas());
    if (!sync || (sync->sends_factors && sync->server && (clip->norm || clip->value)))
        return error{errc::protocol, "node " + runtime().options().name +
                                         " does not know this way for replicas to agree"};
    options.sync = *sync;
    options.replica = {body.getReplica(), body.getReplicas()};
    hosted_stage spawned;
    const bool averages =
        sync->exchange && std::holds_alternative<mean_rule>(sync->exchange->method);
    if (sync->sums_gradients || averages)
        spawned.reducer = options.reducer = spawn_reducer(body, options);
    else if (sync->exchange)
        spawned.peer = spawn_peer(body, options);
    options.peer = averages ? spawned.reducer : spawned.peer;
    if (sync->server)
        spawn_server(body, options, spawned);
    options.cache = spawned.cache;
    options.shard = spawned.shard;
    options.worker = body.getWorker();
    spawned.stage =
        runtime().spawn<stage_actor>("stage-" + name_of_stage(body), std::move(options));
    return spawned;
}

} // namespace troupe
