// The trainer's setup: it measures layers, makes the plan, has its actors spawned and connects the stages.
#include "actors/data/samples/data_source.hpp"
#include "actors/messages.hpp"
#include "actors/runtime/well_known.hpp"
#include "actors/training/role_options.hpp"
#include "actors/training/run_sentences.hpp"
#include "actors/training/stage_connection.hpp"
#include "actors/training/trainer.hpp"

namespace troupe {

void trainer::measure() {
    const proto::App::Reader app = options_.app.app();
    watch(devices_.profiler());
    frame_builder<proto::ProfileModel> request;
    request.body().setRun(options_.run);
    request.body().setDevice(devices_.measured().device.c_str());
    request.body().setBatch(app.getTrain().getBatch());
    request.body().setModel(app.getModel());
    send(devices_.profiler(), std::move(request));
}

void trainer::profile_failed(proto::ProfileFailed::Reader body, const frame& f) {
    if (body.getRun() != options_.run || f.from() != devices_.profiler() ||
        course_.phase() != run_phase::measuring)
        return reject("the sender does not measure for this run");
    const plan_device& where = devices_.measured();
    fail_computing(
        read_failure(body.getFailure()).in("measuring the layers on " + where_text(where)), &where);
}

void trainer::layer_times(proto::LayerTimes::Reader body, const frame& f) {
    if (body.getRun() != options_.run || f.from() != devices_.profiler())
        return reject("the sender does not measure for this run");
    if (!take(run_phase::measuring))
        return;
    unwatch(devices_.profiler());
    if (body.getNanoseconds().size() != count_layers(options_.app.app().getModel()))
        return finish(error{errc::protocol, "the measured layer times do not fit the model"});
    for (const std::uint64_t ns : body.getNanoseconds())
        layer_ns_.push_back(static_cast<double>(ns));
    go_on();
}

void trainer::place() {
    auto made =
        make_plan({options_.app.app(), devices_.all(), std::move(layer_ns_), options_.table});
    if (!made)
        return finish(options_.app.at_its_place(made.failure()));
    plan_ = std::move(made).value();
    cast_ = training_cast{options_.run, plan_.actors};
    course_.set_stages(plan_.stages.size(), cast_.placements());
    report_.stages.resize(cast_.placements());
    for (std::size_t placement = 0; placement < cast_.placements(); ++placement) {
        report_.stages[placement].replica = cast_.replica_at(placement);
        report_.stages[placement].stage = cast_.stage_at(placement);
    }
    for (std::size_t actor = 0; actor < cast_.size(); ++actor)
        ask_for(actor);
}

void trainer::ask_for(std::size_t actor) {
    frame_builder<proto::Spawn> request = cast_.ask(actor);
    write_options(request.body(), options_.app.app(), plan_, cast_[actor], course_.shape().samples);
    watch(cast_.agent_of(actor));
    send(cast_.agent_of(actor), std::move(request));
}

void trainer::spawn_failed(proto::SpawnFailed::Reader body, const frame& f) {
    const auto answer = cast_.refuse(body, f.from());
    if (!answer)
        return reject(answer.failure().message());
    if (!answer->is_wanted)
        return;
    const error why = read_failure(body.getFailure());
    const planned_actor& who = cast_[answer->member];
    if (course_.is_joining(who.replicas[0]))
        return lose_replica(*cast_.placement_of(who.replicas[0], who.stage), why);
    finish(why);
}

void trainer::spawned(proto::Spawned::Reader body, const frame& f) {
    const auto answer = cast_.enter(body, f.from());
    if (!answer)
        return answer.failure().code() == errc::refused
                   ? finish(error{errc::protocol, answer.failure().message()})
                   : reject(answer.failure().message());
    const planned_actor& who = cast_[answer->member];
    if (!answer->is_wanted)
        return send({f.from().node, well_known::agent},
                    end_message(options_.run, {answer->address}, without_replica(who.replicas[0])));
    if (who.role == run_role::stage)
        watch(answer->address);
    for (const std::uint32_t replica : who.replicas) {
        const std::size_t placement = *cast_.placement_of(replica, who.stage);
        if (cast_.is_taken(placement) && course_.take(run_phase::placing, placement) &&
            course_.is_joining(replica))
            introduce(placement);
    }
    if (course_.phase() != run_phase::placing || !course_.complete())
        return;
    if (!source_) {
        data_source_options source = source_options({plan_, cast_, course_}, options_.app.app());
        source.data = options_.data;
        source.io = options_.io;
        source.trainer = self();
        source_ =
            runtime().spawn_of_run<data_source>(options_.run, "data-source", std::move(source));
        watch(source_);
    }
    go_on();
}

// A joining replica is connected once the running actors expect it.
void trainer::connect() {
    if (changes_.is_expecting())
        return;
    for (std::size_t placement = 0; placement < cast_.placements(); ++placement) {
        if (!course_.awaits(placement))
            continue;
        const std::uint32_t stage = cast_.stage_at(placement);
        auto request = connection_of({plan_, cast_, course_}, placement, source_);
        if (course_.is_joining(cast_.replica_at(placement)))
            request.body().setWeightVersion(tally_.version_of(stage)->value());
        if (const weights* from = checkpoints_.restored(stage))
            write_restored(request, *from);
        send(cast_.all(run_role::stage)[placement], std::move(request));
    }
    checkpoints_.let_go();
}

void trainer::stage_ready(proto::StageReady::Reader body, const frame& f) {
    const auto placement = placement_of_sender(body.getReplica(), body.getStage(), f);
    if (!placement || !take(run_phase::connecting, *placement))
        return;
    if (course_.complete() && told_ == told::nothing) {
        told_ = told::started;
        tell(news_of(plan_, course_.shape().epochs, report_.checkpoint, options_.of_cluster));
    }
    go_on();
}

} // namespace troupe
