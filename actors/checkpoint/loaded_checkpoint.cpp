// Reading of checkpoints.
#include <algorithm>
#include <cstring>

#include "actors/checkpoint/checkpoint_store.hpp"
#include "actors/checkpoint/file_writer.hpp"
#include "actors/checkpoint/manifest.hpp"
#include "schemas/base/limits.hpp"
#include "schemas/base/printable.hpp"

namespace troupe {

namespace fs = std::filesystem;

namespace {

// Removes `word` from the front of `text`; false if it is not there.
bool take_word(std::string_view& text, std::string_view word) {
    const bool is_there = text.starts_with(word);
    text.remove_prefix(is_there ? word.size() : 0);
    return is_there;
}

bool take_number(std::string_view& text) {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    text.remove_prefix(digits);
    return digits > 0;
}

// "epoch-0003", "epoch-0003-plus-0120-minibatches"
bool is_checkpoint_name(std::string_view name) {
    return take_word(name, "epoch-") && take_number(name) &&
           (name.empty() || (take_word(name, "-plus-") && take_number(name) &&
                             take_word(name, "-minibatches") && name.empty()));
}

result<safetensors_file> load_stage(const fs::path& folder, const checkpoint_stage& stage) {
    const fs::path file = folder / stage.file;
    auto bytes = read_file(file, stage.bytes);
    if (std::error_code failed; !bytes && !fs::exists(file, failed))
        return error{errc::data, file.string() + ": missing, though the manifest names it"};
    if (!bytes)
        return bytes.failure();
    sha256 hash;
    hash.add(*bytes);
    if (bytes->size() != stage.bytes || hash.hex() != stage.sha256)
        return error{errc::data,
                     file.string() + ": damaged: not the bytes that the manifest names"};
    return adopt_safetensors(std::move(*bytes), file.string());
}

// Copies a saved tensor into new memory after checking its type and shape.
result<tensor> copy_checked(const named_tensor& saved, const tensor_shape& wanted,
                            memory_pool& memory) {
    if (saved.type != data_type::float32 || saved.shape != wanted)
        return error{errc::data, "the checkpoint's " + saved.name + " is " +
                                     std::string{to_string(saved.type)} + " " +
                                     to_string(saved.shape) + ", but the model wants float32 " +
                                     to_string(wanted) +
                                     (saved.type == data_type::float64
                                          ? "; convert it first, in PyTorch by tensor.float()"
                                          : "")};
    auto copy = tensor::allocate(memory, data_type::float32, wanted);
    if (copy && !saved.bytes.empty())
        std::memcpy(copy->mutable_data(), saved.bytes.data(), saved.bytes.size());
    return copy;
}

result<tensor> zeros(const tensor_shape& shape, memory_pool& memory) {
    auto made = tensor::allocate(memory, data_type::float32, shape);
    if (made)
        std::ranges::fill(made->mutable_values<float>(), 0.0f);
    return made;
}

} // namespace

result<checkpoint_info> read_manifest(const fs::path& checkpoint_folder) {
    const fs::path file = checkpoint_folder / manifest_name;
    auto bytes = read_file(file, limits::checkpoint_manifest_bytes_max);
    if (!bytes)
        return bytes.failure();
    auto info = parse_manifest({reinterpret_cast<const char*>(bytes->data()), bytes->size()});
    if (!info)
        return info.failure().in(file.string());
    info->folder = checkpoint_folder;
    return info;
}

result<std::vector<checkpoint_info>> list_checkpoints(const fs::path& directory) {
    std::vector<checkpoint_info> found;
    std::error_code failed;
    fs::directory_iterator at{directory, failed};
    if (failed == std::errc::no_such_file_or_directory)
        return found;
    for (; !failed && at != fs::directory_iterator{}; at.increment(failed)) {
        if (!is_checkpoint_name(at->path().filename().string()))
            continue;
        auto info = read_manifest(at->path());
        if (!info)
            return error{info.failure().code(),
                         info.failure().message() + "; delete or mend this checkpoint"};
        found.push_back(std::move(*info));
    }
    if (failed)
        return file_error(directory, "listed", failed.value());
    std::ranges::sort(found, {}, [](const checkpoint_info& c) {
        return std::pair{c.progress.minibatches_done, c.progress.epochs_done};
    });
    return found;
}

result<loaded_checkpoint> load_checkpoint(const checkpoint_info& info) {
    std::vector<safetensors_file> files;
    for (const checkpoint_stage& stage : info.stages) {
        auto file = load_stage(info.folder, stage);
        if (!file)
            return file.failure();
        files.push_back(std::move(*file));
    }
    return loaded_checkpoint{info, std::move(files)};
}

loaded_checkpoint::loaded_checkpoint(checkpoint_info info, std::vector<safetensors_file> files)
    : info_{std::move(info)}, files_{std::move(files)} {}

const named_tensor* loaded_checkpoint::find(std::string_view name) const noexcept {
    for (const safetensors_file& file : files_)
        if (const named_tensor* found = file.find(name))
            return found;
    return nullptr;
}

result<void> loaded_checkpoint::check_finite() const {
    for (const safetensors_file& file : files_)
        if (const named_tensor* bad = first_not_finite(file.view.tensors))
            return error{errc::data, info_.folder.string() + ": " +
                                         printable(bad->name, limits::name_bytes_max) +
                                         " has numbers that are not finite, of a training that "
                                         "has diverged"};
    return {};
}

// For a checkpoint without counts, the version, as in earlier builds.
std::optional<std::uint64_t> loaded_checkpoint::updates_of(std::string_view parameter) const {
    if (!info_.counts_updates)
        return info_.progress.version.value();
    for (std::size_t s = 0; s < files_.size(); ++s) {
        if (files_[s].find(parameter) == nullptr)
            continue;
        const update_counts& counts = info_.stages[s].updates;
        if (const auto* all = std::get_if<std::uint64_t>(&counts))
            return *all;
        const auto& by_name = std::get<1>(counts);
        if (const auto found = by_name.find(parameter); found != by_name.end())
            return found->second;
    }
    return std::nullopt;
}

result<weights_ptr> loaded_checkpoint::restore(const weights_layout& layout,
                                               memory_pool& memory) const {
    const auto where = [&](const error& e) { return e.in(info_.folder.string()); };
    std::vector<std::uint64_t> updates;
    std::vector<tensor> tensors;
    for (const weights_layout::entry& wanted : layout.entries()) {
        const named_tensor* saved = find(wanted.name);
        if (saved == nullptr && !wanted.is_state)
            return where(
                {errc::data, "the checkpoint has no " + wanted.name + "; it is of another model"});
        auto values =
            saved ? copy_checked(*saved, wanted.shape, memory) : zeros(wanted.shape, memory);
        if (!values)
            return where(values.failure());
        if (tensors.size() < layout.parameters()) {
            const auto count = updates_of(wanted.name);
            if (!count)
                return where(
                    {errc::data, "the manifest has no count of the updates of " + wanted.name});
            updates.push_back(*count);
        } else if (saved == nullptr) {
            updates[layout.parameter_of(tensors.size())] = 0;
        }
        tensors.push_back(std::move(*values));
    }
    return layout.assemble(info_.progress.version, tensors, std::move(updates));
}

} // namespace troupe
