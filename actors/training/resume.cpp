#include "actors/training/resume.hpp"

#include <capnp/message.h>

#include <algorithm>
#include <ranges>
#include <set>

#include "actors/app_file/app_file.hpp"
#include "actors/pipeline/shape/replica_sync.hpp"
#include "actors/training/plan/planned_rate.hpp"
#include "actors/training/plan/training_app.hpp"
#include "kernels/graph/stage_program.hpp"
#include "kernels/optim/learning_rate.hpp"
#include "kernels/optim/optimizer.hpp"
#include "kernels/optim/run_shape.hpp"
#include "schemas/base/limits.hpp"
#include "schemas/base/nearest.hpp"
#include "schemas/base/printable.hpp"
#include "schemas/base/quantities.hpp"

namespace troupe {

bool is_another_vocabulary(const std::string& learned, const std::string& at_hand) noexcept {
    return !learned.empty() && !at_hand.empty() && learned != at_hand;
}

namespace {

// The differences from the run that saved the checkpoint which prevent resuming it.
std::vector<std::string> other_than_saved(proto::App::Reader app, const data_sets& data,
                                          const checkpoint_progress& saved) {
    std::vector<std::string> others;
    const auto compare = [&](const char* what, std::uint64_t then, std::uint64_t now) {
        if (then != now)
            others.push_back(std::string{what} + " " + std::to_string(then) + ", not " +
                             std::to_string(now));
    };
    if (auto other = model_difference(saved.model, app.getModel()); !other.empty())
        others.push_back(std::move(other));
    if (is_another_vocabulary(saved.vocabulary_sha256, data.vocabulary_sha256))
        others.push_back("another data.translation.vocabulary_file, of SHA-256 " +
                         saved.vocabulary_sha256);
    compare("train.seed", saved.seed, app.getTrain().getSeed());
    const std::size_t train_samples = data.train.size();
    const run_shape shape = run_shape::of(app.getTrain(), train_samples);
    const std::uint32_t batch = shape.batch.at(saved.epochs_done);
    if (!app.getTrain().hasBatchGrowth())
        compare("train.batch", saved.batch, batch);
    else if (saved.batch != batch)
        others.push_back("minibatches of " + std::to_string(saved.batch) + " samples in epoch " +
                         std::to_string(saved.epochs_done + 1) +
                         ", where train.batch and train.batch_growth now make " +
                         std::to_string(batch));
    compare("a number of training samples of", saved.train_samples, train_samples);
    if (others.empty() && saved.minibatches_done != shape.minibatches_before(saved.epochs_done) +
                                                        saved.minibatches_of_epoch)
        others.emplace_back("another train.batch_growth");
    return others;
}

// Loads a checkpoint and requires its numbers to be finite.
result<loaded_checkpoint> load_usable(const checkpoint_info& info) {
    auto loaded = load_checkpoint(info);
    if (!loaded)
        return loaded;
    if (auto finite = loaded->check_finite(); !finite)
        return finite.failure();
    return loaded;
}

// Advice for a latest checkpoint that cannot be used; older ones may be damaged, too.
std::string advice_on_damage(const checkpoint_info& latest) {
    std::vector<std::string> damaged{latest.folder.string()};
    auto all = list_checkpoints(latest.folder.parent_path());
    if (!all)
        return "; delete " + damaged.front();
    for (const checkpoint_info& older : *all | std::views::reverse) {
        if (older.folder == latest.folder)
            continue;
        if (load_usable(older))
            return "; delete " + join(damaged) + " to go on from " + older.folder.string();
        damaged.push_back(older.folder.string());
    }
    return "; there is no older one to go on from: delete " + join(damaged) +
           " and train anew without --resume";
}

// Advice on training on from another run's saved weights, if they are those of the model.
std::string advice_on_weights(proto::Model::Reader model, const data_sets& data,
                              const checkpoint_info& latest) {
    if (is_another_vocabulary(latest.progress.vocabulary_sha256, data.vocabulary_sha256))
        return "";
    const auto saved = load_usable(latest);
    const auto layout = stage_program::whole(model)->layout({});
    const auto is_there = [&](const weights_layout::entry& wanted) {
        const named_tensor* t = saved->find(wanted.name);
        return t != nullptr && t->shape == wanted.shape;
    };
    return saved && std::ranges::all_of(layout.entries(), is_there)
               ? "; `troupe convert APP.yaml " + latest.folder.string() +
                     " FOLDER` makes a checkpoint of its weights that this run goes on from"
               : "";
}

// An earlier build's count of updates of each weight may be larger than the number its optimizer had made.
void note_counts(proto::App::Reader app, const checkpoint_info& saved,
                 std::vector<std::string>& notes) {
    const auto optimizer = app.getTrain().getOptimizer();
    if (saved.counts_updates || !counts_updates(optimizer))
        return;
    notes.push_back(
        "--resume: " + saved.folder.string() +
        " was saved by an earlier build, without the optimizer's counts of updates; " +
        active_key(optimizer) + " goes on as if it had made " +
        std::to_string(saved.progress.version.value()) +
        " of every weight, as that build took it, which is more than it has where replicas of a "
        "stage or of the whole updated by themselves");
}

// Notes the optimizer's state that the checkpoint lacks, and state of another optimizer that it has.
void note_optimizer(proto::App::Reader app, const loaded_checkpoint& saved,
                    std::vector<std::string>& notes) {
    const auto kind_of = [](std::string_view name) { // "exp_avg" of "exp_avg.layers.0.weight"
        return printable(name.substr(0, name.find(".layers.")), limits::name_bytes_max);
    };
    const auto model = app.getModel();
    const auto rule = make_optimizer(app.getTrain().getOptimizer());
    const auto layout = stage_program::whole(model)->layout(rule->state());
    std::set<std::string> known, shared, missing, others;
    for (const auto& entry : layout.entries()) {
        known.insert(entry.name);
        if (entry.is_state)
            (saved.find(entry.name) == nullptr ? missing : shared).insert(kind_of(entry.name));
    }
    for (const safetensors_file& file : saved.files())
        for (const named_tensor& t : file.view.tensors)
            if (!known.contains(t.name) && t.name.find(".layers.") != std::string::npos)
                others.insert(kind_of(t.name));
    const auto words = [](const std::set<std::string>& kinds) {
        constexpr std::size_t shown_max = 4;
        std::vector<std::string> few;
        std::ranges::copy(kinds | std::views::take(shown_max), std::back_inserter(few));
        return join(few) + (kinds.size() > few.size()
                                ? " and " + std::to_string(kinds.size() - few.size()) + " more"
                                : "");
    };
    const std::string from = "--resume: " + saved.info().folder.string();
    const std::string then = printable(saved.info().progress.optimizer, limits::name_bytes_max);
    const std::string now = active_key(app.getTrain().getOptimizer());
    if (!then.empty() && then != now && !shared.empty())
        notes.push_back(from + " was saved with train.optimizer " + then + "; " + now +
                        " goes on with its state: " + words(shared));
    if (!others.empty())
        notes.push_back(from + " was saved with another train.optimizer; its state is left out: " +
                        words(others));
    if (!shared.empty())
        note_counts(app, saved.info(), notes);
    if (!missing.empty())
        notes.push_back(from +
                        " has not the state of this train.optimizer, which begins with zeros: " +
                        words(missing));
    if (const auto topology = app.getTopology();
        topology.getReplicas() > 1 && !rule->state().empty()) {
        const auto sync = replica_sync::of(topology.getSync(), topology.getReplicas());
        if (sync && sync->exchange)
            notes.push_back(
                std::string{"--resume: with "} + name_of(*sync->exchange) +
                " a checkpoint has what the first replica's optimizer kept; all replicas begin "
                "with that");
    }
}

// Notes that a schedule which ends with the run ends elsewhere than in the run that saved.
void note_schedule(proto::App::Reader app, const data_sets& data, const checkpoint_info& saved,
                   std::vector<std::string>& notes) {
    const auto train = app.getTrain();
    const auto schedule = train.getSchedule();
    const std::uint32_t then = saved.progress.epochs;
    if (then == 0 || then == train.getEpochs() || !(schedule.isCosine() || schedule.isPolynomial()))
        return;
    capnp::MallocMessageBuilder message;
    message.setRoot(train);
    auto earlier = message.getRoot<proto::Train>();
    earlier.setEpochs(then);
    const auto rate_of = [&](proto::Train::Reader of) {
        const auto rates =
            make_learning_rates(of, data.train.size(), replicas_in_turn(app.getTopology()));
        return digits_of(rates(saved.progress.minibatches_done));
    };
    notes.push_back("--resume: " + saved.folder.string() + " was saved by a run of " +
                    counted(then, "epoch") + ", and this one has " +
                    std::to_string(train.getEpochs()) + ": " + active_key(schedule) +
                    " (train.schedule) ends with its last minibatch, and so the learning rate "
                    "goes on at " +
                    rate_of(train) + " instead of " + rate_of(earlier));
}

result<void> load_latest(proto::App::Reader app, const data_sets& data,
                         const checkpoint_info& latest, checkpoints& out) {
    if (const auto others = other_than_saved(app, data, latest.progress); !others.empty())
        return error{errc::usage, "--resume: " + latest.folder.string() + " was saved with " +
                                      join(others) +
                                      "; resume with the same, or train into another folder" +
                                      advice_on_weights(app.getModel(), data, latest)};
    auto loaded = load_usable(latest);
    if (loaded) {
        note_optimizer(app, *loaded, out.notes);
        note_schedule(app, data, latest, out.notes);
    }
    if (!loaded && loaded.failure().code() == errc::data)
        return error{errc::data, loaded.failure().message() + advice_on_damage(latest)};
    if (!loaded)
        return loaded.failure();
    out.resume = std::make_shared<const loaded_checkpoint>(std::move(loaded).value());
    return {};
}

} // namespace

result<checkpoints> open_checkpoints(proto::App::Reader app, const data_sets& data, bool resume) {
    checkpoints out;
    if (!app.hasCheckpoint()) {
        if (resume)
            return error{
                errc::usage,
                "--resume: the app file names no checkpoint folder; add checkpoint.directory"};
        return out;
    }
    const std::string directory = app.getCheckpoint().getDirectory().cStr();
    auto store = checkpoint_store::open({directory, app.getCheckpoint().getKeep()});
    if (!store)
        return store.failure().in("checkpoint.directory");
    out.store = std::make_shared<checkpoint_store>(std::move(store).value());
    auto latest = out.store->latest();
    if (!latest)
        return latest.failure();
    if (latest->has_value() && !resume)
        return error{
            errc::usage,
            "checkpoint.directory: " + directory +
                " has checkpoints of an earlier run; go on from them with --resume, or name "
                "another folder"};
    if (!latest->has_value() && resume)
        return error{errc::usage, "--resume: " + directory + " has no checkpoint"};
    if (latest->has_value())
        if (auto loaded = load_latest(app, data, **latest, out); !loaded)
            return loaded.failure();
    return out;
}

} // namespace troupe
