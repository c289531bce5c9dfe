#include "tools/troupe/program_job.hpp"

#include <algorithm>

#include "actors/scheduled/leader.hpp"
#include "actors/scheduled/open_data.hpp"
#include "actors/scheduled/program_app.hpp"
#include "actors/scheduled/program_run.hpp"
#include "actors/scheduled/result_mark.hpp"
#include "actors/scheduled/run_checkpoints.hpp"
#include "actors/scheduled/scheduled_messages.hpp"
#include "schemas/base/json.hpp"
#include "schemas/base/limits.hpp"
#include "schemas/base/quantities.hpp"
#include "tools/troupe/device_choice.hpp"
#include "tools/troupe/program_check.hpp"
#include "tools/troupe/program_result.hpp"
#include "tools/troupe/run_setup.hpp"

namespace troupe::cli {

namespace {

using namespace scheduled;

// Where a run saves its commits, and what it goes on from.
struct saved_run {
    std::unique_ptr<memory_pool> memory; // of `from`
    std::shared_ptr<run_checkpoints> to;
    std::optional<saved_commit> from;
    std::string folder; // of `from`
};

class program_of_data final : public job {
  public:
    program_of_data(program_app app, std::shared_ptr<const program_table> programs,
                    const program& what, std::shared_ptr<piece_source> data, saved_run saved,
                    std::string result_mark, doubts_of_run doubts)
        : app_{std::move(app)}, programs_{std::move(programs)}, what_{what}, data_{std::move(data)},
          saved_{std::move(saved)}, result_mark_{std::move(result_mark)}, doubts_{
                                                                              std::move(doubts)} {}

    std::vector<std::string> notes() const override {
        std::vector<std::string> all = data_->notes();
        for (const doubtful_key& key : doubts_.keys)
            if (app_.is_given(key.path))
                all.push_back(app_.error_at(key.path, key.why).message());
        if (!app_.app().hasResult())
            all.push_back("result: absent, so that nothing is written; name a folder by "
                          "result.directory");
        return all;
    }

    std::vector<std::string> notes_on(std::span<const plan_device> devices) const override {
        if (std::ranges::none_of(devices, is_gpu))
            return {};
        return {"the program " + what_.name +
                " computes on processor cores; GPUs are left out, as no part of it has a form for "
                "them"};
    }

    std::vector<std::string> notes_on_sharing(const run_nodes& nodes,
                                              std::uint32_t /*children*/) const override {
        std::string sets;
        if (doubts_.has_bits_of_processor)
            sets = note_of_instruction_sets(nodes.devices);
        return sets.empty() ? std::vector<std::string>{} : std::vector{std::move(sets)};
    }

    // Without devices: what is true of any of them.
    result<void> check_place(const std::vector<plan_device>& given) const override {
        const std::vector<plan_device> devices = processors_among(given);
        if (devices.empty() && !given.empty())
            return error{errc::usage, "the program " + what_.name +
                                          " computes on processor cores, and all devices are "
                                          "GPUs; give cores, as with --devices cpu:1"};
        const data_shape shape = data_->shape();
        if (workers(devices) > shape.rows)
            return app_.error_at("schedule.workers",
                                 counted(workers(devices), "worker") + " for " +
                                     counted(shape.rows, "row") +
                                     " of data; give at most as many workers as rows");
        if (schedulers() > shape.columns)
            return app_.error_at("schedule.shards", counted(schedulers(), "shard") + " for " +
                                                        counted(shape.columns, "variable") +
                                                        "; give at most as many");
        if (blocks(devices) > shape.columns)
            return app_.error_at("schedule.rotation", counted(blocks(devices), "block") + " for " +
                                                          counted(shape.columns, "variable") +
                                                          "; give fewer workers or blocks");
        if (!devices.empty() && saved_.from && !what_.carry_over &&
            !goes_on_as_it_is(saved_.from->shape, shape_on(devices), saved_.from->members))
            return cannot_go_on("the program " + what_.name +
                                " goes on as the same run alone: give as many by schedule.workers "
                                "and schedule.shards, the same window and the same bounds");
        return {};
    }

    result<planned_job> plan(const job_site& site, bool) override {
        if (auto fits = check_place(site.devices); !fits)
            return fits.failure();
        const std::vector<plan_device> devices = processors_among(site.devices);
        const program_run run = share_out_to(devices);
        json planned{{"program", what_.name}};
        planned["rows"] = run.shares.data.rows;
        planned["variables"] = run.shares.data.columns;
        planned["entries"] = run.shares.data.entries;
        std::string text = "program " + what_.name + ": " + counted(run.shares.data.rows, "row") +
                           ", " + counted(run.shares.data.columns, "variable") + ", " +
                           counted(run.shares.data.entries, "entry", "entries") + '\n';
        for (std::size_t w = 0; w < run.shares.rows.size(); ++w) {
            const std::string where = where_text(devices[w % devices.size()]);
            text += "worker-" + std::to_string(w) + " on " + where + ": " +
                    counted(run.shares.rows[w].count, "row") + ", " +
                    counted(run.shares.entries[w], "entry", "entries") + '\n';
            planned["workers"].push_back({{"device", where},
                                          {"rows", run.shares.rows[w].count},
                                          {"entries", run.shares.entries[w]}});
        }
        for (std::size_t s = 0; s < run.shares.variables.size(); ++s) {
            const std::string where =
                where_text(devices[s % run.shares.rows.size() % devices.size()]);
            text += "scheduler-" + std::to_string(s) + " beside " + where + ": " +
                    counted(run.shares.variables[s].count, "variable") + '\n';
            planned["schedulers"].push_back(
                {{"device", where}, {"variables", run.shares.variables[s].count}});
        }
        for (std::size_t b = 0; b < run.shares.blocks.size(); ++b) {
            const std::size_t w = b * run.shares.rows.size() / run.shares.blocks.size();
            text += "block " + std::to_string(b) + " first with worker-" + std::to_string(w) +
                    ": " + counted(run.shares.blocks[b].count, "variable") + '\n';
            planned["blocks"].push_back({{"worker", w}, {"variables", run.shares.blocks[b].count}});
        }
        return planned_job{text, planned.dump(), {}};
    }

    result<void> prepare(const std::vector<plan_device>& given) override {
        if (auto fits = check_place(given); !fits)
            return fits;
        const std::vector<plan_device> devices = processors_among(given);
        ready_.what = share_out_to(devices);
        ready_.data = data_;
        ready_.devices = devices;
        ready_.checkpoints = std::move(saved_.to);
        ready_.result_mark = result_mark_;
        if (app_.app().hasCheckpoint())
            ready_.between_commits =
                std::chrono::seconds{app_.app().getCheckpoint().getEverySeconds()};
        return go_on();
    }

    actor_address spawn(const job_run& run) override {
        TROUPE_CHECK(ready_.data != nullptr, "a job is prepared, and then spawned, once");
        ready_.run = run.number;
        ready_.listener = &run.listener;
        ready_.io = run.io;
        ready_.more_memory = run.more_memory.of_host;
        return run.runtime.spawn_of_run<leader>(run.number, "leader", std::move(ready_));
    }

  private:
    error cannot_go_on(const std::string& why) const {
        return {errc::usage, "--resume: " + saved_.folder + " is of a run with " +
                                 text_of(saved_.from->shape) + "; " + why};
    }
    // From the checkpoint, if there is one.
    result<void> go_on() {
        if (!saved_.from)
            return {};
        ready_.resumed_from = saved_.folder;
        const commit_shape& from = saved_.from->shape;
        if (goes_on_as_it_is(from, shape_of(ready_.what), saved_.from->members)) {
            ready_.resume = std::move(saved_.from->members);
            ready_.resumed_ends = std::move(saved_.from->ends);
            return {};
        }
        const auto site = [&](const program_run& run) {
            return carried_site{site_of(run, *saved_.memory), run.shares.rows};
        };
        const data_shape data = data_->shape();
        const std::size_t blocks = from.workers * blocks_per_worker();
        if (from.workers == 0 || from.workers > data.rows || from.schedulers == 0 ||
            std::max<std::uint64_t>(from.schedulers, blocks) > data.columns)
            return cannot_go_on("no run of this data has so many; use another checkpoint");
        carried_site before =
            site({app_.app(), &what_, shares_among({from.workers, from.schedulers, blocks})});
        before.schedule.window = from.window;
        before.stop.gap = from.gap;
        before.stop.length = from.length;
        before.stop.iterations = from.iterations;
        auto carried =
            carry_over(what_, before, site(ready_.what), std::move(saved_.from->members));
        if (!carried)
            return cannot_go_on(carried.failure().message());
        ready_.resume = std::move(*carried);
        return {};
    }
    static std::vector<plan_device> processors_among(std::vector<plan_device> devices) {
        std::erase_if(devices, is_gpu);
        return devices;
    }
    commit_shape shape_on(const std::vector<plan_device>& devices) const {
        const stop_settings stop = read_stop(app_.app().getStop());
        return {static_cast<std::uint32_t>(workers(devices)),
                static_cast<std::uint32_t>(schedulers()),
                read_schedule(app_.app().getSchedule()).window,
                stop.gap,
                stop.length,
                stop.iterations};
    }
    // If none are asked for, one for each device that there is enough data for.
    std::size_t workers(const std::vector<plan_device>& devices) const {
        const auto schedule = app_.app().getSchedule();
        if (schedule.getWorkers() > 0)
            return schedule.getWorkers();
        std::uint64_t most = data_->shape().rows;
        if (schedule.isRotation())
            most = std::min(most,
                            data_->shape().columns / schedule.getRotation().getBlocksPerWorker());
        return std::clamp<std::uint64_t>(most, 1, std::max<std::size_t>(devices.size(), 1));
    }
    std::size_t schedulers() const { return app_.app().getSchedule().getShards(); }
    std::size_t blocks_per_worker() const { // 0: variables do not rotate
        const auto schedule = app_.app().getSchedule();
        return schedule.isRotation() ? schedule.getRotation().getBlocksPerWorker() : 0;
    }
    std::size_t blocks(const std::vector<plan_device>& devices) const {
        return workers(devices) * blocks_per_worker();
    }
    program_run share_out_to(const std::vector<plan_device>& devices) const {
        return {app_.app(), &what_,
                shares_among({workers(devices), schedulers(), blocks(devices)})};
    }
    run_shares shares_among(share_counts among) const {
        among.all_rows = what_.every_worker_has_all_rows;
        return share_out(*data_, among);
    }

    program_app app_;
    std::shared_ptr<const program_table> programs_;
    const program& what_; // of the table
    std::shared_ptr<piece_source> data_;
    saved_run saved_;
    const std::string result_mark_;
    const doubts_of_run doubts_;
    leader_options ready_; // as far as prepare() knows them
};

// A run goes on only with the same data, program, schedule and seed: what it has computed depends on them.
std::vector<app_value> identity_of(const program_app& app, const program& what,
                                   const data_shape& data) {
    capnp::MallocMessageBuilder copy;
    copy.setRoot(app.app());
    auto all = copy.getRoot<proto::ProgramApp>();
    all.disownStop();
    all.disownResult();
    all.disownCheckpoint();
    all.disownBase();
    auto schedule = all.getSchedule(); // a run may go on with others (carry_over.hpp):
    schedule.setWorkers(0);
    schedule.setShards(1);
    if (schedule.isDynamic())
        schedule.getDynamic().setWindow(0);
    else if (schedule.isCyclic())
        schedule.getCyclic().setWindow(0);
    else
        schedule.getRotation().setWindow(0);
    auto values = values_of(capnp::DynamicStruct::Reader{all.asReader()}, app.members());
    values.push_back({"the data", counted(data.rows, "row") + " x " +
                                      counted(data.columns, "column") + " with " +
                                      std::to_string(data.entries) + " entries"});
    if (!what.module_sha256.empty())
        values.push_back({"the program's module", "sha256 " + what.module_sha256});
    return values;
}

result<saved_run> open_checkpoints(const program_app& app, const program& what,
                                   const piece_source& data, bool resume) {
    saved_run run;
    if (!app.app().hasCheckpoint()) {
        if (resume)
            return error{errc::usage, "--resume: the app file names no checkpoint folder; add "
                                      "checkpoint.directory"};
        return run;
    }
    const auto checkpoint = app.app().getCheckpoint();
    const std::string directory = checkpoint.getDirectory().cStr();
    auto to = run_checkpoints::open(
        directory, checkpoint.getKeep(),
        {app.program(), identity_of(app, what, data.shape()), data.digests()});
    if (!to)
        return app.at_its_place(to.failure().in("checkpoint.directory"));
    run.to = std::make_shared<run_checkpoints>(std::move(*to));
    run.folder = run.to->latest_folder().string();
    if (run.folder.empty() && resume)
        return error{errc::usage, "--resume: " + directory + " has no checkpoint"};
    if (!run.folder.empty() && !resume)
        return app.error_at("checkpoint.directory",
                            directory + " has checkpoints of an earlier run; go on from them with "
                                        "--resume, or name another folder");
    run.memory = std::make_unique<memory_pool>(limits::dataset_bytes_max);
    auto from = run.to->latest(*run.memory);
    if (!from)
        return app.at_its_place(from.failure().in("checkpoint.directory"));
    run.from = std::move(*from);
    return run;
}

result<std::unique_ptr<job>> open(const app_definition& definition,
                                  std::shared_ptr<const program_table> programs,
                                  job_purpose purpose, bool resume) {
    program_app app{definition};
    const auto row = std::ranges::find(*programs, app.program(), &program::name);
    TROUPE_CHECK(row != programs->end(), "the language knows the programs of the table alone");
    if (auto fits = check_program(app, *row); !fits)
        return fits.failure();
    program_site site;
    site.settings = app.settings();
    site.schedule = read_schedule(app.app().getSchedule());
    site.stop = read_stop(app.app().getStop());
    auto data = open_data_for(app, *row, site);
    if (!data)
        return data.failure();
    site.data = (*data)->shape();
    if (auto fits = check_settings(app, *row, site); !fits)
        return fits.failure();
    auto doubts = doubts_about(app, *row, site);
    if (!doubts)
        return doubts.failure();
    if (auto usable = check_result(app, purpose); !usable)
        return usable.failure();
    auto mark = result_mark_of(row->name, app.app().getData());
    if (!mark)
        return app.at_its_place(mark.failure());
    result<saved_run> saved = saved_run{};
    if (purpose == job_purpose::run)
        saved = open_checkpoints(app, *row, **data, resume);
    if (!saved)
        return saved.failure();
    auto opened =
        std::make_unique<program_of_data>(std::move(app), programs, *row, std::move(*data),
                                          std::move(*saved), std::move(*mark), std::move(*doubts));
    if (auto fits = opened->check_place({}); !fits)
        return fits.failure();
    return std::unique_ptr<job>{std::move(opened)};
}

} // namespace

job_kind program_job(std::shared_ptr<const program_table> programs) {
    std::vector<app_member> members;
    for (const program& p : *programs)
        members.push_back({p.name, p.settings, p.doc});
    job_kind kind{.app = program_app_kind(std::move(members)),
                  .roles = program_roles(programs),
                  .open = [programs](const app_definition& app, job_purpose purpose,
                                     bool resume) { return open(app, programs, purpose, resume); },
                  .evaluate =
                      [programs](const app_definition& app, const evaluate_options& options) {
                          return evaluate_program(program_app{app}, *programs, options);
                      },
                  .predict =
                      [programs](const app_definition& app, const predict_options& options) {
                          return predict_by_program(program_app{app}, *programs, options);
                      }};
    append(kind.messages, scheduled_messages{});
    return kind;
}

} // namespace troupe::cli
