// The trainer's checkpoints, which its worker reads and writes: the weights that a run starts from, and snapshots of all
// stages, checked against the model.
#include "actors/messages.hpp"
#include "actors/training/trainer.hpp"
#include "actors/update_counts.hpp"

namespace troupe {

void trainer::restore() {
    restored_ = std::make_shared<std::vector<weights_ptr>>();
    work_.submit(*options_.io,
                 {.work = [from = std::move(options_.resume), layouts = layouts(),
                           restored = restored_](compute_context& context) -> result<void> {
                      for (const weights_layout& layout : layouts) {
                          auto made = from->restore(layout, context.memory);
                          if (!made)
                              return made.failure();
                          restored->push_back(std::move(made).value());
                      }
                      return {};
                  },
                  .then =
                      [this] {
                          if (course_.take(run_phase::restoring))
                              go_on();
                      }});
}

void trainer::take_snapshots() {
    // Replicas have the same weights by now; with local SGD each has its own optimizer state.
    snapshots_.assign(plan_.stages.size(), nullptr);
    for (std::size_t s = 0; s < plan_.stages.size(); ++s)
        send(stages()[s], frame_builder<proto::TakeSnapshot>{});
}

void trainer::snapshot(proto::Snapshot::Reader body, const frame& f) {
    if (!placement_of_sender(0, body.getStage(), f) ||
        !take(run_phase::snapshotting, body.getStage()))
        return;
    if (versions_[body.getStage()] != weight_version{body.getWeightVersion()})
        return fail(
            {errc::protocol, "a snapshot is of another weight version than the epoch ended with"});
    snapshots_[body.getStage()] = current();
    go_on();
}

namespace {

// A stage's snapshot in the store's form, checked against the model. The bytes live as long as the frame.
result<stage_tensors> tensors_of(const frame& f, const weights_layout& layout, layer_range layers) {
    const auto updates = f.body<proto::Snapshot>().getUpdates();
    if (auto fits = layout.check(f.tensors(), updates.size()); !fits)
        return error{errc::protocol,
                     "a snapshot does not fit the model: " + fits.failure().message()};
    return stage_tensors{layers, named_tensors(layout, f.tensors()),
                         counts_of(layout, read_counts(updates))};
}

result<std::string> write_all(checkpoint_store& store, const checkpoint_progress& progress,
                              const std::vector<layer_range>& stages,
                              const std::vector<weights_layout>& layouts,
                              const std::vector<frame_ptr>& snapshots) {
    auto writer = store.begin(progress, stages.size());
    if (!writer)
        return writer.failure();
    for (std::uint32_t s = 0; s < stages.size(); ++s) {
        auto tensors = tensors_of(*snapshots[s], layouts[s], stages[s]);
        if (!tensors)
            return tensors.failure();
        if (auto written = writer->write_stage(stage_index{s}, *tensors); !written)
            return written.failure();
    }
    auto info = writer->commit();
    if (!info)
        return info.failure();
    return info->folder.string();
}

} // namespace

checkpoint_progress trainer::how_far() const {
    checkpoint_progress progress;
    progress.epochs_done = course_.epoch();
    progress.minibatches_done = course_.minibatches_done();
    progress.minibatches_of_epoch = course_.minibatches_done_of_epoch();
    progress.version = version_;
    progress.seed = app().getTrain().getSeed();
    progress.batch = course_.shape().batch.at(course_.epoch());
    progress.train_samples = options_.data->train.size();
    progress.model = render_app(app().getModel());
    progress.vocabulary_sha256 = options_.data->vocabulary_sha256;
    progress.optimizer = active_key(app().getTrain().getOptimizer());
    return progress;
}

void trainer::write_checkpoint() {
    auto folder = std::make_shared<std::string>();
    std::vector<layer_range> stages;
    for (const planned_stage& stage : plan_.stages)
        stages.push_back(stage.layers);
    work_.submit(*options_.io,
                 {.work = [store = options_.store, progress = how_far(), stages = std::move(stages),
                           layouts = layouts(), snapshots = std::move(snapshots_),
                           folder](compute_context&) -> result<void> {
                      auto written = write_all(*store, progress, stages, layouts, snapshots);
                      if (!written)
                          return written.failure();
                      *folder = std::move(written).value();
                      return {};
                  },
                  .then =
                      [this, folder] {
                          if (!course_.take(run_phase::writing))
                              return;
                          report_.checkpoint = *folder;
                          go_on();
                      }});
}

// One checkpoint is read or written at a time. Has no effect if the run has finished meanwhile.
void trainer::checkpoint_failed(const error& why) {
    if (course_.take(run_phase::restoring))
        return fail(why);
    if (!course_.take(run_phase::writing))
        return;
    const error where = why.in("saving a checkpoint");
    fail(why.code() == errc::numeric ? advised(where) : where);
}

} // namespace troupe
