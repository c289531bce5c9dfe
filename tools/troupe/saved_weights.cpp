#include "tools/troupe/saved_weights.hpp"

#include <set>

#include "actors/checkpoint/file_writer.hpp"
#include "kernels/graph/stage_program.hpp"
#include "schemas/base/printable.hpp"

namespace troupe::cli {

namespace fs = std::filesystem;

namespace {

result<loaded_checkpoint> load_file(const fs::path& file) {
    auto bytes = read_file(file, limits::checkpoint_file_bytes_max);
    if (!bytes)
        return bytes.failure();
    auto adopted = adopt_safetensors(std::move(*bytes));
    if (!adopted)
        return adopted.failure().in(file.string());
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

result<loaded_checkpoint> load(const training_app& app, const fs::path& from) {
    if (from.empty()) {
        if (!app.app().hasCheckpoint())
            return app.error_at("", "the app saves no checkpoints; name the weights by --weights");
        return load_latest(app.app().getCheckpoint().getDirectory().cStr());
    }
    std::error_code failed; // a name that no file can have is refused when it is opened
    if (!fs::is_directory(from, failed))
        return load_file(from);
    if (!fs::exists(from / "manifest.json", failed))
        return load_latest(from);
    auto info = read_manifest(from);
    return info ? load_checkpoint(*info) : info.failure();
}

// A file of another program must not have what would be left out without a word. A checkpoint has the optimizer's state.
result<void> check_names(const loaded_checkpoint& saved, const weights_layout& layout) {
    if (!saved.info().stages.empty())
        return {};
    std::set<std::string_view> known;
    for (const auto& entry : layout.entries())
        known.insert(entry.name);
    for (const safetensors_file& file : saved.files())
        for (const named_tensor& t : file.view.tensors)
            if (!known.contains(t.name))
                return error{errc::data, saved.info().folder.string() + ": has the tensor " +
                                             printable(t.name, limits::name_bytes_max) +
                                             ", which the model has not"};
    return {};
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
    const auto saved = load(app, from);
    if (!saved)
        return saved.failure();
    const weights_layout layout = program->layout({});
    if (auto known = check_names(*saved, layout); !known)
        return known.failure();
    auto restored = saved->restore(layout, memory);
    if (!restored)
        return restored.failure();
    return saved_weights{saved->info().folder, std::move(*restored),
                         saved->info().progress.minibatches_done,
                         saved->info().progress.vocabulary_sha256};
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
