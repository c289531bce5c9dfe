#include "actors/data/samples/data_source.hpp"

#include <algorithm>
#include <utility>

#include "actors/messages.hpp"
#include "actors/pipeline/stage/stage_messages.hpp"

namespace troupe {

// The minibatches of one pass, made by the background thread one at a time, so that the first one may draw the order of all.
class data_source::pass_batches {
  public:
    pass_batches(const data_source_options& o, bool training, std::uint32_t epoch)
        : sets_{o.data}, data_{training ? o.data->train : o.data->test},
          batch_{training ? o.shape.batch.at(epoch) : o.shape.batch.first}, seed_{o.seed},
          epoch_{epoch}, shuffle_{training && o.shuffle} {}

    result<batch> make(std::size_t index, memory_pool& memory) {
        if (!plan_)
            plan_.emplace(shuffle_ ? epoch_order(seed_, epoch_, data_.size())
                                   : file_order(data_.size()),
                          batch_);
        return fill_batch(data_, plan_->indices(index), epoch_, memory);
    }

  private:
    std::shared_ptr<const data_sets> sets_; // owns data_
    const dataset& data_;
    std::size_t batch_;
    std::uint64_t seed_;
    std::uint32_t epoch_;
    bool shuffle_;
    std::optional<batch_plan> plan_;
};

data_source::data_source(actor_context& context, data_source_options options)
    : actor{context}, options_{std::move(options)}, work_{*this, [this](const std::string&,
                                                                        const error& why) {
                                                              fail(why.in("preparing a minibatch"));
                                                          }} {
    on<proto::RunEpoch>(&data_source::run_epoch);
    on<proto::RunEvaluation>(&data_source::run_evaluation);
    on<proto::StopData>(&data_source::stop_data);
    on<proto::ReplicaLost>(&data_source::replica_lost);
    on<proto::ReplicaJoined>(&data_source::replica_joined);
    on<proto::Gradient>(&data_source::gradient);
    on<proto::EvaluationTaken>(&data_source::evaluation_taken);
}

bool data_source::comes_from(actor_address expected, const frame& f) {
    if (f.from() == expected)
        return true;
    reject("the sender is not the actor that this comes from in this run");
    return false;
}

std::optional<std::size_t> data_source::find_replica(actor_address first_stage) const {
    const auto found = std::ranges::find(options_.first_stages, first_stage);
    if (found == options_.first_stages.end())
        return std::nullopt;
    return static_cast<std::size_t>(found - options_.first_stages.begin());
}

// The replica that gets the next minibatch: the next in turn, or with dynamic assignment the one with the fewest unanswered
// microbatches.
std::size_t data_source::next_replica() const {
    if (!options_.sync.assigns_dynamically())
        return feeding_->sent % options_.first_stages.size();
    std::size_t least = 0; // the first replica is never lost
    for (std::size_t r = 1; r < options_.first_stages.size(); ++r)
        if (!lost_.contains(r) && feeding_->unanswered[r] < feeding_->unanswered[least])
            least = r;
    return least;
}

void data_source::run_epoch(proto::RunEpoch::Reader body, const frame& f) {
    if (!comes_from(options_.trainer, f))
        return;
    if (feeding_)
        return fail({errc::protocol, "an epoch is asked for while another pass is running"});
    const run_shape& run = options_.shape;
    const std::uint32_t batch = run.batch.at(body.getEpoch());
    feeding pass;
    pass.training = true;
    pass.epoch = body.getEpoch();
    pass.batches = std::make_shared<pass_batches>(options_, true, pass.epoch);
    pass.skipped = body.getSkipMinibatches();
    if (pass.skipped >= run.minibatches_of(pass.epoch))
        return fail({errc::protocol, "an epoch is asked for of which nothing is left"});
    pass.first_minibatch = body.getFirstMinibatch();
    pass.shape = epoch_shape::of(run.samples - pass.skipped * batch, batch, options_.microbatches);
    pass.dealt.resize(options_.first_stages.size());
    pass.unanswered.resize(options_.first_stages.size());
    feeding_ = std::move(pass);

    for (std::size_t r = 0; r < options_.first_stages.size(); ++r) {
        if (lost_.contains(r))
            continue;
        frame_builder<proto::EpochBegin> begin;
        begin.body().setEpoch(body.getEpoch());
        begin.body().setFirstMinibatch(body.getFirstMinibatch());
        begin.body().setMinibatches(feeding_->shape.minibatches);
        begin.body().setSamplesPerMinibatch(feeding_->shape.samples_per_minibatch);
        begin.body().setSamplesInLast(feeding_->shape.samples_in_last);
        begin.body().setMicrobatches(feeding_->shape.microbatches_max);
        send(options_.first_stages[r], std::move(begin));
    }
    prepare();
}

void data_source::run_evaluation(proto::RunEvaluation::Reader body, const frame& f) {
    if (!comes_from(options_.trainer, f))
        return;
    if (feeding_)
        return fail({errc::protocol, "an evaluation is asked for while another pass is running"});
    feeding pass;
    pass.epoch = body.getEpoch();
    pass.batches = std::make_shared<pass_batches>(options_, false, pass.epoch);
    pass.shape = epoch_shape::of(options_.data->test.size(), options_.shape.batch.first, 1);
    feeding_ = std::move(pass);
    prepare();
}

void data_source::stop_data(proto::StopData::Reader, const frame& f) {
    if (!comes_from(options_.trainer, f) || !feeding_ || !feeding_->training)
        return; // the pass is over already
    feeding_->shape.minibatches = feeding_->sent;
    feed();
}

// The microbatches that the replica has not answered are lost.
void data_source::replica_lost(proto::ReplicaLost::Reader body, const frame& f) {
    if (!comes_from(options_.trainer, f))
        return;
    TROUPE_CHECK(body.getReplica() > 0 && body.getReplica() < options_.first_stages.size(),
                 "the first replica is never lost");
    lost_.insert(body.getReplica());
    frame_builder<proto::MinibatchesLost> lost;
    lost.body().setReplica(body.getReplica());
    if (feeding_ && feeding_->training) {
        const std::uint64_t microbatches =
            std::exchange(feeding_->unanswered[body.getReplica()], 0);
        feeding_->answered += microbatches;
        lost.body().setMinibatches((microbatches + feeding_->shape.microbatches_max - 1) /
                                   feeding_->shape.microbatches_max);
    }
    send(f.from(), std::move(lost));
    if (feeding_)
        feed();
}

void data_source::replica_joined(proto::ReplicaJoined::Reader body, const frame& f) {
    if (!comes_from(options_.trainer, f))
        return;
    TROUPE_CHECK(!feeding_ && body.getReplica() < options_.first_stages.size(),
                 "a replica joins between two epochs");
    options_.first_stages[body.getReplica()] = read_address(body.getFirstStage());
    options_.last_stages[body.getReplica()] = read_address(body.getLastStage());
    lost_.erase(body.getReplica());
}

// Keeps the background thread ahead of what is sent by `ahead` minibatches per replica.
void data_source::prepare() {
    feeding& pass = *feeding_;
    while (pass.prepared < pass.shape.minibatches &&
           pass.prepared < pass.sent + (options_.ahead + 1) * options_.first_stages.size()) {
        auto slot = std::make_shared<batch>();
        const std::uint64_t index = pass.skipped + pass.prepared++;
        work_.submit(*options_.io, {.work = [batches = pass.batches, slot,
                                             index](compute_context& context) -> result<void> {
                                        auto filled = batches->make(index, context.memory);
                                        if (!filled)
                                            return filled.failure();
                                        *slot = std::move(filled).value();
                                        return {};
                                    },
                                    .then =
                                        [this, slot] {
                                            ready_.push_back(slot);
                                            feed();
                                        }});
    }
}

// True if the bound on unanswered microbatches allows another minibatch. Per replica the bound is the number that its first
// stage holds between forward and backward, plus `ahead` minibatches; it is applied to the sum over replicas. With dynamic
// assignment it is one minibatch more than that number, for each replica by itself, so that a slow one does not accumulate
// minibatches.
bool data_source::may_send() const {
    const feeding& pass = *feeding_;
    if (!pass.training)
        return pass.microbatches_sent - pass.answered < options_.stages + options_.ahead;
    const std::uint64_t in_flight = options_.in_flight;
    if (options_.sync.assigns_dynamically())
        return pass.unanswered[next_replica()] < in_flight + pass.shape.microbatches_max;
    return pass.microbatches_sent - pass.answered <
           (in_flight + std::uint64_t{options_.ahead} * pass.shape.microbatches_max) *
               options_.first_stages.size();
}

void data_source::feed() {
    feeding& pass = *feeding_;
    while (!ready_.empty() && pass.sent < pass.shape.minibatches &&
           ready_.size() >= minibatches_of_update() && may_send()) {
        if (pass.training) {
            send_update();
            continue;
        }
        send_evaluation_batch(*ready_.front());
        ready_.pop_front();
        ++pass.sent;
    }
    if (pass.sent == pass.shape.minibatches)
        finish();
    else
        prepare();
}

// Minibatches of the next update. They are sent together, as the gradient is a mean over all of them.
std::size_t data_source::minibatches_of_update() const {
    if (!feeding_->training)
        return 1;
    const auto replicas = static_cast<std::uint32_t>(options_.first_stages.size());
    return std::min<std::uint64_t>(options_.sync.minibatches_per_update(replicas),
                                   feeding_->shape.minibatches - feeding_->sent);
}

void data_source::send_update() {
    const std::size_t minibatches = minibatches_of_update();
    const auto labels_of = [&](const batch& b) {
        return count_labels(b.labels, options_.ignored_label);
    };
    std::uint64_t of_all = 0;
    for (std::size_t m = 0; m < minibatches; ++m)
        of_all += labels_of(*ready_[m]);
    for (std::size_t m = 0; m < minibatches; ++m) {
        const batch& next = *ready_.front();
        send_minibatch(next, options_.sync.shares_mean() ? of_all : labels_of(next));
        ready_.pop_front();
        ++feeding_->sent;
    }
}

void data_source::send_minibatch(const batch& b, std::uint64_t counted) {
    feeding& pass = *feeding_;
    const std::uint64_t minibatch = pass.first_minibatch + pass.sent;
    const std::size_t number = next_replica();
    const actor_address first = options_.first_stages[number];
    const std::size_t last_stages = options_.last_stages.size();
    const actor_address last =
        options_.last_stages[last_stages == options_.first_stages.size() ? number
                                                                         : pass.sent % last_stages];
    ++pass.dealt[number];
    for (std::uint32_t m = 0; m < pass.shape.microbatches_of(pass.sent); ++m) {
        const sample_range rows = pass.shape.rows_of(pass.sent, m);
        auto labels = microbatch_message<proto::Labels>(minibatch, m);
        labels.envelope().setTraceId(minibatch + 1);
        labels.body().setCounted(counted);
        labels.attach(b.labels.rows(rows.first, rows.count));
        send(last, std::move(labels));

        auto activation = microbatch_message<proto::Activation>(minibatch, m);
        activation.envelope().setTraceId(minibatch + 1);
        activation.attach(b.input.rows(rows.first, rows.count));
        send(first, std::move(activation));
        ++pass.microbatches_sent;
        ++pass.unanswered[number];
    }
}

void data_source::send_evaluation_batch(const batch& b) {
    feeding& pass = *feeding_;
    frame_builder<proto::EvaluationLabels> labels;
    labels.body().setBatch(pass.sent);
    labels.attach(b.labels);
    send(options_.last_stages[0], std::move(labels));
    frame_builder<proto::EvaluationBatch> samples;
    samples.body().setBatch(pass.sent);
    samples.attach(b.input);
    send(options_.first_stages[0], std::move(samples));
    ++pass.microbatches_sent;
}

void data_source::gradient(proto::Gradient::Reader body, const frame& f) {
    const auto replica = find_replica(f.from());
    if (!replica)
        return reject("the sender is not the first stage of a replica of this run");
    // Answers to the last microbatches arrive after the pass is over for this actor.
    if (!feeding_ || !feeding_->training || body.getMinibatch() < feeding_->first_minibatch ||
        lost_.contains(*replica))
        return;
    if (feeding_->unanswered[*replica] == 0)
        return fail({errc::protocol, "a gradient comes back for a minibatch that was not sent"});
    --feeding_->unanswered[*replica];
    ++feeding_->answered;
    feed();
}

void data_source::evaluation_taken(proto::EvaluationTaken::Reader body, const frame& f) {
    if (!comes_from(options_.last_stages[0], f))
        return;
    if (!feeding_ || feeding_->training)
        return;
    if (body.getBatch() != feeding_->answered || feeding_->answered == feeding_->microbatches_sent)
        return fail({errc::protocol, "an evaluation batch is answered out of turn"});
    ++feeding_->answered;
    feed();
}

void data_source::finish() {
    if (feeding_->training) {
        for (std::size_t r = 0; r < options_.first_stages.size(); ++r) {
            if (lost_.contains(r))
                continue;
            frame_builder<proto::EndOfData> end;
            end.body().setEpoch(feeding_->epoch);
            end.body().setMinibatches(feeding_->sent);
            end.body().setOwn(feeding_->dealt[r]);
            send(options_.first_stages[r], std::move(end));
        }
    } else {
        frame_builder<proto::EndOfEvaluation> end;
        end.body().setEpoch(feeding_->epoch);
        end.body().setBatches(feeding_->sent);
        send(options_.first_stages[0], std::move(end));
    }
    feeding_.reset();
    ready_.clear();
    work_.forget();
}

void data_source::on_rejected(proto::Rejected::Reader body, const frame& f) {
    // Any actor may write to this one; only stages can have rejected its messages. The end of a stage is reported to the
    // trainer separately, with the cause.
    const bool is_stage = std::ranges::count(options_.first_stages, f.from()) > 0 ||
                          std::ranges::count(options_.last_stages, f.from()) > 0;
    if (feeding_ && !body.getGone() && is_stage)
        fail(read_failure(body).in("a stage refused a message"));
}

void data_source::fail(const error& why) {
    frame_builder<proto::StageFailed> failed;
    write_failure(failed.body().initFailure(), why.in("data source"));
    send(options_.trainer, std::move(failed));
    quit(why);
}

} // namespace troupe
