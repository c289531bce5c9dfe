#include "tools/troupe/saved_weights.hpp"

#include <set>

#include "actors/checkpoint/file_writer.hpp"
#include "actors/checkpoint/tensor_fit.hpp"
#include "kernels/graph/stage_program.hpp"
#include "schemas/base/printable.hpp"
#include "schemas/base/quantities.hpp"

namespace troupe::cli {

namespace fs = std::filesystem;

namespace {

using notes = std::vector<std::string>;

// Takes off what wrappers have put into the names of a model that was saved within them.
result<void> unwrap_names(const fs::path& file, std::vector<named_tensor>& tensors, notes& said) {
    std::set<std::string> names;
    std::string example;
    std::size_t changed = 0;
    for (named_tensor& t : tensors) {
        std::string name = without_wrappers(t.name);
        if (name != t.name && ++changed == 1)
            example = printable(t.name, limits::name_bytes_max);
        if (!names.insert(name).second)
            return error{errc::data, file.string() + ": has " +
                                         printable(name, limits::name_bytes_max) +
                                         " twice, with and without \"module.\" or "
                                         "\"_orig_mod.\"; leave one of them out"};
        t.name = std::move(name);
    }
    if (changed > 0)
        said.push_back(file.string() + ": of " + counted(changed, "tensor") + ", such as " +
                       example +
                       ", the name is taken without \"module.\" and \"_orig_mod.\", which "
                       "PyTorch's wrappers put before it");
    return {};
}

result<loaded_checkpoint> load_file(const fs::path& file, notes& said) {
    auto bytes = read_file(file, limits::checkpoint_file_bytes_max);
    if (!bytes)
        return bytes.failure();
    auto adopted = adopt_safetensors(std::move(*bytes), file.string());
    if (!adopted)
        return adopted.failure();
    if (auto named = unwrap_names(file, adopted->view.tensors, said); !named)
        return named.failure();
    checkpoint_info info;
    info.folder = file; // names it in errors
    info.counts_updates = false;
    return loaded_checkpoint{std::move(info), {std::move(*adopted)}};
}

result<loaded_checkpoint> load_latest(const fs::path& folder) {
    auto found = list_checkpoints(folder);
    if (!found)
        return found.failure();
    if (found->empty())
        return error{errc::usage,
                     folder.string() +
                         ": no checkpoint there; train with `troupe run` first, or name a "
                         "safetensors file"};
    return load_checkpoint(found->back());
}

result<loaded_checkpoint> load(const training_app& app, const fs::path& from, notes& said) {
    if (from.empty()) {
        if (!app.app().hasCheckpoint())
            return app.error_at("", "the app saves no checkpoints; name the weights by --weights");
        return load_latest(app.app().getCheckpoint().getDirectory().cStr());
    }
    std::error_code failed; // a name that no file can have is refused when it is opened
    if (!fs::is_directory(from, failed))
        return load_file(from, said);
    if (!fs::exists(from / "manifest.json", failed))
        return load_latest(from);
    auto info = read_manifest(from);
    return info ? load_checkpoint(*info) : info.failure();
}

// A file of another program must not have what would be left out without a word. A checkpoint has the optimizer's state.
result<void> check_fit(const loaded_checkpoint& saved, const weights_layout& layout) {
    std::vector<named_tensor> all;
    for (const safetensors_file& file : saved.files())
        all.insert(all.end(), file.view.tensors.begin(), file.view.tensors.end());
    const bool is_checkpoint = !saved.info().stages.empty();
    const std::string why = why_not_fitting(layout.entries(), all, is_checkpoint);
    if (why.empty())
        return {};
    return error{errc::data, saved.info().folder.string() + ": does not fit the model: " + why};
}

// One for each batch norm, which is what has a running mean.
std::vector<named_count> batch_counts(const weights_layout& layout, std::uint64_t minibatches) {
    constexpr std::string_view mean = "running_mean";
    std::vector<named_count> counts;
    for (const auto& entry : layout.entries())
        if (entry.name.ends_with(mean))
            counts.push_back(
                {entry.name.substr(0, entry.name.size() - mean.size()) + "num_batches_tracked",
                 static_cast<std::int64_t>(minibatches)});
    return counts;
}

} // namespace

result<saved_weights> load_weights(const training_app& app, const fs::path& from,
                                   memory_pool& memory) {
    const auto model = app.app().getModel();
    auto program = stage_program::whole(model);
    if (!program)
        return program.failure();
    notes said;
    const auto saved = load(app, from, said);
    if (!saved)
        return saved.failure();
    const weights_layout layout = program->layout({});
    if (auto fits = check_fit(*saved, layout); !fits)
        return fits.failure();
    auto restored = saved->restore(layout, memory);
    if (!restored)
        return restored.failure();
    return saved_weights{saved->info().folder, std::move(*restored),
                         saved->info().progress.minibatches_done,
                         saved->info().progress.vocabulary_sha256, std::move(said)};
}

result<void> check_vocabulary(const training_app& app, const std::string& at_hand,
                              const saved_weights& saved) {
    if (!is_another_vocabulary(saved.vocabulary_sha256, at_hand))
        return {};
    return app.error_at(
        "data.translation.vocabulary_file",
        std::string{app.app().getData().getTranslation().getVocabularyFile().cStr()} +
            " is not the vocabulary that " + saved.from.string() +
            " was trained with; give that one's file, of SHA-256 " + saved.vocabulary_sha256);
}

result<std::size_t> save_weights(const fs::path& file, const weights_layout& layout,
                                 const saved_weights& saved) {
    const std::vector<tensor> tensors = saved.weights->tensors();
    const std::vector<named_tensor> named = named_tensors(layout, tensors);
    const std::vector<named_count> counts = batch_counts(layout, saved.minibatches);
    const std::string header = safetensors_header(named, {{"format", "pt"}}, counts);
    std::vector<std::span<const std::byte>> pieces{std::as_bytes(std::span{header})};
    for (const named_count& c : counts)
        pieces.push_back(std::as_bytes(std::span{&c.value, 1}));
    for (const named_tensor& t : named)
        pieces.push_back(t.bytes);
    fs::path partial = file;
    partial += ".partial";
    std::error_code failed;
    fs::remove(partial, failed); // of one that was killed
    if (auto written = write_file({partial, file, "another folder"}, pieces); !written) {
        fs::remove(partial, failed);
        const fs::path folder = fs::absolute(file, failed).parent_path();
        return error{written.failure().code(),
                     written.failure().message() +
                         (fs::exists(folder, failed) ? "" : "; make its folder first")};
    }
    fs::rename(partial, file, failed);
    if (!failed)
        return named.size() + counts.size();
    fs::remove(partial, failed);
    return error{errc::io, file.string() + ": cannot be replaced; is it a folder?"};
}

} // namespace troupe::cli
