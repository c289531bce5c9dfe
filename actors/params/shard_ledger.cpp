#include "actors/params/shard_ledger.hpp"

#include <algorithm>
#include <cmath>

#include "schemas/base/check.hpp"

namespace troupe {

shard_ledger::shard_ledger(const consistency& rule, std::size_t workers)
    : rule_{rule}, clocks_{workers}, workers_(workers) {
    for (std::size_t w = 0; w < workers; ++w) {
        workers_[w].unseen.resize(workers);
        clocks_.finish(w); // no epoch has begun
    }
}

void shard_ledger::start_at(std::uint64_t version) {
    version_ = version;
    for (worker_state& w : workers_)
        w.run_clock = version / workers_.size();
}

void shard_ledger::begin_epoch() {
    TROUPE_CHECK(epoch_is_over(), "an epoch begins when the one before is over");
    clocks_ = worker_clocks{workers_.size()};
    for (std::size_t w = 0; w < workers_.size(); ++w) {
        workers_[w].pushes = 0;
        workers_[w].sight = reading::not_yet;
        if (workers_[w].gone)
            clocks_.finish(w);
    }
}

bool shard_ledger::epoch_is_over() const noexcept {
    return clocks_.all_done() && arrived_.empty() && under_way_.empty();
}

bool shard_ledger::push(const arrived_push& arrived) {
    worker_state& worker = workers_[arrived.worker];
    worker.sight = reading::not_yet;
    ++worker.pushes;
    ++worker.run_clock;
    // Once an update is under way, gradients of its version come late.
    if (rule_.backups && (arrived.version != version_ || !under_way_.empty())) {
        ++dropped_;
        clocks_.tick(arrived.worker);
        return false;
    }
    ++worker.unapplied;
    arrived_.push_back(arrived);
    return true;
}

// Number of arrived pushes that make an update now; 0: no update is due.
std::size_t shard_ledger::due() const {
    if (arrived_.empty())
        return 0;
    if (rule_.is_synchronous()) {
        for (std::size_t w = 0; w < workers_.size(); ++w)
            if (!clocks_.is_done(w) && workers_[w].unapplied == 0)
                return 0;
        return arrived_.size();
    }
    // Backup workers are counted among the active ones: a worker that has finished or is lost pushes no more. An update
    // still does without as many of them: one that another shard's last update did without may wait there for workers that
    // would wait for it here.
    const std::size_t of =
        rule_.backups ? std::max<std::size_t>(1, clocks_.active()) : workers_.size();
    std::size_t needed = rule_.gradients_per_update(of);
    if (rule_.splits && clocks_.all_done()) // the rest at the end of the epoch
        needed = std::min(needed, arrived_.size());
    return arrived_.size() >= needed ? needed : 0;
}

std::optional<std::vector<arrived_push>> shard_ledger::next() {
    const std::size_t count = under_way_.empty() ? due() : 0;
    if (count == 0)
        return std::nullopt;
    const auto end = arrived_.begin() + static_cast<std::ptrdiff_t>(count);
    under_way_.assign(arrived_.begin(), end);
    arrived_.erase(arrived_.begin(), end);
    // One more push, or one worker less, completes an update exactly: none has arrived beside it that
    // would have to be dropped.
    TROUPE_CHECK(!rule_.backups || arrived_.empty(), "an update is made as soon as it is due");
    std::ranges::stable_sort(under_way_, {}, &arrived_push::worker);
    return under_way_;
}

void shard_ledger::settle() {
    for (const arrived_push& p : under_way_) {
        --workers_[p.worker].unapplied;
        clocks_.tick(p.worker);
    }
    under_way_.clear();
}

void shard_ledger::applied(double change) {
    TROUPE_CHECK(!under_way_.empty(), "an update that is under way is applied");
    if (rule_.bound)
        for (const arrived_push& p : under_way_)
            for (double& unseen : workers_[p.worker].unseen)
                unseen += change;
    ++version_;
    settle();
}

void shard_ledger::skipped() {
    dropped_ += under_way_.size();
    settle();
}

// The farthest of the workers that have yet to push before the next update, as backup workers may do without the slowest;
// none if that update is due or under way.
std::optional<std::size_t> shard_ledger::missing() const {
    std::optional<std::size_t> missing;
    if (!under_way_.empty() || due() > 0)
        return missing;
    for (std::size_t w = 0; w < workers_.size(); ++w)
        if (!clocks_.is_done(w) && workers_[w].unapplied == 0 &&
            (!missing || clocks_.of(w) > clocks_.of(*missing)))
            missing = w;
    return missing;
}

// For value-bounded. A worker whose own read is pending will have seen all changes before it computes again.
std::optional<std::size_t> shard_ledger::waits_for_sight(std::size_t worker) const {
    const worker_state& own = workers_[worker];
    const double most = double{*rule_.bound} /
                        std::sqrt(static_cast<double>(std::max<std::uint64_t>(1, own.run_clock)));
    for (std::size_t w = 0; w < workers_.size(); ++w)
        if (w != worker && !clocks_.is_done(w) && workers_[w].sight != reading::asks &&
            own.unseen[w] > most)
            return w;
    return std::nullopt;
}

std::optional<std::size_t> shard_ledger::waits_for(std::size_t worker) const {
    if (!rule_.splits && workers_[worker].unapplied > 0)
        return rule_.is_never_late() ? missing().value_or(worker) : worker;
    if (rule_.bound && workers_[worker].pushes > 0)
        return waits_for_sight(worker);
    return troupe::waits_for(rule_, clocks_, workers_[worker].pushes);
}

void shard_ledger::read(std::size_t worker) {
    workers_[worker].sight = reading::is_answered;
    for (worker_state& w : workers_)
        w.unseen[worker] = 0;
}

bool shard_ledger::calls_back(std::size_t worker) {
    if (!rule_.bound || workers_[worker].sight != reading::is_answered)
        return false;
    workers_[worker].sight = reading::is_called_back;
    return true;
}

void shard_ledger::join(std::size_t worker) {
    TROUPE_CHECK(epoch_is_over(), "workers join between two epochs");
    workers_[worker].gone = false;
}

void shard_ledger::lose(std::size_t worker) {
    workers_[worker].gone = true;
    workers_[worker].sight = reading::not_yet;
    clocks_.finish(worker);
}

} // namespace troupe
