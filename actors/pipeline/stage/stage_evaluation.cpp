#include "actors/pipeline/stage/stage_evaluation.hpp"

#include <cmath>
#include <string>

#include "actors/pipeline/stage/stage_messages.hpp"
#include "schemas/base/limits.hpp"
#include "schemas/training.capnp.h"

namespace troupe {

void stage_evaluation::take(const frame_ptr& f) {
    const bool is_labels = f->body_type() == type_id_of<proto::EvaluationLabels>();
    const stage_neighbours& neighbours = stage_.state().neighbours;
    if (!stage_.comes_from(is_labels ? neighbours.source : neighbours.first_previous(), *f))
        return;
    if (auto accepted = accept(f); !accepted)
        return stage_.fail(accepted.failure());
    stage_.go_on();
}

result<void> stage_evaluation::accept(const frame_ptr& f) {
    const stage_options& options = stage_.options();
    if (f->body_type() == type_id_of<proto::EvaluationLabels>()) {
        if (!options.at.is_last() || labels_.size() >= limits::stage_labels_max)
            return error{errc::protocol, "labels for an evaluation arrive where none are due"};
        labels_.push_back(f);
        return {};
    }
    const bool ends = f->body_type() == type_id_of<proto::EndOfEvaluation>();
    if (!stage_.state().weights.latest())
        return error{errc::protocol, std::string{"an evaluation "} + (ends ? "ends" : "begins") +
                                         " before this stage has weights"};
    if (!ends) {
        const std::uint64_t batch = f->body<proto::EvaluationBatch>().getBatch();
        if (batch != next_batch_++ ||
            !options.program->check_inputs(f->tensors(), samples_of(f->tensors())))
            return error{errc::protocol,
                         "evaluation batch " + std::to_string(batch) + " does not fit"};
    }
    waiting_.push_back(f);
    return {};
}

void stage_evaluation::start() {
    const stage_options& options = stage_.options();
    const frame_ptr front = waiting_.front();
    if (front->body_type() == type_id_of<proto::EndOfEvaluation>())
        return report();
    if (options.at.is_last() && labels_.empty())
        return;
    const std::uint64_t batch = front->body<proto::EvaluationBatch>().getBatch();
    const std::size_t samples = front->tensors()[0].shape()[0];
    tensor labels;
    actor_address asked_by;
    if (options.at.is_last()) {
        const frame_ptr with = std::move(labels_.front());
        labels_.pop_front();
        auto fits = options.program->check_labels(with->tensors(), samples);
        if (!fits || with->body<proto::EvaluationLabels>().getBatch() != batch)
            return stage_.fail({errc::protocol, "labels of evaluation batch " +
                                                    std::to_string(batch) + " do not fit"});
        labels = with->tensors()[0];
        asked_by = with->from();
    }
    waiting_.pop_front();
    struct outcome {
        std::vector<tensor> outputs;
        loss_result loss;
    };
    auto made = std::make_shared<outcome>();
    stage_.submit(
        {.label = "evaluate",
         .version = stage_.state().weights.latest()->version,
         .flops = options.program->forward_flops_per_sample() * static_cast<double>(samples),
         .work = [made, program = options.program,
                  used = for_passes(*stage_.state().weights.settled()),
                  arrived = tensors_of(*front), labels = std::move(labels),
                  to_next = stage_.state().neighbours.routes.to_next](
                     compute_context& context, copied_weights& copies) -> result<void> {
             auto here = copies.on_device(context, used);
             if (!here)
                 return here.failure();
             std::vector<tensor> inputs = arrived;
             if (auto in = copy_to_device(context, inputs); !in)
                 return in;
             auto forward = program->forward(context, **here, batch_part{}, inputs);
             if (!forward)
                 return forward.failure();
             made->outputs = std::move(forward.value().outputs);
             if (!labels) // no number form: an evaluation is of the model alone
                 return export_tensors(context, made->outputs, to_next, nullptr);
             auto loss = loss_of(context, *program, made->outputs[0], labels, 0);
             if (!loss)
                 return loss.failure();
             made->loss = std::move(loss).value();
             if (!std::isfinite(made->loss.loss_sum))
                 return not_finite(context, *program, **here, batch_part{}, inputs,
                                   "the test loss");
             return {};
         },
         .then =
             [this, made, batch, asked_by] {
                 if (stage_.options().at.is_last()) {
                     sums_.loss_sum += made->loss.loss_sum;
                     sums_.counted += made->loss.counted;
                     sums_.correct += made->loss.correct;
                     return finish(batch, asked_by, made->outputs[0]);
                 }
                 frame_builder<proto::EvaluationBatch> onward;
                 onward.body().setBatch(batch);
                 for (tensor& output : made->outputs)
                     onward.attach(std::move(output));
                 stage_.send(stage_.state().neighbours.next.front(), std::move(onward));
             }});
}

void stage_evaluation::finish(std::uint64_t batch, actor_address asked_by, const tensor& output) {
    samples_ += output.shape()[0];
    frame_builder<proto::EvaluationTaken> taken;
    taken.body().setBatch(batch);
    stage_.send(asked_by, std::move(taken));
}

void stage_evaluation::report() {
    const frame_ptr end = std::move(waiting_.front());
    const auto body = end->body<proto::EndOfEvaluation>();
    if (body.getBatches() != next_batch_)
        return stage_.fail(
            {errc::protocol, "an evaluation of " + std::to_string(body.getBatches()) +
                                 " batches ends after " + std::to_string(next_batch_)});
    if (stage_.options().at.is_last()) {
        frame_builder<proto::EvaluationDone> done;
        done.body().setEpoch(body.getEpoch());
        done.body().setSamples(samples_);
        done.body().setLossSum(sums_.loss_sum);
        done.body().setCorrect(sums_.correct);
        done.body().setCounted(sums_.counted);
        stage_.send(stage_.options().trainer, std::move(done));
    } else {
        frame_builder<proto::EndOfEvaluation> onward;
        onward.body().setEpoch(body.getEpoch());
        onward.body().setBatches(body.getBatches());
        stage_.send(stage_.state().neighbours.next.front(), std::move(onward));
    }
    waiting_.clear();
    labels_.clear();
    next_batch_ = 0;
    samples_ = 0;
    sums_ = {};
}

} // namespace troupe
