#include "actors/training/roles/stage_role.hpp"

#include <algorithm>

#include "actors/pipeline/shape/schedule_message.hpp"
#include "actors/pipeline/stage/stage_actor.hpp"
#include "actors/training/roles/model_part.hpp"
#include "schemas/base/limits.hpp"

namespace troupe {

namespace {

result<void> check_stage_replicas(proto::StageOptions::Reader from) {
    const auto all = from.getStageReplicas();
    bool possible =
        all.size() == 0 || (all.size() == from.getStages() &&
                            all[from.getPart().getStage()] == from.getPart().getReplicas());
    for (const std::uint32_t replicas : all)
        possible = possible && replicas > 0 && replicas <= limits::replicas_max;
    return possible ? result<void>{}
                    : error{errc::protocol, "the stages cannot have so many replicas"};
}

result<void> check_numbers(proto::StageOptions::Reader from, const role_resources& on) {
    const auto part = from.getPart();
    if (from.getStages() == 0 || from.getStages() > limits::stages_max ||
        part.getStage() >= from.getStages())
        return error{errc::protocol, "there is no stage " + std::to_string(part.getStage()) +
                                         " of " + std::to_string(from.getStages())};
    if (auto possible = check_stage_replicas(from); !possible)
        return possible.failure();
    if (from.getWorker() >= part.getReplicas())
        return error{errc::protocol, "there is no worker " + std::to_string(from.getWorker()) +
                                         " of " + std::to_string(part.getReplicas()) + " replicas"};
    if (from.getRate() > proto::StageRate::PER_UPDATE)
        return unknown_to(on.node(), "rate of a stage's replicas");
    return {};
}

// By tensor: true if it has a form; empty if none has.
std::vector<bool> which_are_set(std::span<const payload_form_ptr> forms) {
    std::vector<bool> set;
    for (const payload_form_ptr& form : forms)
        set.push_back(form != nullptr);
    return std::ranges::count(set, true) > 0 ? set : std::vector<bool>{};
}

// Sets the form in which the stage hands gradients to its reducer or cache.
void set_gradients(const model_part& part, agreement_options& options) {
    if (std::ranges::count(options.companions, run_role::cache) > 0 && part.sync.sends_factors)
        options.as_factors = which_are_set(part.pushed_forms());
    if (std::ranges::count(options.companions, run_role::reducer) == 0)
        return;
    const auto sum = part.chosen_sum();
    if (!sum || sum->low_rank)
        return;
    const std::size_t averages = part.program->averages().size();
    if (part.sync.sends_factors)
        options.as_factors = which_are_set(std::span{sum->forms}.subspan(averages));
    else
        options.encoder = std::make_shared<gradient_encoder>(
            gradient_encoder::options{.how = part.sync.codec,
                                      .shapes = part.parameter_shapes(),
                                      .seed = part.codec_seed(),
                                      .replica = part.replica.replica,
                                      .replicas = part.replica.replicas});
}

result<prepared_actor> prepare(proto::StageOptions::Reader from, const role_resources& on) {
    if (auto fits = check_numbers(from, on); !fits)
        return fits.failure();
    auto part = model_part::of(from.getPart(), on.node());
    if (!part)
        return part.failure();
    stage_options options;
    const auto replicas = from.getStageReplicas();
    options.at.place = {part->stage, from.getStages(), replicas.size() > 0};
    auto schedule = read_schedule(from.getSchedule(), part->stage == 0);
    if (!schedule)
        return schedule.failure();
    options.at.schedule = std::move(*schedule);
    if (const std::uint64_t turns = options.at.schedule.turns.device; turns > 0)
        options.turns = on.shared.of<device_turns>(turns);
    options.program = part->program;
    const auto activations = make_number_form(from.getActivations());
    if (!activations)
        return unknown_to(on.node(), "form of activations");
    options.activations = *activations;
    options.compute = device_of(*part, on);
    options.update.rule = part->rule;
    options.update.rates = make_learning_rates(from.getPart().getTrain(), from.getSamples(),
                                               part->sync.in_turn(part->replica.replicas));
    if (options.update.rates == nullptr)
        return unknown_to(on.node(), "schedule of the learning rate");
    if (options.at.stages_differ())
        options.update.rates = times(std::move(options.update.rates),
                                     rate_factor(from.getRate(), replicas[part->stage]));
    options.update.clip = part->clip;
    options.seed = part->seed;
    options.trainer = on.asker;
    options.agreement.sync = part->sync;
    options.at.replica = part->replica;
    options.agreement.worker = from.getWorker();
    options.agreement.companions = part->companions();
    set_gradients(*part, options.agreement);
    return prepared<stage_actor>(on, part->name_of(run_role::stage), std::move(options));
}

} // namespace

role stage_role() {
    return role_of<proto::StageOptions>(std::string{run_role::stage.name}, prepare);
}

} // namespace troupe
