// Writing of checkpoints, atomically.
#include "actors/checkpoint/checkpoint_store.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <functional>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "actors/checkpoint/file_writer.hpp"
#include "actors/checkpoint/manifest.hpp"
#include "schemas/base/limits.hpp"

namespace troupe {

namespace fs = std::filesystem;

namespace {

// Folders with these prefixes are not checkpoints yet, or no longer; open() removes those left by a killed process.
constexpr std::string_view partial_prefix = ".partial-";
constexpr std::string_view deleted_prefix = ".deleted-";

std::string folder_name(const checkpoint_progress& progress) {
    char name[64];
    const auto more = static_cast<unsigned long long>(progress.minibatches_of_epoch);
    if (more > 0)
        std::snprintf(name, sizeof name, "epoch-%04u-plus-%04llu-minibatches", progress.epochs_done,
                      more);
    else
        std::snprintf(name, sizeof name, "epoch-%04u", progress.epochs_done);
    return name;
}

result<void> remove_folder(const fs::path& folder) {
    std::error_code failed;
    fs::remove_all(folder, failed);
    if (failed)
        return file_error(folder, "deleted", failed.value());
    return {};
}

result<void> remove_leftovers(const fs::path& directory) {
    std::error_code failed;
    std::vector<fs::path> leftovers;
    for (fs::directory_iterator at{directory, failed}; !failed && at != fs::directory_iterator{};
         at.increment(failed)) {
        const std::string name = at->path().filename().string();
        if (name.starts_with(partial_prefix) || name.starts_with(deleted_prefix))
            leftovers.push_back(at->path());
    }
    if (failed)
        return file_error(directory, "listed", failed.value());
    for (const fs::path& leftover : leftovers)
        if (auto removed = remove_folder(leftover); !removed)
            return removed;
    return {};
}

// This folder and its parents that do not exist, innermost first.
std::vector<fs::path> missing_folders(const fs::path& folder) {
    std::vector<fs::path> missing;
    std::error_code failed;
    for (fs::path at = fs::absolute(folder, failed).lexically_normal();
         !fs::exists(at, failed) && at.has_relative_path(); at = at.parent_path())
        if (at.has_filename()) // skips a trailing slash
            missing.push_back(at);
    return missing;
}

output_file in_checkpoint(const fs::path& file) {
    return {file, file, "another checkpoint.directory"};
}

// Moves a finished folder to its final name. An existing one is exchanged atomically and then deleted.
result<void> move_into_place(const fs::path& from, const fs::path& to) {
    if (::rename(from.c_str(), to.c_str()) == 0)
        return {};
    if (errno != ENOTEMPTY && errno != EEXIST)
        return file_error(to, "put into place", errno);
    if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) != 0)
        return file_error(to, "replaced", errno);
    return remove_folder(from);
}

// Hides the folder before it deletes its files, so that nobody sees a checkpoint with files missing.
result<void> remove_checkpoint(const fs::path& folder) {
    const fs::path hidden =
        folder.parent_path() / (std::string{deleted_prefix} + folder.filename().string());
    if (::rename(folder.c_str(), hidden.c_str()) != 0)
        return file_error(folder, "deleted", errno);
    return remove_folder(hidden);
}

} // namespace

struct checkpoint_writer::state {
    fs::path directory;
    std::uint32_t keep;
    checkpoint_progress progress;
    std::vector<std::optional<checkpoint_stage>> stages;
    fs::path partial; // the folder being filled

    ~state() {
        std::error_code ignored; // leftovers are removed by the next open()
        fs::remove_all(partial, ignored);
    }
};

std::vector<named_tensor> named_tensors(const weights_layout& layout,
                                        std::span<const tensor> tensors) {
    std::vector<named_tensor> named;
    for (std::size_t i = 0; i < tensors.size(); ++i)
        named.push_back({layout.entries()[i].name,
                         tensors[i].type(),
                         tensors[i].shape(),
                         {tensors[i].data(), tensors[i].bytes()}});
    return named;
}

update_counts counts_of(const weights_layout& layout, std::span<const std::uint64_t> counts) {
    if (std::ranges::adjacent_find(counts, std::not_equal_to{}) == counts.end())
        return counts.empty() ? 0 : counts.front();
    std::map<std::string, std::uint64_t, std::less<>> by_name;
    for (std::size_t i = 0; i < counts.size(); ++i)
        by_name[layout.entries()[i].name] = counts[i];
    return by_name;
}

checkpoint_writer::checkpoint_writer(std::unique_ptr<state> s) noexcept : state_{std::move(s)} {}
checkpoint_writer::checkpoint_writer(checkpoint_writer&&) noexcept = default;
checkpoint_writer& checkpoint_writer::operator=(checkpoint_writer&&) noexcept = default;
checkpoint_writer::~checkpoint_writer() = default;

result<void> checkpoint_writer::write_stage(stage_index index, const stage_tensors& stage) {
    TROUPE_CHECK(index.value() < state_->stages.size(), "the stage is one of the checkpoint's");
    if (const named_tensor* bad = first_not_finite(stage.tensors))
        return error{errc::numeric, bad->name + " has numbers that are not finite"};
    const std::string header = safetensors_header(stage.tensors, {{"format", "pt"}});
    std::vector<std::span<const std::byte>> pieces{std::as_bytes(std::span{header})};
    for (const named_tensor& t : stage.tensors)
        pieces.push_back(t.bytes);
    const std::string name = stage_file_name(index.value(), state_->stages.size());
    auto written = write_file(in_checkpoint(state_->partial / name), pieces);
    if (!written)
        return written.failure();
    state_->stages[index.value()] =
        checkpoint_stage{stage.layers, name, written->bytes, written->sha256, stage.updates};
    return {};
}

result<checkpoint_info> checkpoint_writer::commit() {
    checkpoint_info info{.folder = state_->directory / folder_name(state_->progress),
                         .progress = state_->progress};
    for (const auto& stage : state_->stages) {
        if (!stage)
            return error{errc::protocol,
                         info.folder.string() + ": not every stage has given its weights"};
        info.stages.push_back(*stage);
    }
    if (!stages_are_contiguous(info.stages))
        return error{errc::protocol,
                     info.folder.string() + ": the stages' layers have gaps or overlaps"};
    const std::string manifest = manifest_json(info.progress, info.stages);
    const std::span<const std::byte> pieces[] = {std::as_bytes(std::span{manifest})};
    if (auto written = write_file(in_checkpoint(state_->partial / manifest_name), pieces); !written)
        return written.failure();
    if (auto synced = sync_folder(state_->partial); !synced)
        return synced.failure();
    if (auto moved = move_into_place(state_->partial, info.folder); !moved)
        return moved.failure();
    if (auto synced = sync_folder(state_->directory); !synced)
        return synced.failure();

    const auto all = list_checkpoints(state_->directory);
    if (!all)
        return all.failure();
    for (std::size_t i = 0; i + state_->keep < all->size(); ++i)
        if (auto removed = remove_checkpoint(all.value()[i].folder); !removed)
            return removed.failure();
    return info;
}

struct checkpoint_store::state {
    options chosen;
    std::vector<fs::path> made; // folders that open() has created, innermost first
    file_handle lock;           // lock on the folder while the store lives

    // Removes the folders that it created, if they are empty.
    ~state() {
        std::error_code failed;
        for (const fs::path& folder : made)
            if (!fs::remove(folder, failed))
                return;
    }
};

checkpoint_store::checkpoint_store(std::unique_ptr<state> s) noexcept : state_{std::move(s)} {}
checkpoint_store::checkpoint_store(checkpoint_store&&) noexcept = default;
checkpoint_store& checkpoint_store::operator=(checkpoint_store&&) noexcept = default;
checkpoint_store::~checkpoint_store() = default;

result<checkpoint_store> checkpoint_store::open(options o) {
    TROUPE_CHECK(o.keep > 0, "at least the newest checkpoint is kept");
    auto s = std::make_unique<state>();
    std::error_code failed;
    s->made = missing_folders(o.directory);
    fs::create_directories(o.directory, failed);
    if (failed)
        return file_error(o.directory, "made", failed.value());
    s->lock = file_handle{::open(o.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    const file_handle& lock = s->lock;
    if (lock.get() < 0)
        return file_error(o.directory, "opened", errno);
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0)
        return error{errc::usage, o.directory.string() +
                                      ": another run saves its checkpoints here; choose another "
                                      "checkpoint.directory"};
    if (::access(o.directory.c_str(), W_OK) != 0)
        return file_error(o.directory, "written", errno);
    if (auto removed = remove_leftovers(o.directory); !removed)
        return removed.failure();
    s->chosen = std::move(o);
    return checkpoint_store{std::move(s)};
}

result<checkpoint_writer> checkpoint_store::begin(const checkpoint_progress& progress,
                                                  std::size_t stages) {
    TROUPE_CHECK(stages > 0 && stages <= limits::stages_max,
                 "a checkpoint has the stages of a pipeline");
    const fs::path& directory = state_->chosen.directory;
    const fs::path partial = directory / (std::string{partial_prefix} + folder_name(progress));
    std::error_code failed;
    if (!fs::create_directory(partial, failed)) {
        const int why = failed ? failed.value() : EEXIST;
        return fs::exists(directory, failed)
                   ? file_error(directory / folder_name(progress), "made", why)
                   : error{errc::io, directory.string() + ": the folder for checkpoints is gone; "
                                                          "nothing can be saved there any more"};
    }
    auto writer = std::make_unique<checkpoint_writer::state>();
    writer->directory = directory;
    writer->keep = state_->chosen.keep;
    writer->progress = progress;
    writer->stages.resize(stages);
    writer->partial = partial;
    return checkpoint_writer{std::move(writer)};
}

result<std::optional<checkpoint_info>> checkpoint_store::latest() const {
    auto all = list_checkpoints(state_->chosen.directory);
    if (!all)
        return all.failure();
    if (all->empty())
        return std::optional<checkpoint_info>{};
    return std::optional{std::move(all->back())};
}

} // namespace troupe
