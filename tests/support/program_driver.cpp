#include "tests/support/program_driver.hpp"

#include <algorithm>

#include "kernels/reference/reference.hpp"

namespace troupe::test {

using scheduled::payload;
using scheduled::phase;
using scheduled::phase_deltas;

namespace {

constexpr std::uint64_t memory_max = 4ull << 30;

// FNV-1a over types, sizes and elements.
class hash_of {
  public:
    void add(const payload& p) {
        number(p.size());
        for (const tensor& t : p) {
            number(static_cast<std::uint64_t>(t.type()));
            number(t.elements());
            bytes(t.data(), t.bytes());
        }
    }
    std::uint64_t value() const noexcept { return value_; }

  private:
    void number(std::uint64_t n) { bytes(reinterpret_cast<const std::byte*>(&n), sizeof n); }
    void bytes(const std::byte* data, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i)
            value_ = (value_ ^ static_cast<std::uint64_t>(data[i])) * 0x100000001b3u;
    }

    std::uint64_t value_ = 0xcbf29ce484222325u;
};

std::uint64_t hash(const payload& p) {
    hash_of h;
    h.add(p);
    return h.value();
}

} // namespace

std::vector<scheduled::number_range> ranges_of(std::uint64_t count, std::uint32_t parts) {
    std::vector<scheduled::number_range> ranges;
    std::uint64_t first = 0;
    for (std::uint32_t i = 0; i < parts; ++i) {
        const std::uint64_t size = count / parts + (i < count % parts ? 1 : 0);
        ranges.push_back({first, size});
        first += size;
    }
    return ranges;
}

program_driver::program_driver(driven_run run, const matrix_rows& rows)
    : run_{std::move(run)}, rows_{rows}, memory_{memory_max}, operations_{
                                                                  make_reference_operations()} {}

scheduled::program_site program_driver::site() const {
    scheduled::program_site site;
    site.settings = run_.settings;
    site.schedule = run_.schedule;
    site.stop = run_.stop;
    site.memory = const_cast<memory_pool*>(&memory_);
    site.unit_norm = run_.unit_norm;
    site.seed = run_.seed;
    site.data = run_.source ? run_.source->shape()
                            : scheduled::data_shape{rows_.rows(), rows_.columns,
                                                    rows_.values.size(), rows_.is_sparse()};
    site.workers = run_.workers;
    site.variables = ranges_of(site.data.columns, run_.schedulers);
    if (rotates())
        site.blocks = ranges_of(site.data.columns, site.ring().blocks());
    return site;
}

std::vector<scheduled::number_range> program_driver::shares() const {
    if (run_.source)
        return {run_.workers, {0, run_.source->shape().rows}};
    return ranges_of(rows_.rows(), run_.workers);
}

// ---- parts ----

result<void> program_driver::make_parts() {
    if (auto fits = run_.program.check ? run_.program.check(site()) : result<void>{}; !fits)
        return fits;
    schedulers_.clear();
    workers_.clear();
    for (std::uint32_t i = 0; i < run_.schedulers; ++i) {
        auto made = run_.program.make_scheduler({site(), i});
        if (!made)
            return made.failure();
        schedulers_.push_back(std::move(*made));
    }
    workers_.resize(run_.workers);
    for (std::uint32_t i = 0; i < run_.workers; ++i)
        if (auto made = make_worker(i); !made)
            return made;
    return {};
}

result<void> program_driver::make_worker(std::uint32_t i) {
    const scheduled::number_range share = shares()[i];
    std::uint64_t entries =
        run_.source ? run_.source->shape().entries : share.count * rows_.columns;
    if (rows_.is_sparse())
        entries = static_cast<std::uint64_t>(rows_.starts[share.first + share.count] -
                                             rows_.starts[share.first]);
    auto made = run_.program.make_worker({site(), i, share, entries});
    if (!made)
        return made.failure();
    workers_[i] = std::move(*made);
    return run_.source ? deal_source(*workers_[i]) : deal(*workers_[i], share);
}

// By the workers that have them first.
result<void> program_driver::make_blocks() {
    if (!rotates())
        return {};
    const scheduled::rotation ring = site().ring();
    for (std::uint32_t b = 0; b < ring.blocks(); ++b) {
        auto content = workers_[b / ring.per_worker]->make_block(b);
        if (!content)
            return content.failure();
        result_.blocks.push_back({b, 0, std::move(*content)});
    }
    return {};
}

result<void> program_driver::start_anew() {
    auto saved = end();
    if (!saved)
        return saved.failure();
    saved->unapplied.clear();
    if (auto made = make_parts(); !made)
        return made;
    return load(*saved);
}

result<void> program_driver::load(const scheduled::carried_run& from) {
    for (std::size_t i = 0; i < schedulers_.size(); ++i)
        if (auto loaded = schedulers_[i]->load(from.schedulers[i]); !loaded)
            return loaded;
    for (std::size_t i = 0; i < workers_.size(); ++i) {
        if (auto loaded = workers_[i]->load(from.workers[i]); !loaded)
            return loaded;
        for (const phase_deltas& deltas : from.unapplied)
            if (auto applied = workers_[i]->apply(deltas); !applied)
                return applied;
    }
    return {};
}

result<scheduled::carried_run> program_driver::end() const {
    scheduled::carried_run run{result_.phases, {}, {}, deltas_};
    for (const auto& part : schedulers_) {
        auto saved = part->save();
        if (!saved)
            return saved.failure();
        run.schedulers.push_back(std::move(*saved));
    }
    for (const auto& part : workers_) {
        auto saved = part->save();
        if (!saved)
            return saved.failure();
        run.workers.push_back(std::move(*saved));
    }
    return run;
}

// ---- phases ----

result<void> program_driver::choose(std::uint64_t number) {
    random_stream random{run_.seed, number};
    auto chosen = schedulers_[number % run_.schedulers]->schedule(number, random);
    if (!chosen)
        return chosen.failure();
    result_.contents.push_back(hash(chosen->content));
    result_.sizes.push_back(
        chosen->is_probe || chosen->content.empty() ? 0 : chosen->content.front().elements());
    phases_.push_back(std::move(*chosen));
    return {};
}

scheduled::staleness program_driver::bound() const {
    return {run_.schedule.window,
            rotates() ? std::optional{site().ring()} : std::optional<scheduled::rotation>{}};
}

// The phases that are chosen when so many have been folded.
result<void> program_driver::choose_possible(std::uint64_t folded) {
    for (; bound().applied_before(chosen_) <= folded; ++chosen_)
        if (auto chosen = choose(chosen_); !chosen)
            return chosen;
    return {};
}

result<void> program_driver::apply_earlier(std::uint64_t number) {
    const auto due = bound().due_with(number);
    for (const phase_deltas& earlier : deltas_)
        if (earlier.number == due)
            for (const auto& worker : workers_)
                if (auto applied = worker->apply(earlier); !applied)
                    return applied;
    std::erase_if(deltas_, [before = bound().applied_before(number)](const phase_deltas& d) {
        return d.number < before;
    });
    return {};
}

// What all workers compute, for a probe for this scheduler.
result<std::vector<payload>> program_driver::compute(const phase& p, std::uint32_t scheduler) {
    std::vector<payload> partials;
    for (std::uint32_t w = 0; w < run_.workers; ++w) {
        auto partial = compute_one(p, w, scheduler);
        if (!partial)
            return partial.failure();
        partials.push_back(std::move(*partial));
    }
    return partials;
}

result<payload> program_driver::compute_one(const phase& p, std::uint32_t worker,
                                            std::uint32_t scheduler) {
    compute_context context{*operations_, memory_};
    scheduled::worker_part& part = *workers_[worker];
    if (p.is_probe)
        return part.probe(p, scheduler, context);
    if (!rotates())
        return part.push(p, context);
    const scheduled::rotation ring = site().ring();
    const std::uint64_t turn = ring.turns_before(p.number);
    scheduled::held_block& block = result_.blocks[ring.block_of(worker, turn)];
    block.turn = turn;
    return part.turn(p, block, context);
}

result<void> program_driver::fold(const phase& p) {
    const auto owner = static_cast<std::uint32_t>(p.number % run_.schedulers);
    const auto partials = compute(p, owner);
    if (!partials)
        return partials.failure();
    auto changes = schedulers_[owner]->pull(p, deltas_, *partials);
    if (!changes)
        return changes.failure();
    result_.changes.push_back(hash(*changes));
    deltas_.push_back({p.number, std::move(*changes)});
    if (run_.replayed)
        kept_.changes.push_back(deltas_.back().changes);
    for (std::uint32_t i = 0; i < run_.schedulers; ++i)
        if (i != owner)
            if (auto absorbed = schedulers_[i]->absorb(deltas_.back()); !absorbed)
                return absorbed;
    return {};
}

result<void> program_driver::fold_probe(const phase& p) {
    std::vector<std::vector<payload>> partials(run_.schedulers);
    for (std::uint32_t i = 0; i < run_.schedulers; ++i) {
        auto computed = compute(p, i);
        if (!computed)
            return computed.failure();
        partials[i] = std::move(*computed);
    }
    std::vector<payload> judgements;
    hash_of all;
    for (std::uint32_t i = 0; i < run_.schedulers; ++i) {
        auto judgement = schedulers_[i]->judge(p.number, deltas_, partials[i]);
        if (!judgement)
            return judgement.failure();
        all.add(*judgement);
        judgements.push_back(std::move(*judgement));
    }
    result_.changes.push_back(all.value());
    deltas_.push_back({p.number, {}});
    if (run_.replayed)
        kept_.changes.emplace_back();
    for (std::uint32_t i = 0; i < run_.schedulers; ++i) {
        auto standing = schedulers_[i]->conclude(p.number, judgements);
        if (!standing)
            return standing.failure();
        if (i == 0)
            result_.standings.push_back(*standing);
        TROUPE_CHECK(standing->is_done == result_.standings.back().is_done,
                     "schedulers conclude different things from the same judgements");
    }
    result_.is_done |= result_.standings.back().is_done;
    return {};
}

result<driven_result> program_driver::run() {
    if (auto made = make_parts(); !made)
        return made.failure();
    if (auto made = make_blocks(); !made)
        return made.failure();
    const std::uint64_t begin = run_.start ? run_.start->phase : 0;
    if (run_.start)
        if (auto loaded = load(*run_.start); !loaded)
            return loaded.failure();
    for (std::uint64_t n = bound().applied_before(begin); n < begin; ++n)
        deltas_.push_back({n, {}}); // they are in what it started from
    result_.phases = chosen_ = begin;
    if (auto chosen = choose_possible(begin); !chosen)
        return chosen.failure();
    std::uint64_t end = run_.phases_max;
    for (std::uint64_t m = begin; m < end; ++m) {
        if (m == run_.restart)
            if (auto restarted = start_anew(); !restarted)
                return restarted.failure();
        if (run_.replayed && m == run_.replayed->at)
            if (auto replayed = replay(); !replayed)
                return replayed.failure();
        if (auto applied = apply_earlier(m); !applied)
            return applied.failure();
        const phase p = std::move(phases_.front());
        phases_.pop_front();
        if (auto kept = keep_for_replay(p); !kept)
            return kept.failure();
        if (auto folded = p.is_probe ? fold_probe(p) : fold(p); !folded)
            return folded.failure();
        ++result_.phases;
        if (p.is_probe && result_.standings.back().is_done)
            end =
                std::min(end, run_.program.result_is_with_workers ? bound().first_after(m) : m + 1);
        if (m + 1 == end)
            break;
        if (auto chosen = choose_possible(m + 1); !chosen)
            return chosen.failure();
    }
    if (auto saved = save_all(); !saved)
        return saved.failure();
    return std::move(result_);
}

// As at the phase that is next.
result<void> program_driver::save_all() {
    for (const auto& part : schedulers_) {
        auto saved = part->save();
        if (!saved)
            return saved.failure();
        result_.saved.push_back(std::move(*saved));
    }
    if (!run_.program.result_is_with_workers)
        return {};
    if (auto applied = apply_earlier(result_.phases); !applied)
        return applied;
    for (const auto& part : workers_) {
        auto saved = part->save();
        if (!saved)
            return saved.failure();
        result_.saved_workers.push_back(std::move(*saved));
    }
    return {};
}

} // namespace troupe::test
