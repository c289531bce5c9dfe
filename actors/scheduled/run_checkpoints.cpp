#include "actors/scheduled/run_checkpoints.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>

#include <nlohmann/json.hpp>

#include "actors/checkpoint/safetensors.hpp"
#include "schemas/base/limits.hpp"

namespace troupe::scheduled {

namespace fs = std::filesystem;
using json = nlohmann::ordered_json;

namespace {

constexpr const char* manifest_file = "manifest.json";
constexpr const char* format_name = "troupe-checkpoint";
constexpr std::uint64_t format_version = 5; // 1 to 3 are those of networks
constexpr const char* folder_prefix = "phase-";

error bad(const fs::path& where, const std::string& sentence) {
    return {errc::data, where.string() + ": not a usable checkpoint: " + sentence};
}

std::string member_name(std::size_t member, std::size_t workers) {
    return member < workers ? "worker-" + std::to_string(member)
                            : "scheduler-" + std::to_string(member - workers);
}

output_file to_write(const fs::path& file) {
    return {file, file, "another checkpoint.directory"};
}

named_tensor named(std::string name, const tensor& t) {
    return {std::move(name), t.type(), t.shape(), {t.data(), t.bytes()}};
}

// "phase.1280.0": tensor 0 of a list of phase 1280; the kind is "phase", "probe" or "deltas". "block.7.0":
// tensor 0 of block 7.
std::string list_name(const char* kind, std::uint64_t number, std::size_t at) {
    return std::string{kind} + "." + std::to_string(number) + "." + std::to_string(at);
}

json lists_of(const saved_state& state) {
    json lists = json::array();
    for (const phase& p : state.phases)
        lists.push_back({{"kind", p.is_probe ? "probe" : "phase"},
                         {"number", p.number},
                         {"tensors", p.content.size()}});
    for (const phase_deltas& d : state.deltas)
        lists.push_back({{"kind", "deltas"}, {"number", d.number}, {"tensors", d.changes.size()}});
    for (const held_block& b : state.blocks)
        lists.push_back({{"kind", "block"},
                         {"number", b.number},
                         {"turn", b.turn},
                         {"tensors", b.content.size()}});
    return lists;
}

std::vector<named_tensor> tensors_of(const saved_state& state) {
    std::vector<named_tensor> all;
    for (std::size_t i = 0; i < state.part.names.size(); ++i)
        all.push_back(named("part." + state.part.names[i], state.part.tensors[i]));
    for (const phase& p : state.phases)
        for (std::size_t i = 0; i < p.content.size(); ++i)
            all.push_back(
                named(list_name(p.is_probe ? "probe" : "phase", p.number, i), p.content[i]));
    for (const phase_deltas& d : state.deltas)
        for (std::size_t i = 0; i < d.changes.size(); ++i)
            all.push_back(named(list_name("deltas", d.number, i), d.changes[i]));
    for (const held_block& b : state.blocks)
        for (std::size_t i = 0; i < b.content.size(); ++i)
            all.push_back(named(list_name("block", b.number, i), b.content[i]));
    return all;
}

result<tensor> copied(const named_tensor& from, memory_pool& memory) {
    auto made = tensor::allocate(memory, from.type, from.shape);
    if (made && !from.bytes.empty())
        std::memcpy(made->mutable_data(), from.bytes.data(), from.bytes.size());
    return made;
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
        const saved_state& state = commit.members[m];
        const auto tensors = tensors_of(state);
        const std::string header = safetensors_header(tensors, {});
        std::vector<std::span<const std::byte>> pieces{std::as_bytes(std::span{header})};
        for (const named_tensor& t : tensors)
            pieces.push_back(t.bytes);
        const std::string file = member_name(m, commit.shape.workers) + ".safetensors";
        auto written = write_file(to_write(partial->path() / file), pieces);
        if (!written)
            return written.failure();
        members.push_back({{"file", file},
                           {"bytes", written->bytes},
                           {"sha256", written->sha256},
                           {"names", state.part.names},
                           {"lists", lists_of(state)},
                           {"stops_at", state.end.phase},
                           {"done", state.end.is_done},
                           {"milestones", state.milestones}});
    }
    const json manifest = {{"format", format_name},
                           {"format_version", format_version},
                           {"job", "program"},
                           {"program", of_.program},
                           {"settings", of_.settings},
                           {"workers", commit.shape.workers},
                           {"schedulers", commit.shape.schedulers},
                           {"window", commit.shape.window},
                           {"gap", commit.shape.gap},
                           {"phase", commit.members.front().number},
                           {"members", std::move(members)}};
    const std::string text = manifest.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
    const std::span<const std::byte> pieces[] = {std::as_bytes(std::span{text})};
    if (auto written = write_file(to_write(partial->path() / manifest_file), pieces); !written)
        return written.failure();
    if (auto placed = partial->put_into_place(name); !placed)
        return placed.failure();
    const auto folders = all();
    for (std::size_t i = 0; i + keep_ < folders.size(); ++i)
        if (auto removed = remove_whole(folders[i]); !removed)
            return removed.failure();
    return folder_.path() / name;
}

namespace {

// One member of a manifest, checked as far as it can be by itself.
struct listed_member {
    std::string file, hash;
    std::vector<std::string> names;
    struct list {
        std::string kind;
        std::uint64_t number = 0;
        std::size_t tensors = 0;
        std::uint64_t turn = 0; // of a block
    };
    std::vector<list> lists;
    run_end end;
    std::uint32_t milestones = 0;
};

std::optional<listed_member> read_member(const json& map) {
    listed_member m;
    try { // types that are not as written
        m.file = map.at("file").get<std::string>();
        m.hash = map.at("sha256").get<std::string>();
        m.names = map.at("names").get<std::vector<std::string>>();
        m.milestones = map.at("milestones").get<std::uint32_t>();
        m.end = {map.value("stops_at", std::uint64_t{0}), map.value("done", false)};
        for (const json& l : map.at("lists"))
            m.lists.push_back({l.at("kind").get<std::string>(), l.at("number").get<std::uint64_t>(),
                               l.at("tensors").get<std::size_t>(),
                               l.value("turn", std::uint64_t{0})});
    } catch (const json::exception&) {
        return std::nullopt;
    }
    for (const auto& l : m.lists)
        if (l.tensors > limits::frame_tensors_max ||
            (l.kind != "phase" && l.kind != "probe" && l.kind != "deltas" && l.kind != "block") ||
            (l.kind == "block" && l.number > std::uint64_t{~0u}))
            return std::nullopt;
    return m;
}

result<safetensors_file> read_tensors(const fs::path& file, const std::string& hash_wanted) {
    auto bytes = read_file(file, limits::checkpoint_file_bytes_max);
    if (!bytes)
        return bytes.failure();
    sha256 hash;
    hash.add(*bytes);
    if (hash.hex() != hash_wanted)
        return error{errc::data,
                     file.string() + ": damaged: not the bytes that the manifest names"};
    auto adopted = adopt_safetensors(std::move(*bytes));
    return adopted ? adopted : adopted.failure().in(file.string());
}

result<json> read_manifest_of(const fs::path& checkpoint) {
    auto bytes = read_file(checkpoint / manifest_file, limits::checkpoint_manifest_bytes_max);
    if (!bytes)
        return bytes.failure();
    json map =
        json::parse(std::string_view{reinterpret_cast<const char*>(bytes->data()), bytes->size()},
                    nullptr, false);
    if (map.is_discarded())
        return bad(checkpoint, std::string{manifest_file} + " is damaged");
    if (!map.is_object() || map.value("format", json{}) != format_name ||
        map.value("job", json{}) != "program")
        return bad(checkpoint, "it is not of a program");
    if (map.value("format_version", json{}) != format_version)
        return bad(checkpoint, "another build of Troupe wrote it");
    return map;
}

} // namespace

namespace {

// The state of a member of a checkpoint, as the manifest lists it.
result<saved_state> load_member(const fs::path& checkpoint, const json& map,
                                const std::string& name, memory_pool& memory) {
    const auto listed = read_member(map);
    // Only names of member_name() are accepted, so that no manifest can point outside its folder.
    if (!listed || listed->file != name + ".safetensors")
        return bad(checkpoint, name + " is not described as a member is");
    const auto file = read_tensors(checkpoint / listed->file, listed->hash);
    if (!file)
        return file.failure();
    std::optional<error> failure;
    const auto take = [&](const std::string& name) {
        const named_tensor* found = file->find(name);
        auto made = found != nullptr ? copied(*found, memory)
                                     : result<tensor>{bad(checkpoint, "no tensor " + name)};
        if (!made && !failure)
            failure = made.failure();
        return made ? std::move(*made) : tensor{};
    };
    saved_state state;
    state.number = phase_of(checkpoint.filename().string()).value();
    state.milestones = listed->milestones;
    state.end = listed->end;
    state.part.names = listed->names;
    for (const std::string& name : listed->names)
        state.part.tensors.push_back(take("part." + name));
    for (const auto& l : listed->lists) {
        payload content;
        for (std::size_t i = 0; i < l.tensors; ++i)
            content.push_back(take(list_name(l.kind.c_str(), l.number, i)));
        if (l.kind == "deltas")
            state.deltas.push_back({l.number, std::move(content)});
        else if (l.kind == "block")
            state.blocks.push_back(
                {static_cast<std::uint32_t>(l.number), l.turn, std::move(content)});
        else
            state.phases.push_back({l.number, l.kind == "probe", std::move(content)});
    }
    if (failure)
        return *failure;
    return state;
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
    if (why.code() == errc::usage)
        return why;
    const auto usable = std::find_if(folders.rbegin() + 1, folders.rend(),
                                     [&](const fs::path& f) { return load(f, memory).ok(); });
    if (usable == folders.rend())
        return error{why.code(), why.message() + "; no earlier checkpoint is usable: run without "
                                                 "--resume and with another checkpoint.directory"};
    return error{why.code(), why.message() + "; to go on from " + usable->string() +
                                 ", which is whole, move " + folders.back().string() +
                                 " elsewhere and use --resume again"};
}

result<saved_commit> run_checkpoints::load(const fs::path& checkpoint, memory_pool& memory) const {
    auto manifest = read_manifest_of(checkpoint);
    if (!manifest)
        return manifest.failure();
    if (manifest->value("program", json{}) != of_.program)
        return error{errc::usage,
                     checkpoint.string() + ": is of another program than " + of_.program};
    if (manifest->value("settings", json{}) != of_.settings)
        return error{errc::usage, checkpoint.string() +
                                      ": is of a run with other data, settings, schedule or seed; "
                                      "choose another checkpoint.directory"};
    const json workers = manifest->value("workers", json{});
    const json schedulers = manifest->value("schedulers", json{});
    const json window = manifest->value("window", json{}), gap = manifest->value("gap", json{});
    const json members = manifest->value("members", json{});
    if (!window.is_number_unsigned() || window.get<std::uint64_t>() > window_max ||
        !gap.is_number())
        return bad(checkpoint, "its window or its gap is none");
    if (!workers.is_number_unsigned() || !schedulers.is_number_unsigned() || !members.is_array() ||
        workers.get<std::uint64_t>() > members.size() ||
        schedulers.get<std::uint64_t>() != members.size() - workers.get<std::uint64_t>())
        return bad(checkpoint, "its members are not those of a run");
    saved_commit commit{{workers.get<std::uint32_t>(), schedulers.get<std::uint32_t>(),
                         window.get<std::uint32_t>(), gap.get<double>()},
                        {}};
    for (std::size_t m = 0; m < members.size(); ++m) {
        auto state =
            load_member(checkpoint, members[m], member_name(m, commit.shape.workers), memory);
        if (!state)
            return state.failure();
        commit.members.push_back(std::move(*state));
    }
    return commit;
}

} // namespace troupe::scheduled
