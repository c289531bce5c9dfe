#include "actors/scheduled/program_app.hpp"

namespace troupe::scheduled {

namespace {

result<void> check_documents(const program_app& app) {
    const auto data = app.app().getData().getDocuments();
    if (!data.isCounts())
        return data.hasVocabulary()
                   ? app.error_at("data.documents.vocabulary",
                                  "goes with counts; texts have their own words, so leave it out")
                   : result<void>{};
    if (data.getStem() != proto::Stemming::NONE)
        return app.error_at("data.documents.stem",
                            "goes with text, lines and dictionary; leave it out for counts");
    if (data.hasVocabulary())
        return {};
    const std::string why = "counts without a vocabulary have no words to look at; name it by "
                            "data.documents.vocabulary, or leave this out";
    if (data.getStopWords() != proto::StopWords::NONE)
        return app.error_at("data.documents.stop_words", why);
    if (data.hasStopWordsFile())
        return app.error_at("data.documents.stop_words_file", why);
    if (data.getLengthMin() > 1)
        return app.error_at("data.documents.length_min", why);
    return {};
}

result<void> check_data(const program_app& app) {
    const auto data = app.app().getData();
    if (data.isMatrix() && data.getMatrix().hasTargets() && data.getMatrix().hasTargetColumn())
        return app.error_at("data.matrix.target_column",
                            "gives targets, and so does targets; leave one of them out");
    if (!data.isMatrix() && !data.isIdx() && data.getScale() != proto::ColumnScale::NONE)
        return app.error_at("data.scale", "is for matrices; leave it out");
    return data.isDocuments() ? check_documents(app) : result<void>{};
}

result<void> check_schedule(const program_app& app) {
    const auto schedule = app.app().getSchedule();
    if (schedule.isRotation() && schedule.getShards() > 1)
        return app.error_at("schedule.shards",
                            "a rotation has one: its variables are with the workers, in blocks; "
                            "leave it out");
    if (!schedule.isDynamic())
        return {};
    // Its default is in what is rendered.
    const auto dynamic = schedule.getDynamic();
    if (dynamic.getCouple() != proto::Coupling::CHECK &&
        dynamic.getRho() != proto::DynamicSchedule::Reader{}.getRho())
        return app.error_at("schedule.dynamic.rho",
                            "goes with couple: check; give that, too, or leave it out");
    return {};
}

result<void> check_stop(const program_app& app) {
    const auto stop = app.app().getStop();
    if (stop.getGap() == 0 && stop.getSweeps() == 0 && stop.getPhases() == 0 &&
        stop.getSeconds() == 0 && stop.getLength() == 0 && stop.getIterations() == 0)
        return app.error_at("stop", "the run would never end; give gap, sweeps, phases or "
                                    "seconds more than 0");
    return {};
}

result<void> check_folders(const program_app& app) {
    if (!app.app().hasResult() || !app.app().hasCheckpoint())
        return {};
    const auto place_of = [](capnp::Text::Reader name) {
        std::error_code unknown;
        const auto whole = std::filesystem::absolute(name.cStr(), unknown) / "";
        return whole.lexically_normal();
    };
    if (place_of(app.app().getResult().getDirectory()) !=
        place_of(app.app().getCheckpoint().getDirectory()))
        return {};
    return app.error_at("checkpoint.directory",
                        "is result.directory, too; give checkpoints a folder of their own");
}

// Checks what the schema cannot say.
result<void> check(const app_definition& definition) {
    const program_app app{definition};
    for (const auto part : {&check_data, &check_schedule, &check_stop, &check_folders})
        if (auto checked = part(app); !checked)
            return checked;
    return {};
}

result<program_app> as_program(result<app_definition> loaded) {
    if (!loaded)
        return loaded.failure();
    return program_app{std::move(loaded).value()};
}

} // namespace

capnp::DynamicStruct::Reader program_app::dynamic_settings() const {
    return open_settings(app().getProgram(), members());
}

std::string program_app::path_of(std::string_view key) const {
    return "program." + program() + (key.empty() ? "" : "." + std::string{key});
}

error program_app::at_setting(const error& why) const {
    const std::string key = why.message().substr(0, why.message().find_first_of(":."));
    const bool is_own = dynamic_settings().getSchema().findFieldByName(key.c_str()) != nullptr;
    if (!is_own && (key == "data" || key == "schedule" || key == "stop"))
        return at_its_place(why);
    return at_its_place({why.code(), path_of("") + "." + why.message()});
}

app_kind program_app_kind(std::vector<app_member> programs) {
    TROUPE_CHECK(!programs.empty(), "there is a program");
    return {.key = "program",
            .schema = capnp::Schema::from<proto::ProgramApp>(),
            .words = {.other_members = "load one of your own by --program FILE.so"},
            .check = &check,
            .members = std::move(programs)};
}

result<program_app> load_program_app(const std::filesystem::path& file,
                                     const app_settings& settings, const app_kind& kind) {
    return as_program(load_app(file, settings, {&kind, 1}));
}

result<program_app> parse_program_app(std::string_view text, const std::filesystem::path& file,
                                      const app_settings& settings, const app_kind& kind) {
    return as_program(parse_app(text, file, settings, {&kind, 1}));
}

} // namespace troupe::scheduled
