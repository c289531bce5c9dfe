// What the commands ask of a counting job.
#include "tests/counter/counter.hpp"

namespace troupe::counter {

namespace {

class counting final : public cli::job {
  public:
    explicit counting(app_definition app) : app_{std::move(app)} {}

    std::vector<std::string> notes() const override { return {}; }
    result<void> check_place(const std::vector<plan_device>&) const override { return {}; }
    result<cli::planned_job> plan(const cli::job_site& site, bool) override {
        cast workers;
        for (std::uint32_t w = 0; w < counter().getWorkers(); ++w)
            workers.add("worker-" + std::to_string(w), site.devices[w % site.devices.size()]);
        const std::string text = workers.describe(workers.all());
        return cli::planned_job{text + "\n", "{\"actors\":\"" + text + "\"}", {}};
    }
    actor_address spawn(const cli::job_run& run) override { return spawn_root(run, counter()); }

  private:
    proto::Counter::Reader counter() const { return app_.as<proto::CounterApp>().getCounter(); }

    app_definition app_;
};

// What the schema cannot say.
result<void> check(const app_definition& app) {
    const auto counter = app.as<proto::CounterApp>().getCounter();
    if (counter.getStep() > counter.getRounds() * std::uint64_t{1000})
        return app.error_at("counter.step", "more than 1000 times counter.rounds");
    return {};
}

result<std::unique_ptr<cli::job>> open(const app_definition& app, cli::job_purpose, bool resume) {
    if (resume)
        return error{errc::usage, "--resume: a counter keeps nothing to go on from"};
    return std::unique_ptr<cli::job>{std::make_unique<counting>(app)};
}

} // namespace

cli::job_kind counter_job() {
    cli::job_kind kind{.app = {.key = "counter",
                               .schema = capnp::Schema::from<proto::CounterApp>(),
                               .check = &check},
                       .roles = {worker_role()},
                       .open = &open};
    append(kind.messages, counter_messages{});
    return kind;
}

} // namespace troupe::counter
