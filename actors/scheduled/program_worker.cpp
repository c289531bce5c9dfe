#include "actors/scheduled/program_worker.hpp"

#include "actors/scheduled/lost_peer.hpp"
#include "actors/scheduled/part_call.hpp"
#include "actors/scheduled/phase_log.hpp"

namespace troupe::scheduled {

// Computes what a phase asks of a worker.
result<void> program_worker::compute(assignment& a, std::uint32_t schedulers, worker_part& part,
                                     compute_context& context) {
    const std::uint64_t number = a.told.number;
    if (a.due)
        if (auto applied = apply(part, *a.due); !applied)
            return applied;
    if (a.is_saved) {
        auto saved = call_part("save", number, [&] { return part.save(); });
        if (!saved)
            return saved.failure();
        a.saved = std::move(*saved);
    }
    if (a.mark != phase_mark::stop) { // nobody folds that one
        auto computed =
            a.is_folded
                ? call_part("pass", number, [&] { return part.pass(a.told, schedulers, context); })
                : compute_partials(a, part, context);
        if (!computed)
            return computed;
    }
    const auto described = call_part("describe", number, [&] { return part.describe(a.told); });
    if (!described)
        return described.failure();
    a.description = "phase " + std::to_string(number) + ": " + *described;
    return {};
}

result<void> program_worker::apply(worker_part& part, const phase_deltas& deltas) {
    return call_part("apply", deltas.number, [&] { return part.apply(deltas); });
}

result<void> program_worker::compute_partials(assignment& a, worker_part& part,
                                              compute_context& context) {
    if (a.is_turn)
        if (auto own = make_own(a.block.content, context.memory); !own)
            return own;
    for (std::uint32_t s = 0; s < a.partials.size(); ++s) {
        auto partial = call_part(a.told.is_probe ? "probe"
                                 : a.is_turn     ? "turn"
                                                 : "push",
                                 a.told.number, [&] {
                                     return a.told.is_probe ? part.probe(a.told, s, context)
                                            : a.is_turn     ? part.turn(a.told, a.block, context)
                                                            : part.push(a.told, context);
                                 });
        if (!partial)
            return partial.failure();
        a.partials[s] = std::move(*partial);
    }
    return {};
}

bool program_worker::saves_at(phase_mark mark) const noexcept {
    return mark == phase_mark::save ||
           (mark == phase_mark::stop && (options_.result_is_with_workers || options_.saves_end));
}

program_worker::program_worker(actor_context& context, program_worker_options options)
    : actor{context}, options_{std::move(options)}, work_{*this,
                                                          [this](const std::string&,
                                                                 const error& why) { quit(why); }} {
    on<proto::Piece>(&program_worker::take_piece);
    on<proto::StartProgram>(&program_worker::start);
    on<proto::Phase>(&program_worker::take_phase);
    on<proto::BlockTurn>(&program_worker::take_block);
    if (options_.ring)
        shelf_.emplace(*options_.ring, options_.worker);
    show_facts(facts_);
    facts_->set(
        {{"phase", ""}, {"applied", ""}, {"waits", "for its share of the data"}, {"last", ""}});
}

// A few short texts under one lock: it happens once for every phase.
void program_worker::show(std::uint64_t next, std::uint64_t applied, std::string_view last) const {
    facts_->set({{"phase", std::to_string(next)},
                 {"applied", std::to_string(applied)},
                 {"waits", next == next_ ? "for phase " + std::to_string(next) : std::string{}},
                 {"last", last}});
    if (shelf_)
        facts_->set("blocks", shelf_->describe());
}

bool program_worker::is_of_leader(const frame& f) {
    if (f.from() == options_.leader)
        return true;
    reject("only the leader of the run may send this");
    return false;
}

void program_worker::on_down(actor_address who, const error& why) {
    if (auto lost = lost_peer(runtime(), run_, who, why))
        send(options_.leader, std::move(*lost));
}

void program_worker::on_rejected(proto::Rejected::Reader body, const frame& f) {
    // Any actor may write to this one. The end of one of the run is reported to the leader.
    const bool is_of_run = f.from() == options_.leader || run_.has(f.from());
    if (is_of_run && !body.getGone())
        quit(read_failure(body).in("a message was refused"));
}

// ---- data and state ----

void program_worker::take_piece(proto::Piece::Reader body, const frame& f) {
    if (!is_of_leader(f))
        return;
    if (course_ != course::taking || body.getNumber() != pieces_)
        return reject("piece " + std::to_string(body.getNumber()) + " of the data is not the next");
    ++pieces_;
    const bool is_last = body.getLast();
    if (is_last) {
        course_ = course::ready;
        facts_->set("waits", "for the run to begin");
    }
    const auto tensors = std::make_shared<payload>(f.tensors().begin(), f.tensors().end());
    work_.submit(
        *options_.compute,
        {.label = "take data",
         .work = [part = options_.part, tensors, is_last](compute_context&) -> result<void> {
             auto taken = call_part("take_data", [&] { return part->take_data(*tensors); });
             tensors->clear(); // their memory is needed for the next piece
             if (!taken || !is_last)
                 return taken;
             return call_part("data_is_complete", [&] { return part->data_is_complete(); });
         },
         .then =
             [this, number = body.getNumber()] {
                 frame_builder<proto::PieceTaken> taken;
                 taken.body().setNumber(number);
                 send(options_.leader, std::move(taken));
             }});
}

void program_worker::start(proto::StartProgram::Reader body, const frame& f) {
    if (!is_of_leader(f))
        return;
    if (course_ == course::taking)
        return reject("not all of its data has come");
    auto to = run_incarnation::of(body);
    if (to.number <= run_.number || to.workers.size() != options_.workers ||
        to.schedulers.size() != options_.schedulers)
        return reject("not an incarnation of this run that can follow");
    if (!body.hasState() && run_.number > 0)
        return reject("a worker that has computed starts anew from a saved state only");
    auto state = read_state(body.getState(), f.tensors());
    if (!state)
        return reject(state.failure().message());
    if (shelf_ && body.hasState())
        if (auto fits = shelf_->restart(state->number, std::move(state->blocks)); !fits)
            return reject(fits.failure().message());
    work_.forget(); // what it computes for the incarnation before
    arrived_.clear();
    run_ = std::move(to);
    for (const actor_address scheduler : run_.schedulers)
        watch(scheduler);
    if (options_.ring && options_.workers > 1)
        watch(run_.workers[options_.ring->next_worker(options_.worker)]);
    course_ = course::ready;
    facts_->set("waits", "");
    next_ = state->number;
    applied_ = options_.bound().applied_before(next_);
    const auto from = std::make_shared<std::optional<saved_state>>();
    if (body.hasState())
        *from = std::move(*state);
    const auto made = std::make_shared<std::vector<held_block>>(); // in the beginning
    work_.submit(*options_.compute,
                 {.label = "load",
                  .work = [part = options_.part, shelf = shelf_, from,
                           made](compute_context&) -> result<void> {
                      if (*from)
                          return load(*part, **from);
                      if (!shelf)
                          return {};
                      auto blocks = first_blocks(*part, *shelf);
                      if (!blocks)
                          return blocks.failure();
                      *made = std::move(*blocks);
                      return {};
                  },
                  .then =
                      [this, made] {
                          if (!made->empty())
                              if (auto fits = shelf_->restart(0, std::move(*made)); !fits)
                                  return quit(fits.failure());
                          started();
                      }});
}

result<void> program_worker::load(worker_part& part, const saved_state& from) {
    if (auto loaded = call_part("load", from.number, [&] { return part.load(from.part); }); !loaded)
        return loaded;
    for (const phase_deltas& deltas : from.deltas)
        if (auto applied = apply(part, deltas); !applied)
            return applied;
    return {};
}

result<std::vector<held_block>> program_worker::first_blocks(worker_part& part,
                                                             const block_shelf& shelf) {
    std::vector<held_block> blocks;
    for (std::uint64_t turn = 0; turn < shelf.ring().per_worker; ++turn) {
        const std::uint32_t number = shelf.ring().block_of(shelf.worker(), turn);
        auto content = call_part("make_block", [&] { return part.make_block(number); });
        if (!content)
            return content.failure();
        blocks.push_back({number, turn, std::move(*content)});
    }
    return blocks;
}

void program_worker::started() {
    course_ = course::at_work;
    show(next_, applied_, "");
    frame_builder<proto::ProgramReady> ready;
    ready.body().setIncarnation(run_.number);
    send(options_.leader, std::move(ready));
    go_on();
}

// ---- phases ----

void program_worker::take_phase(proto::Phase::Reader body, const frame& f) {
    const message_age age = run_.age_of(body.getIncarnation());
    if (age == message_age::past || course_ == course::ended)
        return;
    const std::uint64_t number = body.getNumber();
    if (age == message_age::future || run_.scheduler(f.from()) != number % options_.schedulers)
        return reject("the sender is not the scheduler of phase " + std::to_string(number));
    const std::uint64_t bound =
        next_ + 2 * (std::uint64_t{options_.window} + options_.schedulers) + 2 + replay_ahead;
    if (number < next_ || number >= bound || arrived_.contains(number))
        return reject("phase " + std::to_string(number) + " is not among the next");
    const auto tensors = f.tensors();
    if (body.getContent() > tensors.size() || body.getMark() > proto::Mark::STOP)
        return reject("phase " + std::to_string(number) + ": its content is not as it says");
    if (options_.ring && options_.ring->is_probe(number) != body.getProbe())
        return reject("phase " + std::to_string(number) + ": a sweep ends with a probe");
    if (options_.ring && body.getFolded())
        return reject("phase " + std::to_string(number) + ": a turn is not passed over");
    auto made = std::make_shared<assignment>();
    const auto content = tensors.first(body.getContent());
    made->told = {number, body.getProbe(), {content.begin(), content.end()}};
    made->mark = static_cast<phase_mark>(body.getMark());
    made->is_saved = saves_at(made->mark);
    made->is_turn = shelf_ && !body.getProbe();
    made->is_folded = body.getFolded();
    made->partials.resize(body.getProbe() ? options_.schedulers : 1);
    if (const auto due = options_.bound().due_with(number)) {
        const auto changes = tensors.subspan(content.size());
        made->due = phase_deltas{*due, {changes.begin(), changes.end()}};
    }
    arrived_.emplace(number, std::move(made));
    if (course_ == course::at_work)
        go_on();
}

void program_worker::take_block(proto::BlockTurn::Reader body, const frame& f) {
    const message_age age = run_.age_of(body.getIncarnation());
    if (age == message_age::past || course_ == course::ended)
        return;
    if (age == message_age::future || !shelf_ || course_ != course::at_work ||
        run_.worker(f.from()) != options_.ring->worker_before(options_.worker))
        return reject("the sender is not the worker before this one");
    const auto tensors = f.tensors();
    auto taken = shelf_->put({body.getBlock(), body.getTurn(), {tensors.begin(), tensors.end()}});
    taken ? go_on() : reject(taken.failure().message());
}

bool program_worker::has_blocks_for(const assignment& a) const {
    if (!shelf_)
        return true;
    if (a.is_saved)
        return shelf_->has_all_at(a.told.number);
    return !a.is_turn || shelf_->has(shelf_->ring().turns_before(a.told.number));
}

void program_worker::go_on() {
    if (arrived_.contains(next_))
        facts_->set("waits", "");
    for (auto found = arrived_.find(next_); found != arrived_.end(); found = arrived_.find(next_)) {
        if (!has_blocks_for(*found->second))
            return facts_->set("waits", "for a block");
        std::shared_ptr<assignment> a = std::move(found->second);
        arrived_.erase(found);
        ++next_;
        if (a->due && a->due->number < applied_)
            a->due.reset(); // in the state that it was started from
        else if (a->due)
            applied_ = a->due->number + 1;
        if (shelf_ && a->is_saved)
            a->blocks = shelf_->all_at(a->told.number);
        if (a->is_turn)
            a->block = shelf_->take(shelf_->ring().turns_before(a->told.number));
        const bool is_end = a->mark == phase_mark::stop;
        submit(std::move(a));
        if (!is_end)
            continue;
        course_ = course::ended;
        return arrived_.clear();
    }
}

void program_worker::submit(std::shared_ptr<assignment> a) {
    work_.submit(
        *options_.compute,
        {.label = a->is_folded       ? "pass"
                  : a->told.is_probe ? "probe"
                                     : "push",
         .number = work_id{a->told.number},
         .version = state_version{applied_},
         .work = [part = options_.part, a, schedulers = options_.schedulers](
                     compute_context& context) { return compute(*a, schedulers, *part, context); },
         .then = [this, a] { computed(*a); }});
}

void program_worker::computed(assignment& a) {
    const std::uint64_t number = a.told.number;
    show(number + 1, options_.bound().applied_before(number), a.description);
    if (a.is_saved && a.mark == phase_mark::stop && options_.result_is_with_workers) {
        send_state(a, frame_builder<proto::ProgramEnded>{});
    } else if (a.is_saved) {
        frame_builder<proto::StateSaved> saved;
        saved.body().setLast(a.mark == phase_mark::stop);
        send_state(a, std::move(saved));
    }
    const auto owner = static_cast<std::uint32_t>(number % options_.schedulers);
    if (a.is_folded) {
        frame_builder<proto::PhasePassed> passed;
        passed.body().setIncarnation(run_.number);
        passed.body().setNumber(number);
        passed.envelope().setWork(number);
        send(run_.schedulers[owner], std::move(passed));
    } else if (!a.told.is_probe) {
        send_partial(owner, a, a.partials.front());
    } else {
        for (std::uint32_t s = 0; s < options_.schedulers; ++s)
            send_partial(s, a, a.partials[s]);
    }
    if (a.is_turn && a.mark != phase_mark::stop)
        hand_on(std::move(a.block));
}

// To the next worker, which is this one if it is alone.
void program_worker::hand_on(held_block block) {
    block.turn = shelf_->ring().next_turn(block.turn);
    const std::uint32_t next = shelf_->ring().next_worker(options_.worker);
    if (next == options_.worker) {
        if (auto kept = shelf_->put(std::move(block)); !kept)
            return quit(kept.failure());
        return go_on();
    }
    frame_builder<proto::BlockTurn> message;
    message.body().setIncarnation(run_.number);
    message.body().setBlock(block.number);
    message.body().setTurn(block.turn);
    message.envelope().setWork(block.turn);
    for (tensor& t : block.content)
        message.attach(std::move(t));
    send(run_.workers[next], std::move(message));
}

void program_worker::send_partial(std::uint32_t scheduler, const assignment& a,
                                  const payload& partial) {
    frame_builder<proto::Partial> message;
    auto body = message.body();
    body.setIncarnation(run_.number);
    body.setNumber(a.told.number);
    body.setProbe(a.told.is_probe);
    body.setMark(static_cast<proto::Mark>(a.mark));
    message.envelope().setWork(a.told.number);
    for (const tensor& t : partial)
        message.attach(t);
    send(run_.schedulers[scheduler], std::move(message));
}

template <class Message>
void program_worker::send_state(const assignment& a, frame_builder<Message> message) {
    message.body().setIncarnation(run_.number);
    message.envelope().setWork(a.told.number);
    std::vector<tensor> tensors;
    saved_state state;
    state.number = a.told.number;
    state.part = a.saved;
    state.blocks = a.blocks;
    write_state(message.body().initState(), state, tensors);
    for (tensor& t : tensors)
        message.attach(std::move(t));
    send(options_.leader, std::move(message));
}

} // namespace troupe::scheduled
