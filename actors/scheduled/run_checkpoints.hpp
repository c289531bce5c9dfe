// Commits of runs of programs on disk, from which --resume goes on.
//
//     DIRECTORY/phase-000000001280/manifest.json            program, data, shape of the run, files with their SHA-256
//     DIRECTORY/phase-000000001280/worker-0.safetensors     state by names: "part.residual", "block.7.0"
//     DIRECTORY/phase-000000001280/scheduler-0.safetensors  "part.b", "phase.1280.0", "deltas.1278.0", "end.b"
//
// What a scheduler has ended with ("end") is written as far as it is not what its part is.
//
// A checkpoint appears whole or not at all (actors/checkpoint/checkpoint_folder.hpp).
//
// Threads: one at a time. Blocks on files. Errors: errc::io with the file's name; errc::data for a damaged checkpoint;
// errc::usage if another run uses the folder, or if the checkpoint is of another program, of other data or of other
// settings, which it names.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "actors/app_file/app_file.hpp"
#include "actors/checkpoint/checkpoint_folder.hpp"
#include "actors/scheduled/carry_over.hpp"
#include "actors/scheduled/data_pieces.hpp"
#include "actors/scheduled/saved_state.hpp"

namespace troupe::scheduled {

// The identity of a checkpoint: a run goes on only from one of the same.
struct checkpoint_identity {
    std::string program;
    std::vector<app_value> settings; // what the app file says and carry_over.hpp cannot change
    // Digests of the files among them, whose names may be others then.
    std::vector<data_digest> data = {};
};

// A commit: what all actors of a run were at a phase, workers first, then schedulers.
struct saved_commit {
    commit_shape shape;
    std::vector<saved_state> members;
    // Ends of a run that is over, by member: what schedulers have ended with, if that was at a phase before the commit.
    std::map<std::size_t, saved_state> ends;
};

class run_checkpoints {
  public:
    // `keep`: the newest ones that are kept, at least 1.
    static result<run_checkpoints> open(std::filesystem::path directory, std::uint32_t keep,
                                        checkpoint_identity of);

    // The newest commit; none if there is no checkpoint. Its tensors are in memory of `memory`. If it is damaged, the error
    // names the newest one that is whole.
    result<std::optional<saved_commit>> latest(memory_pool& memory) const;
    // The folder of the newest checkpoint; empty if there is none.
    std::filesystem::path latest_folder() const;
    // Writes a commit. Returns its folder.
    result<std::filesystem::path> save(const saved_commit& commit);
    // Deletes all but the newest. Apart from save(), as a commit is saved whether others go or stay.
    result<void> delete_older();

  private:
    run_checkpoints(checkpoint_folder folder, std::uint32_t keep, checkpoint_identity of)
        : folder_{std::move(folder)}, keep_{keep}, of_{std::move(of)} {}

    std::vector<std::filesystem::path> all() const; // checkpoints, oldest first
    result<saved_commit> load(const std::filesystem::path& checkpoint, memory_pool& memory) const;

    checkpoint_folder folder_;
    std::uint32_t keep_;
    checkpoint_identity of_;
};

} // namespace troupe::scheduled
