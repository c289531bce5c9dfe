#include "actors/training/run_sentences.hpp"

#include <vector>

#include "actors/runtime/well_known.hpp"
#include "schemas/base/nearest.hpp"
#include "schemas/base/quantities.hpp"

namespace troupe {

std::string stopped_in_order(const run_standing& run) {
    const std::uint32_t epochs = run.course.epoch();
    const std::uint64_t minibatches = run.course.minibatches_done_of_epoch();
    const std::string epoch = std::to_string(epochs + (minibatches > 0 ? 1 : 0));
    const std::string where =
        minibatches > 0
            ? "in epoch " + epoch + " after " + std::to_string(minibatches) + " of " +
                  std::to_string(run.course.shape().minibatches_of(epochs)) + " minibatches"
        : epochs > 0 ? "after epoch " + epoch
                     : "before the first minibatch";
    return "stopped " + where +
           (run.checkpoint ? ", saved in " + *run.checkpoint + "; go on from there with --resume"
                           : "; nothing was saved: the app names no checkpoint.directory");
}

std::string stopped_at_once(const run_standing& run, bool again) {
    const std::string stopped =
        again ? "stopped at once by a second signal; " : "stopped before training; ";
    // Only the background thread's WorkDone tells whether the checkpoint is in its place.
    if (run.course.phase() == run_phase::writing)
        return stopped + "the last checkpoint may or may not have been finished" +
               (run.checkpoint ? ", the one before it is " + *run.checkpoint : "") +
               "; --resume goes on from the newest that was";
    if (run.checkpoint)
        return stopped + "the last checkpoint is " + *run.checkpoint +
               "; go on from it with --resume";
    return stopped + "nothing was saved" +
           (run.course.saves() ? "" : ": the app names no checkpoint.directory");
}

std::string how_to_go_on(const run_standing& run) {
    if (run.checkpoint)
        return "; the last checkpoint is " + *run.checkpoint + ", go on from it with --resume";
    return run.course.saves() ? "; no checkpoint was saved yet"
                              : "; nothing was saved: the app names no checkpoint.directory";
}

error ended_by_loss(const run_standing& run, const error& why, const std::string& what) {
    // A node that has given the run up is there, and nothing is wrong with what it carried.
    const std::string carried = why.code() == errc::refused ? "" : "; it carried " + what;
    return {errc::lost, why.message() + carried + how_to_go_on(run)};
}

std::string carried_by(actor_address who, const plan& p, const training_cast& cast) {
    const auto shard = [&](std::size_t placement) {
        if (!cast.all(run_role::shard)[placement] || !p.sync.bears_loss())
            return std::string{};
        return " with a shard of its parameter server, without which no run goes on" +
               std::string{cast.has_other_shards(placement)
                               ? " (with parameter_server.shards: 1 only the first replica has one)"
                               : ""};
    };
    std::string what;
    for (std::size_t placement = 0; placement < cast.placements(); ++placement) {
        const actor_address agent{cast.where(placement).node, well_known::agent};
        if (who == cast.all(run_role::stage)[placement] || who == agent)
            what += (what.empty() ? "" : ", ") + cast.describe(placement) + shard(placement);
    }
    return what;
}

std::string note_of_loss(const plan& p, const run_course& course, const std::string& why,
                         std::uint64_t minibatches) {
    return why + "; the run goes on with " + std::to_string(course.replicas_left()) + " of " +
           std::to_string(p.replicas) + " replicas" +
           (minibatches == 0 ? ""
                             : "; " + counted(minibatches, "minibatch", "minibatches") +
                                   " that it had will not be trained on in this epoch") +
           (p.sync.accrues() ? "; gradients that it had summed up and not pushed are lost" : "");
}

error without_replica(std::uint32_t replica) {
    return {errc::cancelled, "the run goes on without replica " + std::to_string(replica)};
}

// A stage makes its weights first, whose size does not depend on the batch.
error advised(const run_standing& run, const error& why, const memory_ways& ways) {
    const bool is_of_weights = run.course.phase() == run_phase::connecting;
    const batch_sizes& sizes = run.course.shape().batch;
    const std::uint32_t batch = sizes.at(run.course.epoch());
    const std::string key = batch > sizes.first ? "train.batch_growth.maximum" : "train.batch";
    if (why.code() == errc::exhausted) {
        std::vector<std::string> words{is_of_weights || batch == 1 ? "smaller layers"
                                                                   : "a smaller " + key};
        if (ways.more_stages)
            words.emplace_back("more stages");
        return {why.code(), why.message() + "; use " + alternatives(words) + ways.elsewhere};
    }
    if (why.code() == errc::numeric)
        return {why.code(),
                why.message() + "; a smaller learning_rate (train.optimizer) may help" +
                    (run.checkpoint ? "; the last good checkpoint is " + *run.checkpoint : "")};
    if (why.code() == errc::lost) // of a device, or of more replicas than an update can do without
        return {why.code(), why.message() + how_to_go_on(run)};
    return why;
}

} // namespace troupe
