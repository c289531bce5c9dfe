// The driver of programs: workers that replay.
#include "tests/support/program_driver.hpp"

namespace troupe::test {

using scheduled::phase;

// At phase p, when its deltas have been applied, and before it is computed.
result<void> program_driver::keep_for_replay(const phase& p) {
    if (!run_.replayed || p.number < run_.replayed->from || p.number >= run_.replayed->at)
        return {};
    if (p.number == run_.replayed->from)
        for (const auto& worker : workers_) {
            auto saved = worker->save();
            if (!saved)
                return saved.failure();
            kept_.workers.push_back(std::move(*saved));
        }
    kept_.phases.push_back(p);
    return {};
}

result<void> program_driver::replay() {
    compute_context context{*operations_, memory_};
    for (std::uint32_t w = 0; w < run_.workers; ++w) {
        if (auto made = make_worker(w); !made)
            return made;
        scheduled::worker_part& part = *workers_[w];
        if (auto loaded = part.load(kept_.workers[w]); !loaded)
            return loaded;
        for (const phase& p : kept_.phases) {
            const auto due = bound().due_with(p.number);
            if (due && p.number > kept_.phases.front().number)
                if (auto applied = part.apply({*due, kept_.changes.at(*due)}); !applied)
                    return applied;
            if (auto passed = part.pass(p, run_.schedulers, context); !passed)
                return passed;
        }
    }
    return {};
}

} // namespace troupe::test
