#include "actors/params/parameter_cache.hpp"

#include <algorithm>
#include <string>

#include "actors/messages.hpp"
#include "schemas/base/limits.hpp"

namespace troupe {

parameter_cache::parameter_cache(actor_context& context, parameter_cache_options options)
    : actor{context}, options_{std::move(options)} {
    on<proto::JoinServer>(&parameter_cache::join);
    on<proto::EnterEpoch>(&parameter_cache::enter_epoch);
    on<proto::Offer>(&parameter_cache::offer);
    on<proto::FinishEpoch>(&parameter_cache::finish_epoch);
    on<proto::Refresh>(&parameter_cache::refresh);
    on<proto::Pulled>(&parameter_cache::pulled);
    on<proto::WorkerDoneTaken>(&parameter_cache::worker_done_taken);
    on<proto::ShardRead>(&parameter_cache::shard_read);
}

void parameter_cache::join(proto::JoinServer::Reader body, const frame& f) {
    if (stage_ || body.getShards().size() != options_.ranges.size())
        return reject("this cache has its shards already, or there are too few or too many");
    stage_ = f.from();
    worker_ = body.getWorker();
    for (const auto shard : body.getShards())
        shards_.push_back(read_address(shard));
    for (const actor_address shard : shards_)
        watch(shard);
    fetched_ = {std::vector<std::uint64_t>(shards_.size(), body.getWeightVersion())};
    answers_.resize(shards_.size());
    if (const auto own = std::ranges::find(shards_, options_.own_shard);
        options_.own_shard && own != shards_.end()) {
        const shard_range range = options_.ranges[static_cast<std::size_t>(own - shards_.begin())];
        const std::size_t parameters = options_.ranges.back().first + options_.ranges.back().count;
        const std::size_t kinds = options_.state_per_parameter;
        frame_builder<proto::KeepShard> weights;
        weights.body().setWeightVersion(body.getWeightVersion());
        for (const tensor& t : f.tensors().subspan(range.first, range.count))
            weights.attach(t);
        for (const tensor& t :
             f.tensors().subspan(parameters + range.first * kinds, range.count * kinds))
            weights.attach(t);
        send(*own, std::move(weights));
    }
    send(stage_, frame_builder<proto::ServerJoined>{});
}

bool parameter_cache::begin(const question& asked, const frame& f) {
    if (!stage_ || f.from() != stage_ || asked_) {
        reject("the sender is not the stage of this cache, or has not had its last answer");
        return false;
    }
    asked_ = asked;
    missing_ = shards_.size();
    std::ranges::fill(answers_, nullptr);
    return true;
}

void parameter_cache::enter_epoch(proto::EnterEpoch::Reader body, const frame& f) {
    if (!begin({type_id_of<proto::Pulled>(), 0, 1, none}, f))
        return;
    fetched_.clear();
    pull(body.getEpoch(), 0, none);
}

void parameter_cache::offer(proto::Offer::Reader body, const frame& f) {
    if (!begin({type_id_of<proto::Pulled>(), body.getClock() + 1, 1, body.getMinibatch()}, f))
        return;
    TROUPE_CHECK(body.getFetchesLate() < fetched_.size(), "a stage computes with what it fetched");
    const auto& used = fetched_[fetched_.size() - 1 - body.getFetchesLate()];
    for (std::size_t k = 0; k < shards_.size(); ++k) {
        frame_builder<proto::Push> push;
        push.body().setWorker(worker_);
        push.body().setEpoch(body.getEpoch());
        push.body().setClock(body.getClock());
        push.body().setMinibatch(body.getMinibatch());
        push.body().setWeightVersion(used[k]);
        push.envelope().setMinibatch(body.getMinibatch());
        push.envelope().setWeightVersion(used[k]);
        if (!f.tensors().empty())
            for (const tensor& t :
                 f.tensors().subspan(options_.ranges[k].first, options_.ranges[k].count))
                push.attach(t);
        send(shards_[k], std::move(push));
    }
    // What is later than the pipeline is deep cannot be asked for.
    if (fetched_.size() > limits::stages_max)
        fetched_.pop_front();
    pull(body.getEpoch(), body.getClock() + 1, body.getMinibatch());
}

void parameter_cache::pull(std::uint32_t epoch, std::uint64_t clock, std::uint64_t minibatch) {
    for (const actor_address shard : shards_) {
        frame_builder<proto::Pull> pull;
        pull.body().setWorker(worker_);
        pull.body().setEpoch(epoch);
        pull.body().setClock(clock);
        pull.envelope().setMinibatch(minibatch);
        send(shard, std::move(pull));
    }
}

void parameter_cache::finish_epoch(proto::FinishEpoch::Reader body, const frame& f) {
    if (!begin({type_id_of<proto::WorkerDoneTaken>(), body.getEpoch()}, f))
        return;
    for (const actor_address shard : shards_) {
        frame_builder<proto::WorkerDone> done;
        done.body().setWorker(worker_);
        done.body().setEpoch(body.getEpoch());
        send(shard, std::move(done));
    }
}

void parameter_cache::refresh(proto::Refresh::Reader, const frame& f) {
    if (!begin({type_id_of<proto::ShardRead>(), 0, 1 + options_.state_per_parameter}, f))
        return;
    for (const actor_address shard : shards_)
        send(shard, frame_builder<proto::ReadShard>{});
}

// ---- answers --------------------------------------------------------------------------------------------------------

bool parameter_cache::collect(std::uint64_t echo, const frame& f) {
    const auto sender = std::ranges::find(shards_, f.from());
    if (sender == shards_.end()) {
        reject("the sender is no shard of this cache");
        return false;
    }
    const auto shard = static_cast<std::size_t>(sender - shards_.begin());
    if (auto fits = check_answer(shard, echo, f); !fits) {
        quit(fits.failure().in("an answer of shard " + std::to_string(shard)));
        return false;
    }
    answers_[shard] = current();
    return --missing_ == 0;
}

result<void> parameter_cache::check_answer(std::size_t shard, std::uint64_t echo,
                                           const frame& f) const {
    if (!asked_ || answers_[shard] || f.body_type() != asked_->answer || echo != asked_->echo)
        return error{errc::protocol, "is not to what it was asked"};
    const shard_range range = options_.ranges[shard];
    const auto tensors = f.tensors();
    bool fits = tensors.size() == range.count * asked_->kinds;
    for (std::size_t i = 0; fits && i < tensors.size(); ++i) {
        const std::size_t parameter =
            i < range.count ? i : (i - range.count) / options_.state_per_parameter;
        fits = tensors[i].type() == data_type::float32 &&
               tensors[i].shape() == options_.shapes[range.first + parameter];
    }
    return fits ? result<void>{}
                : error{errc::protocol, "has not the tensors of the shard's parameters"};
}

void parameter_cache::send_fetched(std::uint64_t staleness) {
    frame_builder<proto::Fetched> fetched;
    fetched.body().setStaleness(staleness);
    fetched.body().setWeightVersion(fetched_.back()[0]);
    fetched.envelope().setMinibatch(asked_->minibatch);
    for (std::size_t k = 0; k < shards_.size(); ++k)
        for (const tensor& t : answers_[k]->tensors().first(options_.ranges[k].count))
            fetched.attach(t);
    for (std::size_t k = 0; k < shards_.size(); ++k)
        for (const tensor& t : answers_[k]->tensors().subspan(options_.ranges[k].count))
            fetched.attach(t);
    std::ranges::fill(answers_, nullptr);
    asked_.reset();
    send(stage_, std::move(fetched));
}

void parameter_cache::pulled(proto::Pulled::Reader body, const frame& f) {
    if (!collect(body.getClock(), f))
        return;
    auto& versions = fetched_.emplace_back();
    for (const frame_ptr& answer : answers_)
        versions.push_back(answer->body<proto::Pulled>().getWeightVersion());
    send_fetched(answers_[0]->body<proto::Pulled>().getStaleness());
}

void parameter_cache::shard_read(proto::ShardRead::Reader, const frame& f) {
    if (!collect(0, f))
        return;
    auto& versions = fetched_.emplace_back();
    for (const frame_ptr& answer : answers_)
        versions.push_back(answer->body<proto::ShardRead>().getWeightVersion());
    send_fetched(0);
}

void parameter_cache::worker_done_taken(proto::WorkerDoneTaken::Reader body, const frame& f) {
    if (!collect(body.getEpoch(), f))
        return;
    asked_.reset();
    frame_builder<proto::EpochFinished> finished;
    finished.body().setEpoch(body.getEpoch());
    send(stage_, std::move(finished));
}

void parameter_cache::on_down(actor_address, const error& why) {
    quit(why.in("a shard"));
}

void parameter_cache::on_rejected(proto::Rejected::Reader body, const frame& f) {
    if (!body.getGone() && std::ranges::count(shards_, f.from()) > 0)
        quit(read_failure(body).in("a shard refused a message"));
}

} // namespace troupe
