#include "actors/params/parameter_shard.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "actors/messages.hpp"
#include "actors/update_counts.hpp"
#include "schemas/collective.capnp.h"

namespace troupe {

parameter_shard::parameter_shard(actor_context& context, parameter_shard_options options)
    : actor{context}, options_{std::move(options)}, ledger_{options_.rules.rule, options_.workers},
      workers_(options_.workers), work_{*this, [this](const std::string& label, const error& why) {
                                            fail(why.in(label == proto::ENCODE_WORK->cStr()
                                                            ? "encoding a shard's weights"
                                                            : "updating a shard"));
                                        }} {
    show_workers(board_);
    on<proto::KeepShard>(&parameter_shard::keep);
    on<proto::Push>(&parameter_shard::push);
    on<proto::Pull>(&parameter_shard::pull);
    on<proto::WorkerDone>(&parameter_shard::worker_done);
    on<proto::ReadShard>(&parameter_shard::read);
    on<proto::WorkerLost>(&parameter_shard::worker_lost);
    on<proto::WorkerJoined>(&parameter_shard::worker_joined);
}

void parameter_shard::keep(proto::KeepShard::Reader body, const frame& f) {
    if (latest_ || !work_.is_idle())
        return reject("this shard has its weights already");
    const std::size_t parameters = options_.shapes.size();
    const auto tensors = f.tensors();
    if (tensors.size() != parameters * (1 + options_.rules.optimizer->state().size()) ||
        !std::ranges::equal(tensors.first(parameters), options_.shapes, {}, &tensor::shape) ||
        body.getUpdates().size() != parameters)
        return fail({errc::protocol, "the weights to keep do not fit the shard"});
    auto first = std::make_shared<weights>();
    first->version = weight_version{body.getWeightVersion()};
    ledger_.start_at(body.getWeightVersion());
    first->parameters.assign(tensors.begin(),
                             tensors.begin() + static_cast<std::ptrdiff_t>(parameters));
    first->state.assign(tensors.begin() + static_cast<std::ptrdiff_t>(parameters), tensors.end());
    first->updates = read_counts(body.getUpdates());
    if (!options_.rules.pulls) {
        latest_ = std::move(first);
        return;
    }
    auto results = std::make_shared<work_results>();
    work_.submit(*options_.compute,
                 {.label = proto::ENCODE_WORK->cStr(),
                  .version = first->version,
                  .work = [rules = options_.rules, results,
                           first = weights_ptr{first}](compute_context& context) -> result<void> {
                      auto made = with_sent(context, rules, first);
                      if (!made)
                          return made.failure();
                      results->made = std::move(made).value();
                      return {};
                  },
                  .then =
                      [this, results] {
                          latest_ = std::move(results->made.next);
                          sent_ = std::move(results->made.sent);
                          advance();
                      }});
}

parameter_shard::worker_state* parameter_shard::take(std::uint32_t worker, std::uint32_t epoch,
                                                     const frame& f) {
    const auto has_come = [](const worker_state& w) { return static_cast<bool>(w.cache); };
    const bool begins =
        !epoch_runs_ && (std::ranges::none_of(workers_, has_come) || epoch > epoch_);
    if (worker >= workers_.size() || ledger_.is_gone(worker) || (!begins && epoch != epoch_) ||
        (workers_[worker].cache && workers_[worker].cache != f.from())) {
        reject("the sender is no worker of this shard, or of another epoch");
        return nullptr;
    }
    if (begins) {
        epoch_ = epoch;
        epoch_runs_ = true;
        ledger_.begin_epoch();
        for (worker_state& w : workers_)
            w.staleness = 0;
    }
    workers_[worker].cache = f.from();
    return &workers_[worker];
}

result<void> parameter_shard::check_push(proto::Push::Reader body, const frame& f) const {
    const std::uint32_t worker = body.getWorker();
    const consistency& rule = options_.rules.rule;
    // Under these rules a worker waits until its last push has been applied or dropped.
    const bool waits = rule.staleness || rule.bound || rule.backups;
    if (!latest_ && !ledger_.is_updating())
        return error{errc::protocol, "comes before this shard has weights"};
    if (ledger_.clocks().is_done(worker) || body.getClock() != ledger_.pushes(worker) ||
        (waits && ledger_.unapplied(worker) > 0))
        return error{errc::protocol, "comes out of turn"};
    if (body.getWeightVersion() > ledger_.version())
        return error{errc::protocol, "is of a version that this shard has not made"};
    if (f.tensors().empty() && rule.is_synchronous())
        return {};
    return check_pushed(options_.rules, options_.shapes, f.tensors());
}

void parameter_shard::push(proto::Push::Reader body, const frame& f) {
    worker_state* const worker = take(body.getWorker(), body.getEpoch(), f);
    if (worker == nullptr || body.getClock() < ledger_.pushes(body.getWorker()))
        return; // rejected, or a duplicate
    if (auto fits = check_push(body, f); !fits)
        return fail(fits.failure().in("push " + std::to_string(body.getClock()) + " of worker " +
                                      std::to_string(body.getWorker())));
    if (ledger_.push({++arrivals_, body.getWorker(), body.getWeightVersion()}))
        pushed_[arrivals_] = current();
    else
        ++worker->dropped;
    advance();
}

void parameter_shard::pull(proto::Pull::Reader body, const frame& f) {
    worker_state* const worker = take(body.getWorker(), body.getEpoch(), f);
    if (worker == nullptr)
        return;
    if (ledger_.clocks().is_done(body.getWorker()) || worker->pull ||
        body.getClock() != ledger_.pushes(body.getWorker()))
        return fail({errc::protocol, "a pull of worker " + std::to_string(body.getWorker()) +
                                         " comes out of turn"});
    worker->pull = current();
    ledger_.asks(body.getWorker());
    answer_pulls();
}

void parameter_shard::worker_done(proto::WorkerDone::Reader body, const frame& f) {
    worker_state* const worker = take(body.getWorker(), body.getEpoch(), f);
    if (worker == nullptr)
        return;
    if (worker->pull)
        return fail({errc::protocol, "a worker ends its epoch before its last pull is answered"});
    ledger_.finish(body.getWorker());
    advance();
}

// Messages of the lost worker that are still in flight are rejected.
void parameter_shard::worker_lost(proto::WorkerLost::Reader body, const frame& f) {
    if (f.from() != options_.trainer || body.getWorker() >= workers_.size())
        return reject("the sender is not the trainer, or there is no such worker");
    ledger_.lose(body.getWorker());
    board_->left(body.getWorker());
    workers_[body.getWorker()].pull.reset();
    workers_[body.getWorker()].pulled.clear();
    std::size_t left = 0;
    for (std::size_t w = 0; w < workers_.size(); ++w)
        left += ledger_.is_gone(w) ? 0 : 1;
    if (left < gradients_needed())
        return fail(
            {errc::lost, "an update takes the gradients of " + std::to_string(gradients_needed()) +
                             " workers at least, and of " + std::to_string(workers_.size()) +
                             " there are " + std::to_string(left) + " left"});
    advance();
}

void parameter_shard::worker_joined(proto::WorkerJoined::Reader body, const frame& f) {
    if (f.from() != options_.trainer || body.getWorker() >= workers_.size() || epoch_runs_)
        return reject("the sender is not the trainer, there is no such worker, or an epoch is "
                      "running");
    ledger_.join(body.getWorker());
    workers_[body.getWorker()] = {};
    frame_builder<proto::WorkerExpected> expected;
    expected.body().setWorker(body.getWorker());
    send(f.from(), std::move(expected));
}

void parameter_shard::read(proto::ReadShard::Reader, const frame& f) {
    const auto is_worker = [&](const worker_state& w) { return w.cache == f.from(); };
    const auto has_come = [](const worker_state& w) { return static_cast<bool>(w.cache); };
    if (!latest_ || epoch_runs_ ||
        (std::ranges::any_of(workers_, has_come) && std::ranges::none_of(workers_, is_worker)))
        return reject("an epoch is running, or the sender is no worker of this shard");
    frame_builder<proto::ShardRead> answer;
    answer.body().setWeightVersion(ledger_.version());
    write_counts(answer.body().initUpdates(static_cast<unsigned>(latest_->updates.size())),
                 latest_->updates);
    for (const tensor& t : latest_->tensors())
        answer.attach(t);
    send(f.from(), std::move(answer));
}

// ---- updates --------------------------------------------------------------------------------------------------------

// Does everything that a message or the end of an update has made possible.
void parameter_shard::advance() {
    for (bool again = true; std::exchange(again, false);) {
        answer_pulls(); // first: a pull must not wait for updates from later pushes
        if (!latest_)
            break;
        if (const auto update = ledger_.next()) {
            apply(*update);
            again = true;
        }
    }
    if (epoch_runs_ && latest_ && ledger_.epoch_is_over())
        end_epoch();
}

pushed_gradients parameter_shard::take_pushed(const arrived_push& push) {
    const auto entry = pushed_.extract(push.number);
    const frame& f = *entry.mapped();
    worker_state& worker = workers_[push.worker];
    worker.staleness = ledger_.version() - push.version;
    pushed_gradients taken{
        {f.tensors().begin(), f.tensors().end()}, worker.staleness, {}, push.worker};
    // Later pushes are based on this version or newer ones.
    while (!worker.pulled.empty() && worker.pulled.front()->version.value() < push.version)
        worker.pulled.pop_front();
    if (!worker.pulled.empty() && worker.pulled.front()->version.value() == push.version)
        taken.pulled = worker.pulled.front();
    return taken;
}

std::size_t parameter_shard::gradients_needed() const noexcept {
    const shard_update_rules& rules = options_.rules;
    return rules.how.needs_of(rules.rule.gradients_per_update(options_.workers));
}

void parameter_shard::apply(const std::vector<arrived_push>& pushes) {
    std::vector<pushed_gradients> pushed;
    std::uint64_t minibatch = 0; // the last one that the update takes
    for (const arrived_push& p : pushes) {
        minibatch = std::max(minibatch, pushed_.at(p.number)->body<proto::Push>().getMinibatch());
        pushed_gradients taken = take_pushed(p);
        if (!taken.gradients.empty())
            pushed.push_back(std::move(taken));
    }
    if (pushed.empty())
        return fail({errc::protocol, "no worker pushes gradients in a round"});
    if (pushed.size() < gradients_needed()) {
        for (const arrived_push& p : pushes)
            ++workers_[p.worker].dropped;
        return ledger_.skipped();
    }
    std::uint64_t weight_bytes = 0;
    for (const tensor_shape& shape : options_.shapes)
        weight_bytes += shape.elements() * sizeof(float);
    auto results = std::make_shared<work_results>();
    results->mean_square = std::move(mean_square_);
    work_.submit(*options_.compute,
                 {.label = proto::APPLY_WORK->cStr(),
                  .number = minibatch_id{minibatch},
                  .version = weight_version{ledger_.version()},
                  .cost = static_cast<double>(weight_bytes),
                  .work = [rules = options_.rules, rate = options_.rates(minibatch), results,
                           current = std::make_shared<weights_ptr>(std::move(latest_)),
                           pushed = std::make_shared<std::vector<pushed_gradients>>(
                               std::move(pushed))](compute_context& context) -> result<void> {
                      auto made = update_shard(context, rules, std::move(*current),
                                               std::move(*pushed), rate, results->mean_square);
                      if (!made)
                          return made.failure();
                      results->made = std::move(made).value();
                      return {};
                  },
                  .then = [this, results, pushes] { applied(*results, pushes); }});
    latest_.reset();
}

void parameter_shard::applied(work_results& results, const std::vector<arrived_push>& pushes) {
    latest_ = std::move(results.made.next);
    sent_ = std::move(results.made.sent);
    mean_square_ = std::move(results.mean_square);
    ledger_.applied(results.made.change);
    for (const arrived_push& p : pushes)
        board_->took(static_cast<std::uint32_t>(p.worker), ledger_.clocks().of(p.worker),
                     ledger_.version() - 1 - p.version);
    TROUPE_CHECK(latest_->version.value() == ledger_.version(), "an update makes the next version");
    advance();
}

void parameter_shard::answer_pulls() {
    if (!latest_)
        return;
    // Answering one worker may release others that wait for it.
    for (bool again = true; std::exchange(again, false);)
        for (std::uint32_t w = 0; w < workers_.size(); ++w)
            if (workers_[w].pull && !waits(w)) {
                ledger_.read(w);
                answer(workers_[w]);
                again = true;
            }
}

bool parameter_shard::waits(std::uint32_t worker) {
    const auto slower = ledger_.waits_for(worker);
    std::optional<std::uint32_t> other; // none if it waits for an update
    if (slower && *slower != worker)
        other = static_cast<std::uint32_t>(*slower);
    board_->waits(worker, other);
    if (other && ledger_.calls_back(*other))
        call_back(*other);
    return slower.has_value();
}

void parameter_shard::call_back(std::uint32_t worker) {
    frame_builder<proto::PullAgain> again;
    again.body().setEpoch(epoch_);
    again.body().setClock(ledger_.pushes(worker));
    send(workers_[worker].cache, std::move(again));
}

void parameter_shard::answer(worker_state& worker) {
    const frame_ptr pull = std::exchange(worker.pull, nullptr);
    frame_builder<proto::Pulled> answer;
    answer.body().setClock(pull->body<proto::Pull>().getClock());
    answer.body().setWeightVersion(ledger_.version());
    answer.body().setStaleness(worker.staleness);
    answer.body().setDropped(std::exchange(worker.dropped, 0));
    answer.envelope().setWork(pull->envelope().getWork());
    answer.envelope().setStateVersion(ledger_.version());
    for (const tensor& t : sent())
        answer.attach(t);
    if (options_.rules.compensation.compensates) {
        auto pulled = std::make_shared<weights>();
        pulled->version = latest_->version;
        pulled->parameters = sent();
        worker.pulled.push_back(std::move(pulled));
    }
    send(worker.cache, std::move(answer));
}

void parameter_shard::end_epoch() {
    epoch_runs_ = false;
    for (std::uint32_t w = 0; w < workers_.size(); ++w) {
        if (ledger_.is_gone(w))
            continue;
        frame_builder<proto::WorkerDoneTaken> taken;
        taken.body().setEpoch(epoch_);
        taken.body().setWeightVersion(ledger_.version());
        send(workers_[w].cache, std::move(taken));
    }
}

// Rejections because a worker is gone are ignored: its own stage has been told.
void parameter_shard::on_rejected(proto::Rejected::Reader body, const frame& f) {
    const auto is_its = [&](const worker_state& w) { return w.cache == f.from(); };
    if (!body.getGone() && std::ranges::any_of(workers_, is_its))
        fail(read_failure(body).in("a worker refused a message"));
}

} // namespace troupe
