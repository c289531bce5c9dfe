#include "actors/scheduled/run_checkpoints.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>

#include "actors/checkpoint/file_writer.hpp"
#include "actors/scheduled/saved_member.hpp"
#include "schemas/base/json.hpp"
#include "schemas/base/limits.hpp"
#include "schemas/base/nearest.hpp"
#include "schemas/base/printable.hpp"

namespace troupe::scheduled {

namespace fs = std::filesystem;
namespace {

constexpr const char* manifest_file = "manifest.json";
constexpr const char* format_name = "troupe-checkpoint";
constexpr std::uint64_t format_version = 6; // 1 to 3 are those of networks
constexpr const char* folder_prefix = "phase-";
constexpr std::size_t name_bytes_shown = 64;

json as_json(const std::vector<app_value>& values) {
    json map = json::object();
    for (const app_value& v : values)
        map[v.path] = v.text;
    return map;
}

// "seed was 1 and is 2, stop was absent and is 3", or of many the first ones.
std::string difference(const json& then, const json& now) {
    constexpr std::size_t named_max = 4, text_max = 100;
    const auto text_of = [&](const json& in, const std::string& key) {
        const json* const found = in.find(key);
        if (found == nullptr)
            return std::string{"absent"};
        return printable(found->text().value_or(found->dump()), text_max);
    };
    json all = then;
    all.update(now);
    std::vector<std::string> different;
    for (const auto& [key, value] : all.members())
        if (const std::string was = text_of(then, key), is = text_of(now, key); was != is)
            different.push_back(printable(key, text_max) + " was " + was + " and is " + is);
    const std::size_t more = different.size() - std::min(different.size(), named_max);
    different.resize(different.size() - more);
    return join(different) + (more > 0 ? ", and " + std::to_string(more) + " more differ" : "");
}

std::string hex(std::uint64_t digest) {
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(digest));
    return digits;
}

json as_json(const std::vector<data_digest>& data) {
    json map = json::object();
    for (const data_digest& of : data) {
        map[of.key] = {{"file", of.file}, {"digest", hex(of.value)}};
        if (of.exact)
            map[of.key]["exact"] = hex(*of.exact);
    }
    return map;
}

// Whether the file that `is` names holds what the one that `was` names did.
result<void> check_data(const data_digest& is, const json& was) {
    constexpr std::size_t name_max = 200;
    const auto digest = was["digest"].text(), file = was["file"].text();
    if (!digest || !file)
        return error{errc::data, "its data is none"};
    const auto exact = was["exact"].text(); // absent: as a former build wrote it
    if (*digest == hex(is.value) && !exact && is.has_more_digits)
        return error{errc::usage,
                     "is of a build that kept fewer digits of " + is.key + ": " + is.file +
                         ", which float32 does not hold; begin the run anew, with another "
                         "checkpoint.directory"};
    if (*digest == hex(is.value) && (!exact || !is.exact || *exact == hex(*is.exact)))
        return {};
    const std::string name = is.key + ": " + is.file;
    if (*digest == hex(is.value))
        return error{errc::usage, "is of other digits: " + name +
                                      " has changed since, by less than float32 tells, or was read "
                                      "by a former build; begin the run anew, with another "
                                      "checkpoint.directory"};
    return error{errc::usage, "is of other data: " +
                                  (*file == is.file ? name + " has changed since"
                                                    : name + " does not hold what " +
                                                          printable(*file, name_max) + " did") +
                                  "; give the data of then, or name another checkpoint.directory"};
}

// The number in a checkpoint's name; none if it is no checkpoint's.
std::optional<std::uint64_t> phase_of(const std::string& name) {
    if (!name.starts_with(folder_prefix))
        return std::nullopt;
    std::uint64_t number = 0;
    const char* const end = name.data() + name.size();
    const auto read = std::from_chars(name.data() + std::strlen(folder_prefix), end, number);
    return read.ec == std::errc{} && read.ptr == end ? std::optional{number} : std::nullopt;
}

} // namespace

result<run_checkpoints> run_checkpoints::open(fs::path directory, std::uint32_t keep,
                                              checkpoint_identity of) {
    auto folder = checkpoint_folder::open(std::move(directory));
    if (!folder)
        return folder.failure();
    return run_checkpoints{std::move(*folder), keep, std::move(of)};
}

std::vector<fs::path> run_checkpoints::all() const {
    std::vector<std::pair<std::uint64_t, fs::path>> found;
    std::error_code failed;
    for (fs::directory_iterator at{folder_.path(), failed};
         !failed && at != fs::directory_iterator{}; at.increment(failed))
        if (const auto number = phase_of(at->path().filename().string()))
            found.push_back({*number, at->path()});
    std::ranges::sort(found);
    std::vector<fs::path> folders;
    for (auto& [number, folder] : found)
        folders.push_back(std::move(folder));
    return folders;
}

fs::path run_checkpoints::latest_folder() const {
    const auto folders = all();
    return folders.empty() ? fs::path{} : folders.back();
}

result<fs::path> run_checkpoints::save(const saved_commit& commit) {
    char name[64];
    std::snprintf(name, sizeof name, "%s%012llu", folder_prefix,
                  static_cast<unsigned long long>(commit.members.front().number));
    auto partial = folder_.begin(name);
    if (!partial)
        return partial.failure();
    json members = json::array();
    for (std::size_t m = 0; m < commit.members.size(); ++m) {
        const auto end = commit.ends.find(m);
        auto written =
            write_member(partial->path(), member_name(m, commit.shape.workers), commit.members[m],
                         end == commit.ends.end() ? nullptr : &end->second);
        if (!written)
            return written.failure();
        members.push_back(std::move(*written));
    }
    const json manifest = {{"format", format_name},
                           {"format_version", format_version},
                           {"job", "program"},
                           {"program", of_.program},
                           {"settings", as_json(of_.settings)},
                           {"data", as_json(of_.data)},
                           {"workers", commit.shape.workers},
                           {"schedulers", commit.shape.schedulers},
                           {"window", commit.shape.window},
                           {"gap", commit.shape.gap},
                           {"length", commit.shape.length},
                           {"iterations", commit.shape.iterations},
                           {"phase", commit.members.front().number},
                           {"members", std::move(members)}};
    const std::string text = manifest.dump(2) + "\n";
    const std::span<const std::byte> pieces[] = {std::as_bytes(std::span{text})};
    const fs::path file = partial->path() / manifest_file;
    if (auto written = troupe::write_file({file, file}, pieces); !written)
        return written.failure();
    if (auto placed = partial->put_into_place(name); !placed)
        return placed.failure();
    return folder_.path() / name;
}

result<void> run_checkpoints::delete_older() {
    const auto folders = all();
    for (std::size_t i = 0; i + keep_ < folders.size(); ++i)
        if (auto removed = remove_whole(folders[i]); !removed)
            return removed;
    return {};
}

namespace {

result<json> read_manifest_of(const fs::path& checkpoint) {
    auto bytes = read_file(checkpoint / manifest_file, limits::checkpoint_manifest_bytes_max);
    if (!bytes)
        return bytes.failure();
    auto map =
        json::parse(std::string_view{reinterpret_cast<const char*>(bytes->data()), bytes->size()});
    if (!map)
        return bad_checkpoint(checkpoint, std::string{manifest_file} + " is damaged");
    const json& is = *map;
    if (is["format"] != format_name || is["job"] != "program")
        return bad_checkpoint(checkpoint, "it is not of a program");
    if (is["format_version"] != format_version)
        return bad_checkpoint(checkpoint, "another build of Troupe wrote it");
    return std::move(*map);
}

// Reads the shape from a manifest. Errors: a sentence.
result<commit_shape> read_shape(const json& manifest) {
    const auto window = manifest["window"].count<std::uint32_t>(window_max);
    const auto gap = manifest["gap"].number();
    // Absent: as a former build wrote it.
    const auto count_or_zero = [&](const char* key) {
        return manifest.contains(key) ? manifest[key].count() : std::uint64_t{0};
    };
    const auto length = count_or_zero("length"), iterations = count_or_zero("iterations");
    if (!window || !gap || !length || !iterations)
        return error{errc::data, "its window or its gap is none"};
    const json& members = manifest["members"];
    const auto workers = manifest["workers"].count<std::uint32_t>();
    const auto schedulers = manifest["schedulers"].count<std::uint32_t>();
    if (!workers || !schedulers || !members.is_array() || *workers > members.size() ||
        *schedulers != members.size() - *workers)
        return error{errc::data, "its members are not those of a run"};
    return commit_shape{*workers, *schedulers, *window, *gap, *length, *iterations};
}

// Reads the manifest, and refuses one of another run.
result<json> read_own_manifest(const fs::path& checkpoint, const checkpoint_identity& of) {
    auto manifest = read_manifest_of(checkpoint);
    if (!manifest)
        return manifest.failure();
    const json& is = *manifest;
    const auto program = is["program"].text();
    if (!program)
        return bad_checkpoint(checkpoint, "it names no program");
    if (*program != of.program)
        return error{errc::usage, checkpoint.string() + ": is of the program \"" +
                                      printable(*program, name_bytes_shown) +
                                      "\", and this app file's is \"" + of.program +
                                      "\"; name another checkpoint.directory"};
    json settings = is["settings"], own = as_json(of.settings);
    if (!settings.is_object())
        return bad_checkpoint(checkpoint, "its settings are none");
    for (const data_digest& now : of.data) {
        const json* const was = is["data"].find(now.key); // absent: as a former build wrote it
        if (was == nullptr)
            continue;
        if (auto same = check_data(now, *was); !same)
            return same.failure().code() == errc::data
                       ? bad_checkpoint(checkpoint, same.failure().message())
                       : same.failure().in(checkpoint.string());
        settings.erase(now.key);
        own.erase(now.key);
    }
    if (const std::string different = difference(settings, own); !different.empty())
        return error{errc::usage, checkpoint.string() + ": is of another run: " + different +
                                      "; give what was, or name another checkpoint.directory"};
    return manifest;
}

// Whether a run could go on from it, as far as can be told without holding it.
bool is_whole(const fs::path& checkpoint, const checkpoint_identity& of) {
    const auto manifest = read_own_manifest(checkpoint, of);
    if (!manifest)
        return false;
    const auto shape = read_shape(*manifest);
    if (!shape)
        return false;
    const auto members = (*manifest)["members"].items();
    for (std::size_t m = 0; m < members.size(); ++m)
        if (!is_whole_member(checkpoint, member_name(m, shape->workers), members[m]))
            return false;
    return true;
}

} // namespace

result<std::optional<saved_commit>> run_checkpoints::latest(memory_pool& memory) const {
    const auto folders = all();
    if (folders.empty())
        return std::optional<saved_commit>{};
    auto newest = load(folders.back(), memory);
    if (newest)
        return std::optional{std::move(*newest)};
    const error& why = newest.failure();
    if (why.code() == errc::usage || why.code() == errc::exhausted)
        return why; // no checkpoint of the run would do
    const auto usable = std::find_if(folders.rbegin() + 1, folders.rend(),
                                     [&](const fs::path& f) { return is_whole(f, of_); });
    if (usable == folders.rend())
        return error{why.code(), why.message() + "; no earlier checkpoint is usable: run without "
                                                 "--resume and with another checkpoint.directory"};
    return error{why.code(), why.message() + "; to go on from " + usable->string() +
                                 ", which is whole, move " + folders.back().string() +
                                 " elsewhere and use --resume again"};
}

result<saved_commit> run_checkpoints::load(const fs::path& checkpoint, memory_pool& memory) const {
    const auto manifest = read_own_manifest(checkpoint, of_);
    if (!manifest)
        return manifest.failure();
    const auto shape = read_shape(*manifest);
    if (!shape)
        return bad_checkpoint(checkpoint, shape.failure().message());
    saved_commit commit{*shape, {}, {}};
    const auto members = (*manifest)["members"].items();
    const std::uint64_t number = phase_of(checkpoint.filename().string()).value();
    for (std::size_t m = 0; m < members.size(); ++m) {
        auto member =
            read_member(checkpoint, member_name(m, shape->workers), members[m], number, memory);
        if (!member)
            return member.failure();
        commit.members.push_back(std::move(member->state));
        if (member->ended && m >= shape->workers)
            commit.ends.emplace(m, std::move(*member->ended));
    }
    return commit;
}

} // namespace troupe::scheduled
