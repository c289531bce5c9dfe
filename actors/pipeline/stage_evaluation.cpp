#include "actors/pipeline/stage_actor.hpp"

#include <cmath>
#include <string>

#include "actors/pipeline/stage_messages.hpp"

namespace troupe {

// ---- evaluation ---------------------------------------------------------------------------------------------------

void stage_actor::admit_evaluation(proto::EvaluationBatch::Reader body, const frame& f) {
    if (!comes_from(previous_[0], f))
        return;
    if (!latest_)
        return fail({errc::protocol, "an evaluation begins before this stage has weights"});
    const std::uint64_t expected = evaluation_.next_batch++;
    if (body.getBatch() != expected ||
        !options_.program->check_inputs(f.tensors(), samples_of(f.tensors())))
        return fail({errc::protocol,
                     "evaluation batch " + std::to_string(body.getBatch()) + " does not fit"});
    evaluation_.waiting.push_back(current());
    advance();
}

void stage_actor::admit_evaluation_labels(proto::EvaluationLabels::Reader, const frame& f) {
    if (!comes_from(source_, f))
        return;
    if (!is_last() || evaluation_.labels.size() >= limits::stage_labels_max)
        return fail({errc::protocol, "labels for an evaluation arrive where none are due"});
    evaluation_.labels.push_back(current());
    advance();
}

void stage_actor::end_evaluation(proto::EndOfEvaluation::Reader, const frame& f) {
    if (!comes_from(previous_[0], f))
        return;
    if (!latest_)
        return fail({errc::protocol, "an evaluation ends before this stage has weights"});
    evaluation_.waiting.push_back(current());
    advance();
}

void stage_actor::start_evaluation() {
    if (!is_fresh_)
        return refresh();
    const frame_ptr front = evaluation_.waiting.front();
    if (front->body_type() == type_id_of<proto::EndOfEvaluation>())
        return report_evaluation();
    if (is_last() && evaluation_.labels.empty())
        return;
    const std::uint64_t batch = front->body<proto::EvaluationBatch>().getBatch();
    const std::size_t samples = front->tensors()[0].shape()[0];
    tensor labels;
    actor_address asked_by;
    if (is_last()) {
        const frame_ptr with = std::move(evaluation_.labels.front());
        evaluation_.labels.pop_front();
        auto fits = options_.program->check_labels(with->tensors(), samples);
        if (!fits || with->body<proto::EvaluationLabels>().getBatch() != batch)
            return fail({errc::protocol,
                         "labels of evaluation batch " + std::to_string(batch) + " do not fit"});
        labels = with->tensors()[0];
        asked_by = with->from();
    }
    evaluation_.waiting.pop_front();
    submit({.label = "evaluate",
            .version = latest_->version,
            .flops = options_.program->forward_flops_per_sample() * static_cast<double>(samples),
            .work = [program = options_.program, used = for_passes(*settled()),
                     arrived = tensors_of(*front), labels = std::move(labels), to_next = to_next_](
                        compute_context& context, work_results& out) -> result<void> {
                auto here = out.here(context, used);
                if (!here)
                    return here.failure();
                std::vector<tensor> inputs = arrived;
                if (auto in = bring_in(context, inputs); !in)
                    return in;
                auto forward = program->forward(context, **here, batch_part{}, inputs);
                if (!forward)
                    return forward.failure();
                out.forward.outputs = std::move(forward.value().outputs);
                if (!labels)
                    return hand_on(context, out.forward.outputs, to_next,
                                   nullptr); // exact: the model is judged
                auto loss = loss_of(context, *program, out.forward.outputs[0], labels, 0);
                if (!loss)
                    return loss.failure();
                out.loss = std::move(loss).value();
                if (!std::isfinite(out.loss.loss_sum))
                    return not_finite(context, *program, **here, batch_part{}, inputs,
                                      "the test loss");
                return {};
            },
            .then = [this, batch, asked_by] { finish_evaluation(batch, asked_by); }});
}

void stage_actor::finish_evaluation(std::uint64_t batch, actor_address asked_by) {
    if (!is_last()) {
        frame_builder<proto::EvaluationBatch> onward;
        onward.body().setBatch(batch);
        for (tensor& output : results_->forward.outputs)
            onward.attach(std::move(output));
        return send(next_[0], std::move(onward));
    }
    evaluation_.samples += results_->forward.outputs[0].shape()[0];
    evaluation_.loss_sum += results_->loss.loss_sum;
    evaluation_.counted += results_->loss.counted;
    evaluation_.correct += results_->loss.correct;
    frame_builder<proto::EvaluationTaken> taken;
    taken.body().setBatch(batch);
    send(asked_by, std::move(taken));
}

void stage_actor::report_evaluation() {
    const frame_ptr end = std::move(evaluation_.waiting.front());
    const auto body = end->body<proto::EndOfEvaluation>();
    if (body.getBatches() != evaluation_.next_batch)
        return fail({errc::protocol, "an evaluation of " + std::to_string(body.getBatches()) +
                                         " batches ends after " +
                                         std::to_string(evaluation_.next_batch)});
    if (is_last()) {
        frame_builder<proto::EvaluationDone> done;
        done.body().setEpoch(body.getEpoch());
        done.body().setSamples(evaluation_.samples);
        done.body().setLossSum(evaluation_.loss_sum);
        done.body().setCorrect(evaluation_.correct);
        done.body().setCounted(evaluation_.counted);
        send(options_.trainer, std::move(done));
    } else {
        frame_builder<proto::EndOfEvaluation> onward;
        onward.body().setEpoch(body.getEpoch());
        onward.body().setBatches(body.getBatches());
        send(next_[0], std::move(onward));
    }
    evaluation_ = {};
}

} // namespace troupe
