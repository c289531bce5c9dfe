#include "actors/params/parameter_shard.hpp"

#include <algorithm>
#include <string>

#include "actors/messages.hpp"
#include "kernels/ops/ops.hpp"

namespace troupe {

namespace {

// The sums of what several workers pushed, in their order.
result<std::vector<tensor>> sum_of(compute_context& context,
                                   const std::vector<std::vector<tensor>>& pushed) {
    std::vector<tensor> sums = pushed.front();
    for (std::size_t w = 1; w < pushed.size(); ++w)
        for (std::size_t i = 0; i < sums.size(); ++i) {
            auto sum = tensor::allocate(context.memory, data_type::float32, sums[i].shape());
            if (!sum)
                return sum.failure();
            if (auto added = context.ops.run(add_scaled{sums[i], 1, pushed[w][i], *sum}); !added)
                return added.failure();
            sums[i] = std::move(sum).value();
        }
    return sums;
}

std::vector<tensor> tensors_of(const frame& f) {
    return {f.tensors().begin(), f.tensors().end()};
}

} // namespace

parameter_shard::parameter_shard(actor_context& context, parameter_shard_options options)
    : actor{context}, options_{std::move(options)}, clocks_{options_.workers},
      workers_(options_.workers) {
    on<proto::KeepShard>(&parameter_shard::keep);
    on<proto::Push>(&parameter_shard::push);
    on<proto::Pull>(&parameter_shard::pull);
    on<proto::WorkerDone>(&parameter_shard::worker_done);
    on<proto::ReadShard>(&parameter_shard::read);
    on<proto::WorkDone>(&parameter_shard::work_done);
    for (std::size_t w = 0; w < clocks_.workers(); ++w)
        clocks_.finish(w); // no epoch has begun
}

void parameter_shard::keep(proto::KeepShard::Reader body, const frame& f) {
    if (latest_ || !applying_.empty())
        return reject("this shard has its weights already");
    const std::size_t parameters = options_.shapes.size();
    const auto tensors = f.tensors();
    if (tensors.size() != parameters * (1 + options_.optimizer->state().size()) ||
        !std::ranges::equal(tensors.first(parameters), options_.shapes, {}, &tensor::shape))
        return fail({errc::protocol, "the weights to keep do not fit the shard"});
    auto first = std::make_shared<weights>();
    first->version = version_ = weight_version{body.getWeightVersion()};
    first->parameters.assign(tensors.begin(),
                             tensors.begin() + static_cast<std::ptrdiff_t>(parameters));
    first->state.assign(tensors.begin() + static_cast<std::ptrdiff_t>(parameters), tensors.end());
    latest_ = std::move(first);
}

parameter_shard::worker_state* parameter_shard::take(std::uint32_t worker, std::uint32_t epoch,
                                                     const frame& f) {
    const bool begins = clocks_.all_done() && (!workers_[0].cache || epoch > epoch_);
    if (worker >= workers_.size() || (!begins && epoch != epoch_) ||
        (workers_[worker].cache && workers_[worker].cache != f.from())) {
        reject("the sender is no worker of this shard, or of another epoch");
        return nullptr;
    }
    if (begins) {
        epoch_ = epoch;
        clocks_ = worker_clocks{workers_.size()};
        for (worker_state& w : workers_)
            w.pushes = w.staleness = 0;
    }
    workers_[worker].cache = f.from();
    return &workers_[worker];
}

result<void> parameter_shard::check_push(proto::Push::Reader body, const frame& f) const {
    const worker_state& worker = workers_[body.getWorker()];
    if (clocks_.is_done(body.getWorker()) || worker.pending || body.getClock() != worker.pushes)
        return error{errc::protocol, "comes out of turn"};
    if (body.getWeightVersion() > version_.value())
        return error{errc::protocol, "is of a version that this shard has not made"};
    if (f.tensors().empty() && options_.rule.is_synchronous())
        return {};
    const bool floats = std::ranges::all_of(
        f.tensors(), [](const tensor& t) { return t.type() == data_type::float32; });
    if (!floats || !std::ranges::equal(f.tensors(), options_.shapes, {}, &tensor::shape))
        return error{errc::protocol, "has not the gradients of the shard's parameters"};
    return {};
}

void parameter_shard::push(proto::Push::Reader body, const frame& f) {
    worker_state* const worker = take(body.getWorker(), body.getEpoch(), f);
    if (worker == nullptr || body.getClock() < worker->pushes)
        return; // sent again, and received before
    if (auto fits = check_push(body, f); !fits)
        return fail(fits.failure().in("push " + std::to_string(body.getClock()) + " of worker " +
                                      std::to_string(body.getWorker())));
    ++worker->pushes;
    worker->pending = current();
    arrived_.push_back(body.getWorker());
    advance();
}

void parameter_shard::pull(proto::Pull::Reader body, const frame& f) {
    worker_state* const worker = take(body.getWorker(), body.getEpoch(), f);
    if (worker == nullptr)
        return;
    if (clocks_.is_done(body.getWorker()) || worker->pull || body.getClock() != worker->pushes)
        return fail({errc::protocol, "a pull of worker " + std::to_string(body.getWorker()) +
                                         " comes out of turn"});
    worker->pull = current();
    answer_pulls();
}

void parameter_shard::worker_done(proto::WorkerDone::Reader body, const frame& f) {
    worker_state* const worker = take(body.getWorker(), body.getEpoch(), f);
    if (worker == nullptr)
        return;
    if (worker->pending || worker->pull)
        return fail({errc::protocol, "a worker ends its epoch before its last push is answered"});
    clocks_.finish(body.getWorker());
    frame_builder<proto::WorkerDoneTaken> taken;
    taken.body().setEpoch(body.getEpoch());
    send(f.from(), std::move(taken));
    advance();
    answer_pulls();
}

void parameter_shard::read(proto::ReadShard::Reader, const frame& f) {
    const auto is_worker = [&](const worker_state& w) { return w.cache == f.from(); };
    if (!latest_ || !clocks_.all_done() ||
        (workers_[0].cache && std::ranges::none_of(workers_, is_worker)))
        return reject("an epoch is running, or the sender is no worker of this shard");
    frame_builder<proto::ShardRead> answer;
    answer.body().setWeightVersion(version_.value());
    for (const tensor& t : latest_->tensors())
        answer.attach(t);
    send(f.from(), std::move(answer));
}

// ---- updates --------------------------------------------------------------------------------------------------------

bool parameter_shard::round_is_complete() const {
    for (std::size_t w = 0; w < workers_.size(); ++w)
        if (!clocks_.is_done(w) && !workers_[w].pending)
            return false;
    return true;
}

void parameter_shard::advance() {
    if (!latest_ || arrived_.empty())
        return;
    if (!options_.rule.is_synchronous()) {
        const std::uint32_t next = arrived_.front();
        arrived_.pop_front();
        return apply({next});
    }
    if (!round_is_complete())
        return;
    std::vector<std::uint32_t> all{arrived_.begin(), arrived_.end()};
    arrived_.clear();
    std::ranges::sort(all);
    apply(std::move(all));
}

void parameter_shard::apply(std::vector<std::uint32_t> workers) {
    std::vector<std::vector<tensor>> pushed;
    run_position at;
    std::uint64_t weight_bytes = 0;
    for (const std::uint32_t w : workers) {
        const frame& f = *workers_[w].pending;
        const auto body = f.body<proto::Push>();
        workers_[w].staleness = version_.value() - body.getWeightVersion();
        if (!f.tensors().empty())
            pushed.push_back(tensors_of(f));
        at = {body.getEpoch(), body.getMinibatch()};
    }
    if (pushed.empty())
        return fail({errc::protocol, "no worker pushes gradients in a round"});
    for (const tensor_shape& shape : options_.shapes)
        weight_bytes += shape.elements() * sizeof(float);
    applying_ = std::move(workers);
    minibatch_ = minibatch_id{at.minibatch};
    updated_ = std::make_shared<weights_ptr>();
    device_task task;
    task.cost_hint = static_cast<double>(weight_bytes);
    task.work = [rule = options_.optimizer, rate = options_.rates(at), updated = updated_,
                 current = std::make_shared<weights_ptr>(std::move(latest_)),
                 pushed = std::move(pushed)](compute_context& context) -> result<void> {
        auto sum = sum_of(context, pushed);
        if (!sum)
            return sum.failure();
        auto next = rule->step(context, std::move(*current), *sum, rate);
        if (!next)
            return next.failure();
        *updated = std::move(next).value();
        return {};
    };
    task.done = completion_to(self_handle(), ++ticket_);
    latest_.reset();
    options_.compute->submit(std::move(task));
}

void parameter_shard::work_done(proto::WorkDone::Reader body, const frame& f) {
    TROUPE_CHECK(body.getTicket() == ticket_, "one update at a time");
    const work_span span = span_of(body, f);
    trace_compute(runtime().trace().label(proto::APPLY_WORK->cStr()), span.began, span.ended,
                  minibatch_, version_, options_.compute->memory().statistics().bytes_reserved);
    if (body.hasFailure())
        return fail(read_failure(body.getFailure()).in("updating a shard"));
    latest_ = std::move(*updated_);
    version_ = latest_->version;
    for (const std::uint32_t w : applying_) {
        workers_[w].pending.reset();
        clocks_.tick(w);
    }
    applying_.clear();
    answer_pulls();
    advance();
}

void parameter_shard::answer_pulls() {
    for (std::uint32_t w = 0; w < workers_.size(); ++w) {
        worker_state& worker = workers_[w];
        if (!latest_ || !worker.pull || worker.pending)
            continue;
        const auto pull = worker.pull->body<proto::Pull>();
        if (waits_for(options_.rule, clocks_, pull.getClock()))
            continue;
        frame_builder<proto::Pulled> answer;
        answer.body().setClock(pull.getClock());
        answer.body().setWeightVersion(version_.value());
        answer.body().setStaleness(worker.staleness);
        answer.envelope().setMinibatch(worker.pull->envelope().getMinibatch());
        answer.envelope().setWeightVersion(version_.value());
        for (const tensor& t : latest_->parameters)
            answer.attach(t);
        worker.pull.reset();
        send(worker.cache, std::move(answer));
    }
}

// Whoever is gone has told its own stage.
void parameter_shard::on_rejected(proto::Rejected::Reader body, const frame& f) {
    const auto is_its = [&](const worker_state& w) { return w.cache == f.from(); };
    if (!body.getGone() && std::ranges::any_of(workers_, is_its))
        fail(read_failure(body).in("a worker refused a message"));
}

} // namespace troupe
