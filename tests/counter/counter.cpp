#include "tests/counter/counter.hpp"

#include <unistd.h>

#include <fstream>

#include "actors/messages.hpp"
#include "actors/runtime/work_queue.hpp"

namespace troupe::counter {

bool tally::take(std::size_t worker, std::uint32_t round, std::uint64_t amount) {
    if (is_over() || round != round_ || has_added_.at(worker))
        return false;
    has_added_[worker] = true;
    total_ += amount;
    if (++adds_ == has_added_.size()) {
        has_added_.assign(adds_, false);
        adds_ = 0;
        ++round_;
    }
    return true;
}

namespace {

class worker final : public actor {
  public:
    worker(actor_context& context, std::uint64_t step) : actor{context}, step_{step} {
        on<proto::Add>(&worker::add);
    }

  private:
    void add(proto::Add::Reader body, const frame& f) {
        frame_builder<proto::Added> answer;
        answer.body().setRound(body.getRound());
        answer.body().setAmount(step_);
        answer.envelope().setWork(body.getRound()); // the piece of work that it belongs to
        send(f.from(), std::move(answer));
    }

    const std::uint64_t step_;
};

result<prepared_actor> prepare(proto::CounterWorkerOptions::Reader options,
                               const role_resources& on) {
    if (options.getStep() == 0)
        return error{errc::protocol, "a counter's worker adds something"};
    while (options.getHangs())
        pause();
    return prepared<worker>(on, "worker-" + std::to_string(options.getWorker()), options.getStep());
}

class root final : public actor {
  public:
    root(actor_context& context, cli::job_run run, proto::Counter::Reader counter)
        : actor{context}, run_{std::move(run)}, counter_{counter}, cast_{run_.number},
          tally_{counter.getWorkers(), counter.getRounds()} {
        on<proto::Spawned>(&root::spawned);
        on<proto::SpawnFailed>(&root::spawn_failed);
        on<proto::Added>(&root::added);
        on<proto::StopRun>(&root::stop);
    }

  private:
    void on_start() override {
        listener_ = runtime().spawn_of_run<listening_actor>(run(), "reporter", self(),
                                                            std::ref(run_.listener));
        for (std::uint32_t w = 0; w < counter_.getWorkers(); ++w) {
            cast_.add("worker-" + std::to_string(w), run_.devices[w % run_.devices.size()]);
            auto request = cast_.ask(w, "counter-worker");
            request.body().setOptionsType(type_id_of<proto::CounterWorkerOptions>());
            auto options = request.body().getOptions().initAs<proto::CounterWorkerOptions>();
            options.setStep(counter_.getStep());
            options.setWorker(w);
            options.setHangs(counter_.getHangs());
            watch(cast_.agent_of(w));
            send(cast_.agent_of(w), std::move(request));
        }
    }
    void on_down(actor_address who, const error& why) override {
        finish(error{errc::lost,
                     why.message() + "; it carried " + cast_.describe(cast_.gone_with(who))});
    }

    void spawned(proto::Spawned::Reader body, const frame& f) {
        const auto answer = cast_.enter(body, f.from());
        if (!answer)
            return answer.failure().code() == errc::refused ? finish(answer.failure())
                                                            : reject(answer.failure().message());
        watch(answer->address);
        if (!cast_.is_complete())
            return;
        tell(run_started{.nodes = static_cast<std::uint32_t>(cast_.agents().size()),
                         .milestone = "round",
                         .milestones = counter_.getRounds(),
                         .plan = cast_.describe(cast_.all()),
                         .plan_json = "{}"});
        begin_round();
    }
    void spawn_failed(proto::SpawnFailed::Reader body, const frame& f) {
        const auto answer = cast_.refuse(body, f.from());
        answer ? finish(read_failure(body.getFailure())) : reject(answer.failure().message());
    }

    void begin_round() {
        for (std::size_t w = 0; w < cast_.size(); ++w) {
            frame_builder<proto::Add> add;
            add.body().setRound(tally_.round());
            add.envelope().setWork(tally_.round());
            send(cast_.address_of(w), std::move(add));
        }
    }
    void added(proto::Added::Reader body, const frame& f) {
        const auto who = cast_.gone_with(f.from());
        if (who.size() != 1 || !tally_.take(who[0], body.getRound(), body.getAmount()))
            return reject("the sender was not asked to add in this round");
        if (tally_.adds() > 0)
            return tell(run_progress{tally_.round(), tally_.adds(), cast_.size(), "adds", {}, {}});
        tell(run_milestone{tally_.round() - 1, numbers()});
        tally_.is_over() ? save() : begin_round();
    }
    // In order behind the round under way, or at once: before the first, or for the second time.
    void stop(proto::StopRun::Reader, const frame&) {
        if (tally_.is_over())
            return; // it is saved
        const bool at_once = outcome_.failure || !cast_.is_complete();
        outcome_.failure =
            error{errc::cancelled, "stopped in round " + std::to_string(tally_.round() + 1)};
        at_once ? finish(outcome_.failure) : tally_.end_after_this_round();
    }

    void save() {
        if (!counter_.hasFile())
            return finish(outcome_.failure);
        outcome_.saved = counter_.getFile().cStr();
        work_.submit(*run_.io, {.work = [file = outcome_.saved,
                                         total = tally_.total()](compute_context&) -> result<void> {
                                    std::ofstream out{file};
                                    if (!(out << total << std::endl))
                                        return error{errc::io, file + ": cannot be written"};
                                    return {};
                                },
                                .then = [this] { finish(outcome_.failure); }});
    }
    void finish(std::optional<error> failure) {
        outcome_.failure = std::move(failure);
        outcome_.milestones = tally_.round();
        outcome_.numbers = numbers();
        for (const actor_address agent : cast_.agents()) {
            unwatch(agent);
            send(agent, release_message(run(), outcome_.failure));
        }
        tell(outcome_);
        quit();
    }

    std::vector<named_number> numbers() const {
        return {{"total", static_cast<double>(tally_.total()), proto::NumberStyle::COUNT}};
    }
    template <class News>
    void tell(const News& news) {
        send(listener_, event_of(run(), news));
    }

    const cli::job_run run_;
    const proto::Counter::Reader counter_;
    cast cast_;
    tally tally_;
    actor_address listener_;
    run_finished outcome_;
    work_queue work_{*this, [this](const std::string&, const error& why) { finish(why); }};
};

} // namespace

role worker_role() {
    return role_of<proto::CounterWorkerOptions>("counter-worker", &prepare);
}

actor_address spawn_root(const cli::job_run& run, proto::Counter::Reader counter) {
    return run.runtime.spawn_of_run<root>(run.number, "counter", run, counter);
}

} // namespace troupe::counter
