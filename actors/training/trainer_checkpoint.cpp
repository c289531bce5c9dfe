#include "actors/training/trainer_checkpoint.hpp"

#include <utility>

#include "actors/app_file/app_file.hpp"
#include "actors/update_counts.hpp"
#include "schemas/training.capnp.h"

namespace troupe {

namespace {

std::vector<weights_layout> layouts_of(const std::vector<planned_stage>& stages) {
    std::vector<weights_layout> layouts;
    for (const planned_stage& stage : stages)
        layouts.push_back(stage.weights.layout);
    return layouts;
}

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

trainer_checkpoint::trainer_checkpoint(actor& owner, std::shared_ptr<device> io, done_handler done)
    : io_{std::move(io)}, done_{std::move(done)}, work_{owner, [this](const std::string&,
                                                                      const error& why) {
                                                            done_({why});
                                                        }} {}

void trainer_checkpoint::restore(std::shared_ptr<const loaded_checkpoint> from,
                                 const std::vector<planned_stage>& stages) {
    restored_ = std::make_shared<std::vector<weights_ptr>>();
    std::string folder = from->info().folder.string();
    work_.submit(*io_, {.work = [from = std::move(from), layouts = layouts_of(stages),
                                 restored = restored_](compute_context& context) -> result<void> {
                            for (const weights_layout& layout : layouts) {
                                auto made = from->restore(layout, context.memory);
                                if (!made)
                                    return made.failure();
                                restored->push_back(std::move(made).value());
                            }
                            return {};
                        },
                        .then = [this, folder = std::move(folder)] { done_({folder}); }});
}

const weights* trainer_checkpoint::restored(std::size_t stage) const {
    return restored_ ? (*restored_)[stage].get() : nullptr;
}

void trainer_checkpoint::let_go() {
    restored_.reset();
    snapshots_.clear();
}

void trainer_checkpoint::keep(std::size_t stage, frame_ptr snapshot) {
    if (snapshots_.size() <= stage)
        snapshots_.resize(stage + 1);
    snapshots_[stage] = std::move(snapshot);
}

void trainer_checkpoint::write(std::shared_ptr<checkpoint_store> store,
                               const checkpoint_progress& progress,
                               const std::vector<planned_stage>& stages) {
    auto folder = std::make_shared<std::string>();
    auto deleted = std::make_shared<result<void>>();
    std::vector<layer_range> layers;
    for (const planned_stage& stage : stages)
        layers.push_back(stage.layers.range);
    work_.submit(
        *io_,
        {.work = [store = std::move(store), progress, layers = std::move(layers),
                  layouts = layouts_of(stages), snapshots = snapshots_, folder,
                  deleted](compute_context&) -> result<void> {
             auto written = write_all(*store, progress, layers, layouts, snapshots);
             if (!written)
                 return written.failure();
             *folder = std::move(written).value();
             *deleted = store->delete_older();
             return {};
         },
         .then =
             [this, folder, deleted] {
                 snapshots_.clear();
                 done_({*folder, *deleted ? std::nullopt : std::optional{deleted->failure()}});
             }});
}

checkpoint_progress progress_of(const run_course& course, weight_version version,
                                proto::App::Reader app, const data_sets& data) {
    checkpoint_progress progress;
    progress.epochs_done = course.epoch();
    progress.minibatches_done = course.minibatches_done();
    progress.minibatches_of_epoch = course.minibatches_done_of_epoch();
    progress.version = version;
    progress.seed = app.getTrain().getSeed();
    progress.batch = course.shape().batch.at(course.epoch());
    progress.train_samples = data.train.size();
    progress.epochs = course.shape().epochs;
    progress.model = render_app(app.getModel());
    progress.vocabulary_sha256 = data.vocabulary_sha256;
    progress.optimizer = active_key(app.getTrain().getOptimizer());
    return progress;
}

} // namespace troupe
