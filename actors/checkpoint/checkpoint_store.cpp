// Writing of checkpoints, atomically.
#include "actors/checkpoint/checkpoint_store.hpp"

#include <algorithm>
#include <cstdio>
#include <functional>

#include "actors/checkpoint/checkpoint_folder.hpp"
#include "actors/checkpoint/file_writer.hpp"
#include "actors/checkpoint/manifest.hpp"
#include "schemas/base/limits.hpp"

namespace troupe {

namespace fs = std::filesystem;

namespace {

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

} // namespace

struct checkpoint_writer::state {
    fs::path directory;
    checkpoint_progress progress;
    std::vector<std::optional<checkpoint_stage>> stages;
    partial_folder partial; // being filled
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
    const fs::path file = state_->partial.path() / name;
    auto written = write_file({file, file}, pieces);
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
    const fs::path file = state_->partial.path() / manifest_name;
    if (auto written = write_file({file, file}, pieces); !written)
        return written.failure();
    if (auto placed = state_->partial.put_into_place(info.folder.filename().string()); !placed)
        return placed.failure();
    return info;
}

struct checkpoint_store::state {
    std::uint32_t keep;
    checkpoint_folder folder;
};

checkpoint_store::checkpoint_store(std::unique_ptr<state> s) noexcept : state_{std::move(s)} {}
checkpoint_store::checkpoint_store(checkpoint_store&&) noexcept = default;
checkpoint_store& checkpoint_store::operator=(checkpoint_store&&) noexcept = default;
checkpoint_store::~checkpoint_store() = default;

result<checkpoint_store> checkpoint_store::open(options o) {
    TROUPE_CHECK(o.keep > 0, "at least the newest checkpoint is kept");
    auto folder = checkpoint_folder::open(std::move(o.directory));
    if (!folder)
        return folder.failure();
    return checkpoint_store{std::make_unique<state>(state{o.keep, std::move(*folder)})};
}

result<checkpoint_writer> checkpoint_store::begin(const checkpoint_progress& progress,
                                                  std::size_t stages) {
    TROUPE_CHECK(stages > 0 && stages <= limits::stages_max,
                 "a checkpoint has the stages of a pipeline");
    auto partial = state_->folder.begin(folder_name(progress));
    if (!partial)
        return partial.failure();
    auto writer = std::make_unique<checkpoint_writer::state>(
        checkpoint_writer::state{.directory = state_->folder.path(),
                                 .progress = progress,
                                 .stages = {},
                                 .partial = std::move(*partial)});
    writer->stages.resize(stages);
    return checkpoint_writer{std::move(writer)};
}

result<void> checkpoint_store::delete_older() {
    const auto all = list_checkpoints(state_->folder.path());
    if (!all)
        return all.failure();
    for (std::size_t i = 0; i + state_->keep < all->size(); ++i)
        if (auto removed = remove_whole(all.value()[i].folder); !removed)
            return removed;
    return {};
}

result<std::optional<checkpoint_info>> checkpoint_store::latest() const {
    auto all = list_checkpoints(state_->folder.path());
    if (!all)
        return all.failure();
    if (all->empty())
        return std::optional<checkpoint_info>{};
    return std::optional{std::move(all->back())};
}

} // namespace troupe
