#include "actors/params/parameter_cache.hpp"

#include <algorithm>
#include <string>

#include "actors/messages.hpp"
#include "actors/params/push_contents.hpp"
#include "actors/update_counts.hpp"
#include "schemas/base/limits.hpp"
#include "schemas/collective.capnp.h"

namespace troupe {

parameter_cache::parameter_cache(actor_context& context, parameter_cache_options options)
    : actor{context}, options_{std::move(options)}, answers_{{options_.shapes, options_.ranges,
                                                              options_.state_per_parameter,
                                                              options_.pulls}},
      work_{*this, [this](const std::string&, const error& why) { quit(why); }} {
    on<proto::JoinServer>(&parameter_cache::join);
    on<proto::EnterEpoch>(&parameter_cache::enter_epoch);
    on<proto::Offer>(&parameter_cache::offer);
    on<proto::FinishEpoch>(&parameter_cache::finish_epoch);
    on<proto::Refresh>(&parameter_cache::refresh);
    on<proto::Pulled>(&parameter_cache::pulled);
    on<proto::PullAgain>(&parameter_cache::pull_again);
    on<proto::WorkerDoneTaken>(&parameter_cache::worker_done_taken);
    on<proto::ShardRead>(&parameter_cache::shard_read);
}

void parameter_cache::join(proto::JoinServer::Reader body, const frame& f) {
    const auto is_its = [&](const member& m) { return m.stage == f.from(); };
    if (members_.size() == options_.members || std::ranges::any_of(members_, is_its) ||
        body.getShards().size() != options_.ranges.size() ||
        body.getUpdates().size() != options_.shapes.size())
        return reject("this cache has its shards already, or there are too few or too many, or of "
                      "the counts of updates");
    members_.push_back({f.from(), {}, false});
    if (shards_.empty()) {
        worker_ = body.getWorker();
        for (const auto shard : body.getShards())
            shards_.push_back(read_address(shard));
        fetched_ = {std::vector<std::uint64_t>(shards_.size(), body.getWeightVersion())};
        if (options_.codec)
            encoder_ = std::make_shared<gradient_encoder>(
                gradient_encoder::options{.how = options_.codec,
                                          .shapes = options_.shapes,
                                          .seed = options_.seed,
                                          .replica = worker_,
                                          .replicas = options_.workers});
    }
    keep_shard(body, f);
    send(f.from(), frame_builder<proto::ServerJoined>{});
}

// A shard colocated with a stage starts with that stage's weights.
void parameter_cache::keep_shard(proto::JoinServer::Reader body, const frame& f) {
    const actor_address shard = read_address(body.getKeeps());
    const auto own = std::ranges::find(shards_, shard);
    if (!shard || own == shards_.end())
        return;
    const shard_range range = options_.ranges[static_cast<std::size_t>(own - shards_.begin())];
    const std::size_t parameters = options_.ranges.back().first + options_.ranges.back().count;
    const std::size_t kinds = options_.state_per_parameter;
    frame_builder<proto::KeepShard> weights;
    weights.body().setWeightVersion(body.getWeightVersion());
    const std::vector<std::uint64_t> updates = read_counts(body.getUpdates());
    write_counts(weights.body().initUpdates(static_cast<unsigned>(range.count)),
                 std::span{updates}.subspan(range.first, range.count));
    for (const tensor& t : f.tensors().subspan(range.first, range.count))
        weights.attach(t);
    for (const tensor& t :
         f.tensors().subspan(parameters + range.first * kinds, range.count * kinds))
        weights.attach(t);
    send(shard, std::move(weights));
}

parameter_cache::member* parameter_cache::take(const frame& f) {
    const auto who = std::ranges::find(members_, f.from(), &member::stage);
    if (who == members_.end() || who->asked || answers_.asked()) {
        reject("the sender is not a stage of this cache, or has not had its last answer");
        return nullptr;
    }
    who->asked = current();
    return &*who;
}

void parameter_cache::enter_epoch(proto::EnterEpoch::Reader, const frame& f) {
    if (take(f) != nullptr)
        advance();
}

void parameter_cache::offer(proto::Offer::Reader body, const frame& f) {
    member* const who = take(f);
    if (who == nullptr)
        return;
    const auto gradients = f.tensors();
    if (!gradients.empty() && !is_offer(gradients))
        return quit(
            error{errc::protocol, "what a stage offers has not the shapes of its parameters"});
    if (body.getFetch())
        return advance();
    push({body.getEpoch(), pushes_++, body.getMinibatch(), body.getFetchesLate(),
          f.envelope().getWork()},
         {{gradients.begin(), gradients.end()}});
    who->asked.reset(); // no answer is due
}

bool parameter_cache::is_offer(std::span<const tensor> gradients) const {
    bool fits = gradients.size() == options_.shapes.size();
    for (std::size_t i = 0; fits && i < gradients.size(); ++i) {
        const payload_form_ptr form = options_.offered.empty() ? nullptr : options_.offered[i];
        fits = form ? form->check(options_.shapes[i], gradients[i]).ok()
                    : gradients[i].shape() == options_.shapes[i];
    }
    return fits;
}

void parameter_cache::finish_epoch(proto::FinishEpoch::Reader, const frame& f) {
    if (member* const who = take(f)) {
        who->finished = true;
        advance();
    }
}

void parameter_cache::refresh(proto::Refresh::Reader, const frame& f) {
    if (take(f) == nullptr)
        return;
    answers_.ask({type_id_of<proto::ShardRead>(), 0, 1 + options_.state_per_parameter});
    for (const actor_address shard : shards_)
        send(shard, frame_builder<proto::ReadShard>{});
}

// Members that have finished the epoch wait for the rest; the rest make one joint request.
void parameter_cache::advance() {
    const member* first = nullptr; // the first that has not finished
    for (const member& m : members_) {
        if (!m.asked || members_.size() < options_.members)
            return;
        if (m.finished)
            continue;
        if (first != nullptr && m.asked->body_type() != first->asked->body_type())
            return quit(error{errc::protocol, "the stages of a node ask for different things"});
        first = &m;
    }
    if (first == nullptr)
        return finish(members_[0].asked->body<proto::FinishEpoch>().getEpoch());
    if (first->asked->body_type() == type_id_of<proto::Offer>())
        return offer_all();
    answers_.ask({type_id_of<proto::Pulled>(), 0, 1, none});
    fetched_.clear();
    pushes_ = 0;
    pull(first->asked->body<proto::EnterEpoch>().getEpoch(), 0, none);
}

void parameter_cache::offer_all() {
    push_ids ids;
    bool pushes = false;
    std::vector<std::vector<tensor>> offered;
    for (const member& m : members_) {
        if (m.finished)
            continue;
        const auto body = m.asked->body<proto::Offer>();
        pushes = pushes || body.getPush();
        ids.epoch = body.getEpoch();
        ids.minibatch = ids.minibatch == none ? body.getMinibatch()
                                              : std::max(ids.minibatch, body.getMinibatch());
        ids.fetches_late = std::max(ids.fetches_late, body.getFetchesLate());
        ids.name = m.asked->envelope().getWork();
        if (!m.asked->tensors().empty())
            offered.emplace_back(m.asked->tensors().begin(), m.asked->tensors().end());
    }
    answers_.ask({type_id_of<proto::Pulled>(), pushes_ + (pushes ? 1 : 0), 1, ids.name});
    if (pushes) {
        ids.clock = pushes_++;
        push(ids, std::move(offered));
    }
    after_pushes([this, ids] { pull(ids.epoch, pushes_, ids.name); });
}

void parameter_cache::push(const push_ids& ids, std::vector<std::vector<tensor>> offered) {
    if (offered.empty() || (offered.size() == 1 && !encoder_))
        return send_push(ids, offered.empty() ? std::vector<tensor>{} : offered[0]);
    const char* const label =
        offered.size() > 1 ? proto::NODE_SUM_WORK->cStr() : proto::ENCODE_WORK->cStr();
    const auto contents = std::make_shared<std::vector<tensor>>();
    submit(
        label, ids.name,
        [contents, encoder = encoder_, epoch = ids.epoch,
         offered = std::move(offered)](compute_context& context) -> result<void> {
            auto made = push_contents(context, offered, encoder.get(), epoch);
            if (!made)
                return made.failure().in("summing or encoding what is to be pushed");
            *contents = std::move(*made);
            return {};
        },
        [this, ids, contents] { send_push(ids, *contents); });
}

void parameter_cache::submit(const char* label, std::uint64_t name, device_work work,
                             std::function<void()> then) {
    double elements = 0;
    for (const tensor_shape& shape : options_.shapes)
        elements += static_cast<double>(shape.elements());
    work_.submit(*options_.compute, {.label = label,
                                     .number = minibatch_id{name},
                                     .cost = elements,
                                     .work = std::move(work),
                                     .then = [this, then = std::move(then)] {
                                         then();
                                         if (work_.is_idle() && ask_)
                                             std::exchange(ask_, nullptr)();
                                     }});
}

// At most one request waits: stages make the next one after its answer.
void parameter_cache::after_pushes(std::function<void()> ask) {
    if (work_.is_idle())
        return ask();
    ask_ = std::move(ask);
}

void parameter_cache::send_push(const push_ids& ids, std::span<const tensor> contents) {
    TROUPE_CHECK(ids.fetches_late < fetched_.size(), "a stage computes with what it fetched");
    const auto& used = fetched_[fetched_.size() - 1 - ids.fetches_late];
    for (std::size_t k = 0; k < shards_.size(); ++k) {
        frame_builder<proto::Push> push;
        push.body().setWorker(worker_);
        push.body().setEpoch(ids.epoch);
        push.body().setClock(ids.clock);
        push.body().setMinibatch(ids.minibatch);
        push.body().setWeightVersion(used[k]);
        push.envelope().setWork(ids.name);
        push.envelope().setStateVersion(used[k]);
        if (!contents.empty())
            for (const tensor& t :
                 contents.subspan(options_.ranges[k].first, options_.ranges[k].count))
                push.attach(t);
        send(shards_[k], std::move(push));
    }
}

void parameter_cache::pull(std::uint32_t epoch, std::uint64_t clock, std::uint64_t minibatch) {
    for (const actor_address shard : shards_)
        send_pull(shard, epoch, clock, minibatch);
}

void parameter_cache::send_pull(actor_address shard, std::uint32_t epoch, std::uint64_t clock,
                                std::uint64_t minibatch) {
    frame_builder<proto::Pull> pull;
    pull.body().setWorker(worker_);
    pull.body().setEpoch(epoch);
    pull.body().setClock(clock);
    pull.envelope().setWork(minibatch);
    send(shard, std::move(pull));
}

void parameter_cache::finish(std::uint32_t epoch) {
    answers_.ask({type_id_of<proto::WorkerDoneTaken>(), epoch});
    after_pushes([this, epoch] {
        for (const actor_address shard : shards_) {
            frame_builder<proto::WorkerDone> done;
            done.body().setWorker(worker_);
            done.body().setEpoch(epoch);
            send(shard, std::move(done));
        }
    });
}

// ---- answers --------------------------------------------------------------------------------------------------------

std::optional<std::size_t> parameter_cache::shard_of(const frame& f) {
    const auto sender = std::ranges::find(shards_, f.from());
    if (sender != shards_.end())
        return static_cast<std::size_t>(sender - shards_.begin());
    reject("the sender is no shard of this cache");
    return std::nullopt;
}

bool parameter_cache::collect(std::uint64_t echo, const frame& f) {
    const auto shard = shard_of(f);
    if (!shard)
        return false;
    if (auto taken = answers_.take(*shard, echo, current()); !taken) {
        quit(taken.failure().in("an answer of shard " + std::to_string(*shard)));
        return false;
    }
    return answers_.are_complete();
}

void parameter_cache::send_fetched(const fetched_weights& what) {
    for (member& m : members_) {
        if (m.finished || !m.asked)
            continue;
        m.asked.reset();
        frame_builder<proto::Fetched> fetched;
        fetched.body().setStaleness(what.staleness);
        fetched.body().setDropped(what.dropped);
        fetched.body().setWeightVersion(fetched_.back()[0]);
        write_counts(fetched.body().initUpdates(static_cast<unsigned>(what.updates.size())),
                     what.updates);
        fetched.envelope().setWork(answers_.asked()->minibatch);
        fetched.envelope().setStateVersion(fetched_.back()[0]);
        for (const tensor& t : what.parameters)
            fetched.attach(t);
        for (const tensor& t : answers_.state())
            fetched.attach(t);
        send(m.stage, std::move(fetched));
    }
    answers_.end();
}

void parameter_cache::pulled(proto::Pulled::Reader body, const frame& f) {
    if (!collect(body.getClock(), f))
        return;
    auto& versions = fetched_.emplace_back();
    for (const frame_ptr& answer : answers_.by_shard())
        versions.push_back(answer->body<proto::Pulled>().getWeightVersion());
    // No push refers to an older fetch.
    if (fetched_.size() > limits::stages_max + options_.fetches_kept)
        fetched_.pop_front();
    if (!options_.pulls)
        return send_pulled(answers_.parameters());
    const auto sent = std::make_shared<std::vector<tensor>>(answers_.parameters());
    submit(
        proto::DECODE_WORK->cStr(), answers_.asked()->minibatch,
        [sent, form = options_.pulls,
         shapes = options_.shapes](compute_context& context) -> result<void> {
            const auto done = decode_numbers(context, *form, shapes, *sent);
            return done ? done : done.failure().in("what shards answer to a pull");
        },
        [this, sent] { send_pulled(*sent); });
}

void parameter_cache::send_pulled(std::span<const tensor> parameters) {
    const auto first = answers_.by_shard()[0]->body<proto::Pulled>();
    send_fetched({.parameters = parameters,
                  .staleness = first.getStaleness(),
                  .dropped = first.getDropped()});
}

// Drops the shard's answer while others are awaited, so that all weights of a fetch come from the latest answers.
void parameter_cache::pull_again(proto::PullAgain::Reader body, const frame& f) {
    const auto shard = shard_of(f);
    if (shard && answers_.drop(*shard, body.getClock()))
        send_pull(shards_[*shard], body.getEpoch(), body.getClock(), answers_.asked()->minibatch);
}

void parameter_cache::shard_read(proto::ShardRead::Reader, const frame& f) {
    if (!collect(0, f))
        return;
    auto& versions = fetched_.emplace_back();
    std::vector<std::uint64_t> updates; // one per parameter
    for (const frame_ptr& answer : answers_.by_shard()) {
        const auto read = answer->body<proto::ShardRead>();
        versions.push_back(read.getWeightVersion());
        std::ranges::copy(read_counts(read.getUpdates()), std::back_inserter(updates));
    }
    send_fetched({.parameters = answers_.parameters(), .updates = updates});
}

void parameter_cache::worker_done_taken(proto::WorkerDoneTaken::Reader body, const frame& f) {
    if (!collect(body.getEpoch(), f))
        return;
    for (member& m : members_) {
        m.asked.reset();
        m.finished = false;
        frame_builder<proto::EpochFinished> finished;
        finished.body().setEpoch(body.getEpoch());
        finished.body().setWeightVersion(
            answers_.by_shard()[0]->body<proto::WorkerDoneTaken>().getWeightVersion());
        send(m.stage, std::move(finished));
    }
    answers_.end();
}

void parameter_cache::on_rejected(proto::Rejected::Reader body, const frame& f) {
    if (!body.getGone() && std::ranges::count(shards_, f.from()) > 0)
        quit(read_failure(body).in("a shard refused a message"));
}

} // namespace troupe
