// A commit of a run, made into what another run goes on from: one with another window, with other numbers of schedulers or
// workers, or with another gap, length or number of iterations to stop at after the first one came to its end. The result
// of that run depends on where it was taken over, so it is not bit for bit the one of a run from the beginning; but it is
// the same whatever happens to it.
//
// At a commit phases are under way, which were chosen for the old window and by the old schedulers: they are dropped. What
// schedulers have folded and workers have not applied yet, each worker applies before it begins, so that all are at the same
// phase; and to the new run the phases before that one changed nothing, so that nothing is in flight. What becomes of the
// parts is the program's to say (program::carry_over).
//
// Threads: pure. Errors: errc::usage with what the run has to be like; errc::data if the commit is none of such a run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "actors/scheduled/program.hpp"
#include "actors/scheduled/saved_state.hpp"

namespace troupe::scheduled {

// The numbers that a commit depends on, beside what makes runs the same.
struct commit_shape {
    std::uint32_t workers = 0;
    std::uint32_t schedulers = 0;
    std::uint32_t window = 0;
    double gap = 0; // stop.gap, stop.length, stop.iterations: with others the end of a run is none
    std::uint64_t length = 0;
    std::uint64_t iterations = 0;
};

// "2 workers, 1 shard and window 2"
std::string text_of(const commit_shape& shape);

// Whether a run goes on from a commit as it is.
bool goes_on_as_it_is(const commit_shape& from, const commit_shape& to,
                      const std::vector<saved_state>& commit);

// The states of the members of `now`, workers first, from those of `before`.
result<std::vector<saved_state>> carry_over(const program& what, const carried_site& before,
                                            const carried_site& now,
                                            std::vector<saved_state> commit);

} // namespace troupe::scheduled
