#include "actors/scheduled/program_run.hpp"

#include <algorithm>

#include "actors/app_file/value_ranges.hpp"
#include "actors/run/plan_device.hpp"
#include "actors/scheduled/part_call.hpp"
#include "actors/scheduled/program_worker.hpp"
#include "actors/scheduled/scheduler_actor.hpp"
#include "schemas/base/limits.hpp"
#include "schemas/base/nearest.hpp"

namespace troupe::scheduled {

schedule_settings read_schedule(proto::ProgramSchedule::Reader from) {
    schedule_settings s;
    switch (from.which()) {
    case proto::ProgramSchedule::DYNAMIC: {
        const auto d = from.getDynamic();
        s.kind = schedule_kind::dynamic;
        s.window = d.getWindow();
        s.set = d.getSet();
        s.couple = d.getCouple() == proto::Coupling::CHECK ? coupling::check : coupling::exact;
        s.rho = d.getRho();
        s.base_width = d.getBaseWidth();
        break;
    }
    case proto::ProgramSchedule::CYCLIC:
        s.kind = schedule_kind::cyclic;
        s.window = from.getCyclic().getWindow();
        s.set = from.getCyclic().getSet();
        break;
    case proto::ProgramSchedule::ROTATION:
        s.kind = schedule_kind::rotation;
        s.window = from.getRotation().getWindow();
        s.blocks_per_worker = from.getRotation().getBlocksPerWorker();
        break;
    }
    return s;
}

stop_settings read_stop(proto::ProgramStop::Reader from) {
    return {from.getGap(),     from.getSweeps(), from.getPhases(),
            from.getSeconds(), from.getLength(), from.getIterations()};
}

bool ends_with_workers(const program& what, schedule_kind by) {
    return what.result_is_with_workers || by == schedule_kind::rotation;
}

void write_run(proto::ProgramRun::Builder to, const program_run& run) {
    to.setProgram(run.what->name);
    to.getSettings().set(run.app.getProgram().getSettings());
    to.setSettingsType(run.what->settings.getProto().getId());
    to.setModuleSha256(run.what->module_sha256);
    to.setSchedule(run.app.getSchedule());
    to.setStop(run.app.getStop());
    to.setUnitNorm(run.app.getData().getScale() == proto::ColumnScale::UNIT_NORM);
    to.setSeed(run.app.getSeed());
    to.setRows(run.shares.data.rows);
    to.setColumns(run.shares.data.columns);
    to.setEntries(run.shares.data.entries);
    to.setSparse(run.shares.data.is_sparse);
    to.setWorkers(static_cast<std::uint32_t>(run.shares.rows.size()));
    to.setSavesEnd(run.app.hasCheckpoint());
    const auto write = [](auto list, const std::vector<number_range>& ranges) {
        for (capnp::uint i = 0; i < list.size(); ++i) {
            list[i].setFirst(ranges[i].first);
            list[i].setCount(ranges[i].count);
        }
    };
    const run_shares& shares = run.shares;
    write(to.initVariables(static_cast<capnp::uint>(shares.variables.size())), shares.variables);
    write(to.initBlocks(static_cast<capnp::uint>(shares.blocks.size())), shares.blocks);
}

commit_shape shape_of(const program_run& run) {
    return {static_cast<std::uint32_t>(run.shares.rows.size()),
            static_cast<std::uint32_t>(run.shares.variables.size()),
            read_schedule(run.app.getSchedule()).window,
            run.app.getStop().getGap(),
            run.app.getStop().getLength(),
            run.app.getStop().getIterations()};
}

program_site site_of(const program_run& run, memory_pool& memory) {
    program_site site;
    site.settings = run.app.getProgram().getSettings();
    site.schedule = read_schedule(run.app.getSchedule());
    site.stop = read_stop(run.app.getStop());
    site.memory = &memory;
    site.unit_norm = run.app.getData().getScale() == proto::ColumnScale::UNIT_NORM;
    site.seed = run.app.getSeed();
    site.data = run.shares.data;
    site.workers = static_cast<std::uint32_t>(run.shares.rows.size());
    site.variables = run.shares.variables;
    site.blocks = run.shares.blocks;
    return site;
}

namespace {

constexpr std::uint32_t workers_max = 1024; // agrees with program_app.capnp

error bad(const std::string& sentence) {
    return {errc::protocol, "the run of a program: " + sentence};
}

// The row of the table; the nodes of a run have the same programs.
result<const program*> find_program(proto::ProgramRun::Reader from, const program_table& programs,
                                    const std::string& node) {
    const std::string name = from.getProgram().cStr();
    const auto found = std::ranges::find(programs, name, &program::name);
    if (found == programs.end())
        return error{errc::usage, node + " has no program \"" +
                                      name.substr(0, limits::name_bytes_max) +
                                      "\"; start the node with --program FILE, as the run was"};
    if (found->settings.getProto().getId() != from.getSettingsType() ||
        found->module_sha256 != from.getModuleSha256().cStr())
        return error{errc::usage, node + " has another version of the program \"" + name +
                                      "\"; start all nodes with the same build and modules"};
    return &*found;
}

// Numbers that a user would have been refused by the loader of app files.
result<void> check_numbers(proto::ProgramRun::Reader from, const program& what) {
    if (static_cast<int>(from.getSchedule().which()) > proto::ProgramSchedule::ROTATION)
        return bad("its schedule is of another build");
    if (std::ranges::count(what.schedules, read_schedule(from.getSchedule()).kind) == 0)
        return bad("its schedule is not one of the program's");
    for (const capnp::DynamicStruct::Reader part :
         {capnp::DynamicStruct::Reader{from.getSchedule()},
          capnp::DynamicStruct::Reader{from.getStop()},
          from.getSettings().getAs<capnp::DynamicStruct>(what.settings)})
        if (auto fits = check_ranges(part); !fits)
            return fits;
    return {};
}

// Ranges that follow each other, from 0 to the last of `count`.
result<void> read_ranges(capnp::List<proto::NumberRange>::Reader from, std::uint64_t count,
                         std::vector<number_range>& ranges) {
    std::uint64_t next = 0;
    for (const auto range : from) {
        if (range.getFirst() != next || range.getCount() == 0 || range.getCount() > count - next)
            return bad("its variables are not divided without gaps");
        next += range.getCount();
        ranges.push_back({range.getFirst(), range.getCount()});
    }
    return next == count ? result<void>{} : bad("its variables are not all divided");
}

result<void> read_site(proto::ProgramRun::Reader from, program_site& site) {
    site.settings = from.getSettings();
    site.schedule = read_schedule(from.getSchedule());
    site.stop = read_stop(from.getStop());
    site.unit_norm = from.getUnitNorm();
    site.seed = from.getSeed();
    site.data = {from.getRows(), from.getColumns(), from.getEntries(), from.getSparse()};
    site.workers = from.getWorkers();
    if (site.schedule.window > window_max)
        return bad("its window is larger than " + std::to_string(window_max));
    if (site.workers == 0 || site.workers > workers_max || from.getVariables().size() == 0 ||
        from.getVariables().size() > schedulers_max)
        return bad("its numbers of workers and schedulers are not possible");
    const bool rotates = site.schedule.kind == schedule_kind::rotation;
    const std::uint64_t blocks = rotates ? site.ring().blocks() : 0;
    if (from.getBlocks().size() != blocks || (rotates && from.getVariables().size() != 1))
        return bad("its blocks are not those of its schedule");
    if (auto read = read_ranges(from.getVariables(), site.data.columns, site.variables); !read)
        return read;
    return rotates ? read_ranges(from.getBlocks(), site.data.columns, site.blocks) : result<void>{};
}

// The program, and what both roles are told of the run.
result<const program*> read_run(proto::ProgramRun::Reader from, const program_table& programs,
                                const std::string& node, program_site& site) {
    const auto what = find_program(from, programs, node);
    if (!what)
        return what.failure();
    if (auto fits = check_numbers(from, **what); !fits)
        return fits.failure();
    if (auto fits = read_site(from, site); !fits)
        return fits.failure();
    return what;
}

// As long as the author of the program likes.
template <class Part, class Make>
result<void> make_part(std::shared_ptr<Part>& to, const char* name, Make make) {
    auto part = call_part(name, make);
    if (!part)
        return part.failure();
    to = std::move(*part);
    return {};
}

result<prepared_actor> prepare_scheduler(proto::SchedulerOptions::Reader options,
                                         const role_resources& on, const program_table& programs) {
    scheduler_site site;
    const auto what = read_run(options.getRun(), programs, on.node(), site);
    if (!what)
        return what.failure();
    site.scheduler = options.getScheduler();
    if (site.scheduler >= site.variables.size())
        return bad("there is no scheduler " + std::to_string(site.scheduler));
    const std::shared_ptr<device> where = on.io ? on.io : on.compute;
    site.memory = &where->memory();
    scheduler_actor_options made;
    made.compute = where;
    made.leader = on.asker;
    made.shape = {site.scheduler, static_cast<std::uint32_t>(site.variables.size()), site.workers,
                  site.schedule.window};
    made.stop = site.stop;
    made.seed = site.seed;
    made.result_is_with_workers = ends_with_workers(**what, site.schedule.kind);
    made.saves_end = options.getRun().getSavesEnd();
    if (!site.blocks.empty())
        made.shape.ring = site.ring();
    return prepared_by<scheduler_actor, scheduler_actor_options>(
        where, on, "scheduler-" + std::to_string(site.scheduler), std::move(made),
        [make = (*what)->make_scheduler, site](scheduler_actor_options& to) {
            return make_part(to.part, "make_scheduler", [&] { return make(site); });
        });
}

result<prepared_actor> prepare_worker(proto::ProgramWorkerOptions::Reader options,
                                      const role_resources& on, const program_table& programs) {
    worker_site site;
    const auto what = read_run(options.getRun(), programs, on.node(), site);
    if (!what)
        return what.failure();
    site.worker = options.getWorker();
    site.rows = {options.getRows().getFirst(), options.getRows().getCount()};
    site.entries = options.getEntries();
    if (site.worker >= site.workers || site.rows.first > site.data.rows ||
        site.rows.count > site.data.rows - site.rows.first || site.entries > site.data.entries)
        return bad("worker " + std::to_string(site.worker) + " cannot have such a share");
    if (is_gpu({.device = on.compute->name()})) // runs of this build do not ask for it
        return bad("workers compute on processor cores, not on " + on.compute->name());
    site.memory = &on.compute->memory();
    program_worker_options made;
    made.compute = on.compute;
    made.leader = on.asker;
    made.worker = site.worker;
    made.workers = site.workers;
    made.schedulers = static_cast<std::uint32_t>(site.variables.size());
    made.window = site.schedule.window;
    made.result_is_with_workers = ends_with_workers(**what, site.schedule.kind);
    made.saves_end = options.getRun().getSavesEnd();
    if (!site.blocks.empty())
        made.ring = site.ring();
    return prepared_by<program_worker, program_worker_options>(
        on.compute, on, "worker-" + std::to_string(site.worker), std::move(made),
        [make = (*what)->make_worker, site](program_worker_options& to) {
            return make_part(to.part, "make_worker", [&] { return make(site); });
        });
}

template <class Options>
role row(const char* name, std::shared_ptr<const program_table> programs,
         result<prepared_actor> (*prepare)(typename Options::Reader, const role_resources&,
                                           const program_table&)) {
    return {name, type_id_of<Options>(),
            [programs = std::move(programs), prepare](capnp::AnyPointer::Reader options,
                                                      const role_resources& on) {
                return prepare(options.getAs<Options>(), on, *programs);
            }};
}

} // namespace

std::vector<role> program_roles(std::shared_ptr<const program_table> programs) {
    return {row<proto::SchedulerOptions>(scheduler_role, programs, &prepare_scheduler),
            row<proto::ProgramWorkerOptions>(worker_role, programs, &prepare_worker)};
}

} // namespace troupe::scheduled
