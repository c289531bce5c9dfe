#include "actors/run/run_events.hpp"

#include "actors/runtime/failure.hpp"

namespace troupe {

namespace {

using texts_builder = capnp::List<capnp::Text>::Builder;
using texts_reader = capnp::List<capnp::Text>::Reader;

unsigned count(const auto& list) {
    return static_cast<unsigned>(list.size());
}

void write(texts_builder to, const std::vector<std::string>& from) {
    for (unsigned i = 0; i < to.size(); ++i)
        to.set(i, from[i].c_str());
}

std::vector<std::string> read(texts_reader from) {
    std::vector<std::string> texts;
    for (const auto text : from)
        texts.emplace_back(text.cStr());
    return texts;
}

} // namespace

void write_numbers(capnp::List<proto::NamedNumber>::Builder to,
                   const std::vector<named_number>& from) {
    for (unsigned i = 0; i < to.size(); ++i) {
        to[i].setName(from[i].name.c_str());
        to[i].setValue(from[i].value);
        to[i].setStyle(from[i].style);
    }
}

std::vector<named_number> read_numbers(capnp::List<proto::NamedNumber>::Reader from) {
    std::vector<named_number> numbers;
    for (const auto number : from)
        numbers.push_back({number.getName().cStr(), number.getValue(), number.getStyle()});
    return numbers;
}

frame_builder<proto::RunStarted> event_of(std::uint64_t run, const run_started& e) {
    frame_builder<proto::RunStarted> made;
    auto body = made.body();
    body.setRun(run);
    body.setNodes(e.nodes);
    body.setMilestone(e.milestone.c_str());
    body.setMilestones(e.milestones);
    body.setPlan(e.plan.c_str());
    body.setPlanJson(e.plan_json.c_str());
    write(body.initNotes(count(e.notes)), e.notes);
    body.setResumedFrom(e.resumed_from.c_str());
    return made;
}

frame_builder<proto::RunProgress> event_of(std::uint64_t run, const run_progress& e) {
    frame_builder<proto::RunProgress> made;
    auto body = made.body();
    body.setRun(run);
    body.setMilestone(e.milestone);
    body.setDone(e.done);
    body.setPieces(e.pieces);
    body.setPiece(e.piece.c_str());
    body.setElapsedNs(static_cast<std::uint64_t>(e.elapsed.count()));
    write_numbers(body.initNumbers(count(e.numbers)), e.numbers);
    return made;
}

frame_builder<proto::RunMilestone> event_of(std::uint64_t run, const run_milestone& e) {
    frame_builder<proto::RunMilestone> made;
    made.body().setRun(run);
    made.body().setMilestone(e.milestone);
    write_numbers(made.body().initNumbers(count(e.numbers)), e.numbers);
    return made;
}

frame_builder<proto::RunNote> event_of(std::uint64_t run, const run_note& e) {
    frame_builder<proto::RunNote> made;
    made.body().setRun(run);
    made.body().setSentence(e.sentence.c_str());
    return made;
}

frame_builder<proto::RunFinished> event_of(std::uint64_t run, const run_finished& e) {
    frame_builder<proto::RunFinished> made;
    auto body = made.body();
    body.setRun(run);
    if (e.failure)
        write_failure(body.initFailure(), *e.failure);
    body.setSaved(e.saved.c_str());
    body.setMilestones(e.milestones);
    write_numbers(body.initNumbers(count(e.numbers)), e.numbers);
    write(body.initRemarks(count(e.remarks)), e.remarks);
    write(body.initActors(count(e.actors)), e.actors);
    body.setJson(e.json.c_str());
    write(body.initDoubts(count(e.doubts)), e.doubts);
    return made;
}

// ---- the listener's side ----

listening_actor::listening_actor(actor_context& context, actor_address root, run_listener& to)
    : actor{context}, root_{root}, to_{to} {
    on<proto::RunStarted>(&listening_actor::started);
    on<proto::RunProgress>(&listening_actor::progressed);
    on<proto::RunMilestone>(&listening_actor::reached);
    on<proto::RunNote>(&listening_actor::noted);
    on<proto::RunFinished>(&listening_actor::finished);
}

bool listening_actor::is_of_root(const frame& f) {
    if (f.from() == root_)
        return true;
    reject("the sender is not the root of this run");
    return false;
}

void listening_actor::on_down(actor_address, const error& why) {
    to_.finished(
        {.failure = error{errc::lost, "the run has ended unexpectedly: " + why.message()}});
    quit();
}

void listening_actor::started(proto::RunStarted::Reader body, const frame& f) {
    if (is_of_root(f))
        to_.started({.nodes = body.getNodes(),
                     .milestone = body.getMilestone().cStr(),
                     .milestones = body.getMilestones(),
                     .plan = body.getPlan().cStr(),
                     .plan_json = body.getPlanJson().cStr(),
                     .notes = read(body.getNotes()),
                     .resumed_from = body.getResumedFrom().cStr()});
}

void listening_actor::progressed(proto::RunProgress::Reader body, const frame& f) {
    if (is_of_root(f))
        to_.progressed({.milestone = body.getMilestone(),
                        .done = body.getDone(),
                        .pieces = body.getPieces(),
                        .piece = body.getPiece().cStr(),
                        .elapsed = duration{static_cast<std::int64_t>(body.getElapsedNs())},
                        .numbers = read_numbers(body.getNumbers())});
}

void listening_actor::reached(proto::RunMilestone::Reader body, const frame& f) {
    if (is_of_root(f))
        to_.reached({body.getMilestone(), read_numbers(body.getNumbers())});
}

void listening_actor::noted(proto::RunNote::Reader body, const frame& f) {
    if (is_of_root(f))
        to_.noted({body.getSentence().cStr()});
}

void listening_actor::finished(proto::RunFinished::Reader body, const frame& f) {
    if (!is_of_root(f))
        return;
    to_.finished({.failure = body.hasFailure() ? std::optional{read_failure(body.getFailure())}
                                               : std::nullopt,
                  .saved = body.getSaved().cStr(),
                  .milestones = body.getMilestones(),
                  .numbers = read_numbers(body.getNumbers()),
                  .remarks = read(body.getRemarks()),
                  .actors = read(body.getActors()),
                  .json = body.getJson().cStr(),
                  .doubts = read(body.getDoubts())});
    unwatch(root_);
    quit();
}

} // namespace troupe
