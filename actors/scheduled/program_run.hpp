// The ProgramRun (schemas/scheduled.capnp) that the actors of a program's run are told, and the roles by which agents
// spawn them.
//
// Threads: as in actors/agent/role.hpp. Errors: options come from other nodes; everything is checked before a part is made.
#pragma once

#include <memory>
#include <vector>

#include "actors/agent/role.hpp"
#include "actors/scheduled/balance.hpp"
#include "actors/scheduled/carry_over.hpp"
#include "actors/scheduled/program.hpp"
#include "schemas/program_app.capnp.h"
#include "schemas/scheduled.capnp.h"

namespace troupe::scheduled {

schedule_settings read_schedule(proto::ProgramSchedule::Reader from);
stop_settings read_stop(proto::ProgramStop::Reader from);

// Everything that leads to a run: the app file, its program, and the shares.
struct program_run {
    proto::ProgramApp::Reader app; // must outlive it
    const program* what = nullptr;
    run_shares shares;
};

void write_run(proto::ProgramRun::Builder to, const program_run& run);
commit_shape shape_of(const program_run& run);
program_site site_of(const program_run& run, memory_pool& memory);

// Whether workers save what they are when the run ends, too: blocks are with them.
bool ends_with_workers(const program& what, schedule_kind by);
inline bool ends_with_workers(const program_run& run) {
    return ends_with_workers(*run.what, read_schedule(run.app.getSchedule()).kind);
}

inline constexpr const char* scheduler_role = "scheduler";
inline constexpr const char* worker_role = "program-worker";

// Rows for agents whose nodes have these programs.
std::vector<role> program_roles(std::shared_ptr<const program_table> programs);

} // namespace troupe::scheduled
