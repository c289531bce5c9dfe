#include "actors/training/plan/table_file.hpp"

#include <filesystem>
#include <fstream>

#include "actors/pipeline/shape/schedule_csv.hpp"
#include "actors/pipeline/shape/stage_order.hpp"
#include "schemas/base/quantities.hpp"

namespace troupe {

namespace {

// The number of stages that an app says; 0: none.
std::size_t stages_said(proto::Stages::Reader stages) {
    return stages.isCount() ? stages.getCount() : stages.isList() ? stages.getList().size() : 0;
}

result<void> check_fit(const schedule_table& table, const training_app& app,
                       proto::PipelineTopology::Reader pipeline) {
    const auto refuse = [](const std::string& key, const std::string& why) {
        return error{errc::usage, "topology.pipeline." + key + ": " + why};
    };
    if (table.replicas > 1)
        return refuse("schedule.table", "is of " + std::to_string(table.replicas) +
                                            " directions, of which runs take one; use a table "
                                            "whose stages are all named once");
    if (auto order = check_one_order(table); !order)
        return refuse("schedule.table", order.failure().message());
    for (std::uint32_t s = 0; s < table.stages; ++s)
        if (auto sound =
                check_stage_steps(steps_of(table, s), table.microbatches, table.stashes_weights);
            !sound)
            return refuse("schedule.table",
                          "stage " + std::to_string(s) + ": " + sound.failure().message());
    const auto topology = app.app().getTopology();
    if (looks_back(table) && topology.getReplicas() > 1 && !topology.getSync().isAllReduce())
        return refuse("schedule.table",
                      "uses older weights than the latest, which replicas with this topology.sync "
                      "do not have; use topology.sync: all_reduce");
    if (!pipeline.getStages().isAuto() && stages_said(pipeline.getStages()) != table.stages)
        return refuse("stages", "the schedule's table has " + counted(table.stages, "stage") +
                                    "; leave stages out");
    if (app.is_given("topology.pipeline.microbatches") &&
        pipeline.getMicrobatches() != table.microbatches)
        return refuse("microbatches",
                      "the schedule's table has " +
                          counted(table.microbatches, "microbatch", "microbatches") +
                          "; leave microbatches out");
    return {};
}

} // namespace

result<std::shared_ptr<const schedule_table>> read_table_file(const training_app& app) {
    const auto topology = app.app().getTopology();
    if (!topology.isPipeline() || !topology.getPipeline().getSchedule().isTable())
        return std::shared_ptr<const schedule_table>{};
    const std::string file = topology.getPipeline().getSchedule().getTable().cStr();
    const std::string key = "topology.pipeline.schedule.table";
    if (std::error_code failed; !std::filesystem::exists(file, failed))
        return error{errc::usage, key + ": " + file + ": no such file"};
    if (std::filesystem::is_directory(file))
        return error{errc::usage, key + ": " + file + ": a folder; name a CSV file"};
    std::ifstream in{file, std::ios::binary};
    std::string text(limits::schedule_file_bytes_max + 1, '\0');
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (in.bad() || !in.is_open())
        return error{errc::io, key + ": " + file + ": cannot be read"};
    text.resize(static_cast<std::size_t>(in.gcount()));
    auto read = read_schedule_csv(text, file);
    if (!read)
        return read.failure().in(key);
    if (auto fits = check_fit(read->table, app, topology.getPipeline()); !fits)
        return fits.failure();
    return std::make_shared<const schedule_table>(std::move(read->table));
}

} // namespace troupe
