#include "actors/scheduled/saved_member.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>

#include "actors/checkpoint/file_writer.hpp"
#include "actors/checkpoint/safetensors.hpp"
#include "schemas/base/json.hpp"
#include "schemas/base/limits.hpp"

namespace troupe::scheduled {

namespace fs = std::filesystem;
namespace {

constexpr const char* file_ending = ".safetensors";

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

// Tensors that are as in `part` are left out.
void add_end(const saved_part& end, const saved_part& part, std::vector<named_tensor>& to) {
    for (std::size_t i = 0; i < end.names.size(); ++i) {
        const auto same = std::ranges::find(part.names, end.names[i]);
        const tensor& now = end.tensors[i];
        if (same != part.names.end()) {
            const tensor& then = part.tensors[static_cast<std::size_t>(same - part.names.begin())];
            if (now.type() == then.type() && now.shape() == then.shape() &&
                (now.bytes() == 0 || std::memcmp(now.data(), then.data(), now.bytes()) == 0))
                continue;
        }
        to.push_back(named("end." + end.names[i], now));
    }
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
    std::optional<saved_state> ended; // without tensors
};

// Without tensors; none if something is missing or has another type.
std::optional<saved_state> read_end(const json& map) {
    const auto number = map["number"].count();
    auto names = map["names"].texts();
    const auto is_done = map["done"].boolean();
    const auto milestones = map["milestones"].count<std::uint32_t>();
    if (!number || !names || !is_done || !milestones)
        return std::nullopt;
    saved_state end;
    end.number = *number;
    end.part.names = std::move(*names);
    end.end.is_done = *is_done;
    end.milestones = *milestones;
    return end;
}

// Zero or false if there is no such key, as a former build wrote it; none if it has another type.
std::optional<std::uint64_t> count_or_zero(const json& map, const char* key) {
    return map.contains(key) ? map[key].count() : std::uint64_t{0};
}
std::optional<bool> truth_or_false(const json& map, const char* key) {
    return map.contains(key) ? map[key].boolean() : false;
}

std::optional<listed_member::list> read_list(const json& map) {
    auto kind = map["kind"].text();
    const auto number = map["number"].count();
    const auto tensors = map["tensors"].count<std::size_t>();
    const auto turn = count_or_zero(map, "turn");
    if (!kind || !number || !tensors || !turn)
        return std::nullopt;
    return listed_member::list{std::move(*kind), *number, *tensors, *turn};
}

std::optional<listed_member> read_listed(const json& map) {
    auto file = map["file"].text(), hash = map["sha256"].text();
    auto names = map["names"].texts();
    const auto milestones = map["milestones"].count<std::uint32_t>();
    const auto stops_at = count_or_zero(map, "stops_at");
    const auto is_done = truth_or_false(map, "done");
    if (!file || !hash || !names || !milestones || !stops_at || !is_done ||
        !map["lists"].is_array())
        return std::nullopt;
    listed_member m{std::move(*file),
                    std::move(*hash),
                    std::move(*names),
                    {},
                    {*stops_at, *is_done},
                    *milestones,
                    {}};
    for (const json& item : map["lists"].items()) {
        auto list = read_list(item);
        if (!list)
            return std::nullopt;
        m.lists.push_back(std::move(*list));
    }
    if (map.contains("end") && !(m.ended = read_end(map["end"])))
        return std::nullopt;
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
    return adopt_safetensors(std::move(*bytes), file.string());
}

// The hash of the file's bytes, of which few are held; empty if it cannot be read.
std::string hash_of(const fs::path& file) {
    std::ifstream in{file, std::ios::binary};
    std::vector<char> piece(1u << 20);
    sha256 hash;
    while (in.read(piece.data(), static_cast<std::streamsize>(piece.size())) || in.gcount() > 0)
        hash.add(std::as_bytes(std::span{piece}.first(static_cast<std::size_t>(in.gcount()))));
    return in.eof() ? hash.hex() : "";
}

} // namespace

error bad_checkpoint(const fs::path& folder, const std::string& sentence) {
    return {errc::data, folder.string() + ": not a usable checkpoint: " + sentence};
}

std::string member_name(std::size_t member, std::size_t workers) {
    return member < workers ? "worker-" + std::to_string(member)
                            : "scheduler-" + std::to_string(member - workers);
}

result<json> write_member(const fs::path& folder, const std::string& name, const saved_state& state,
                          const saved_state* ended) {
    auto tensors = tensors_of(state);
    if (ended != nullptr)
        add_end(ended->part, state.part, tensors);
    const std::string header = safetensors_header(tensors, {});
    std::vector<std::span<const std::byte>> pieces{std::as_bytes(std::span{header})};
    for (const named_tensor& t : tensors)
        pieces.push_back(t.bytes);
    const std::string file = name + file_ending;
    auto written = troupe::write_file({folder / file, folder / file}, pieces);
    if (!written)
        return written.failure();
    json listed{{"file", file},
                {"bytes", written->bytes},
                {"sha256", written->sha256},
                {"names", state.part.names},
                {"lists", lists_of(state)},
                {"stops_at", state.end.phase},
                {"done", state.end.is_done},
                {"milestones", state.milestones}};
    if (ended != nullptr)
        listed["end"] = {{"number", ended->number},
                         {"names", ended->part.names},
                         {"done", ended->end.is_done},
                         {"milestones", ended->milestones}};
    return listed;
}

result<saved_member> read_member(const fs::path& folder, const std::string& name, const json& map,
                                 std::uint64_t number, memory_pool& memory) {
    const auto listed = read_listed(map);
    // Only names of member_name() are accepted, so that no manifest can point outside its folder.
    if (!listed || listed->file != name + file_ending)
        return bad_checkpoint(folder, name + " is not described as a member is");
    const auto file = read_tensors(folder / listed->file, listed->hash);
    if (!file)
        return file.failure();
    std::optional<error> failure;
    const auto take = [&](const std::string& tensor_name) {
        const named_tensor* found = file->find(tensor_name);
        auto made = found != nullptr
                        ? copied(*found, memory)
                        : result<tensor>{bad_checkpoint(folder, "no tensor " + tensor_name)};
        if (!made && !failure)
            failure = made.failure();
        return made ? std::move(*made) : tensor{};
    };
    saved_state state;
    state.number = number;
    state.milestones = listed->milestones;
    state.end = listed->end;
    state.part.names = listed->names;
    for (const std::string& own : listed->names)
        state.part.tensors.push_back(take("part." + own));
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
    std::optional<saved_state> ended = listed->ended;
    if (ended)
        for (const std::string& own : ended->part.names)
            ended->part.tensors.push_back(
                take((file->find("end." + own) != nullptr ? "end." : "part.") + own));
    if (failure)
        return *failure;
    return saved_member{std::move(state), std::move(ended)};
}

bool is_whole_member(const fs::path& folder, const std::string& name, const json& map) {
    const auto listed = read_listed(map);
    return listed && listed->file == name + file_ending &&
           hash_of(folder / listed->file) == listed->hash;
}

} // namespace troupe::scheduled
