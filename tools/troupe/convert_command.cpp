// convert: weights between checkpoints and safetensors files.
#include <iostream>

#include "actors/training/samples.hpp"
#include "kernels/graph/stage_program.hpp"
#include "tools/troupe/commands.hpp"
#include "tools/troupe/run_setup.hpp"
#include "tools/troupe/saved_weights.hpp"

namespace troupe::cli {

namespace {

// Saves the weights as the checkpoint of a run that has yet to begin.
result<std::filesystem::path> save_checkpoint(const training_app& app, const std::string& folder,
                                              const weights_layout& layout,
                                              const saved_weights& saved) {
    const auto data = load_samples(app);
    if (!data)
        return data.failure();
    auto store = checkpoint_store::open({folder, app.app().getCheckpoint().getKeep()});
    if (!store)
        return store.failure();
    const auto latest = store->latest();
    if (!latest)
        return latest.failure();
    if (*latest)
        return error{errc::usage,
                     folder + ": has checkpoints of a run already; name another folder"};
    const auto model = app.app().getModel();
    checkpoint_progress progress;
    progress.seed = app.app().getTrain().getSeed();
    progress.batch = app.app().getTrain().getBatch();
    progress.train_samples = (*data)->train.size();
    progress.model = render_app(model);
    progress.vocabulary_sha256 = saved.vocabulary_sha256;
    auto writer = store->begin(progress, 1);
    if (!writer)
        return writer.failure();
    const std::vector<tensor> tensors = saved.weights->tensors();
    const stage_tensors stage{{0, count_layers(model)}, named_tensors(layout, tensors), {}};
    if (auto written = writer->write_stage(stage_index{0}, stage); !written)
        return written.failure();
    const auto info = writer->commit();
    if (!info)
        return info.failure();
    return info->folder;
}

} // namespace

int convert(const convert_options& options) {
    const auto app = load_training(options.app.file, options.app.settings, home_folder());
    if (!app)
        return report(app.failure());
    std::filesystem::path to = options.to;
    const bool to_file = to.extension() == ".safetensors";
    std::error_code failed; // a name that no file can have is refused when it is opened
    if (!to_file && to.has_extension() && !std::filesystem::is_directory(to, failed))
        return report({errc::usage, options.to +
                                        ": weights are written to NAME.safetensors, or into "
                                        "a folder for checkpoints, whose name has no dot"});
    if (to_file && std::filesystem::exists(to, failed) && !options.force)
        return report({errc::usage, options.to +
                                        ": is there already; name another file, or replace it by "
                                        "--force"});
    memory_pool memory{options.memory_mb << 20};
    const auto saved = load_weights(*app, options.from, memory);
    if (!saved)
        return report(saved.failure());
    for (const std::string& sentence : saved->notes)
        note(sentence);
    const auto model = app->app().getModel();
    const weights_layout layout = stage_program::whole(model).value().layout({});
    const std::vector<tensor> tensors = saved->weights->tensors();
    const std::vector<named_tensor> named = named_tensors(layout, tensors);
    if (const named_tensor* bad = first_not_finite(named))
        note(saved->from.string() + ": " + bad->name +
             " has numbers that are not finite, of a training that has diverged");
    std::size_t tensors_written = named.size();
    if (to_file) {
        const auto written = save_weights(to, layout, *saved);
        if (!written)
            return report(written.failure());
        tensors_written = *written;
    } else {
        const auto folder = save_checkpoint(*app, options.to, layout, *saved);
        if (!folder)
            return report(folder.failure());
        to = *folder;
    }
    std::cout << saved->from.string() << " -> " << to.string() << ": " << tensors_written
              << " tensors" << std::endl;
    return 0;
}

} // namespace troupe::cli
