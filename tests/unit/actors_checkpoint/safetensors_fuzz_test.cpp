// Made-up safetensors files, sound and hostile, from fixed seeds: the reader takes the sound ones, refuses the others with a
// sentence, and never crashes. tests/fuzz/fuzz_safetensors.cpp looks further, guided by coverage.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstring>

#include "actors/checkpoint/safetensors.hpp"
#include "schemas/base/limits.hpp"
#include "schemas/base/random.hpp"

using namespace troupe;

namespace {

constexpr std::string_view huge[] = {"18446744073709551615", "18446744073709551614",
                                     "9223372036854775808",  "4611686018427387904",
                                     "4294967296",           "18446744073709551608"};

// An entry as the text that stands for it.
struct made_entry {
    std::string name, type;
    std::vector<std::string> shape;
    std::string begin, end;
    std::size_t bytes = 0;
};

struct made_file {
    std::vector<made_entry> entries;
    std::size_t elements = 0; // bytes of them
    std::uint64_t length_added = 0;
};

template <class List>
auto& one_of(random_stream& random, List& list) {
    return list[random.below(std::size(list))];
}

// Tensors of all types and shapes without a hole, at least one of which has elements.
made_file sound(random_stream& random) {
    static constexpr std::pair<std::string_view, std::size_t> types[] = {
        {"F32", 4}, {"I32", 4}, {"U8", 1}, {"F16", 2}, {"BF16", 2}};
    made_file file;
    const std::size_t tensors = 1 + random.below(6);
    for (std::size_t i = 0; i < tensors; ++i) {
        made_entry entry{.name = "layers." + std::to_string(i) + ".weight"};
        std::size_t bytes = 8;
        if (i > 0 && random.below(5) == 0) {
            entry.name = "layers." + std::to_string(i) + ".num_batches_tracked";
            entry.type = "I64";
        } else {
            const auto& [type, of_element] = one_of(random, types);
            entry.type = type;
            bytes = of_element;
            for (std::uint64_t rank = random.below(limits::tensor_rank_max + 1); rank > 0; --rank) {
                const std::size_t dimension = i == 0 ? 1 + random.below(3) : random.below(4);
                entry.shape.push_back(std::to_string(dimension));
                bytes *= dimension;
            }
        }
        entry.bytes = bytes;
        entry.begin = std::to_string(file.elements);
        entry.end = std::to_string(file.elements += bytes);
        file.entries.push_back(std::move(entry));
    }
    return file;
}

constexpr int ways = 13;

// Makes it wrong in one way: no reader may take it.
void spoil(made_file& file, random_stream& random, std::uint64_t way) {
    made_entry& any = one_of(random, file.entries);
    made_entry& full = file.entries[0];
    switch (way) {
    case 0: // a length that the file has not, up to one that overflows
        file.length_added = std::uint64_t{1} << (24 + random.below(40));
        break;
    case 1: // all of it is another's
        file.entries.push_back(full);
        file.entries.back().name = "another";
        break;
    case 2:
        file.entries.push_back(any);
        break;
    case 3: // a size that overflows, or is just too large
        full.shape.assign(1 + random.below(limits::tensor_rank_max),
                          std::string{one_of(random, huge)});
        break;
    case 4:
        full.shape = {std::string(1 + random.below(50000), '[')};
        break;
    case 5:
        full.begin = one_of(random, huge);
        break;
    case 6:
        full.end = one_of(random, huge);
        break;
    case 7:
        full.type = random.below(2) == 0 ? "BOOL" : "I16";
        break;
    case 8: // a hole
        full.begin = "1";
        break;
    case 9: // overlap, where there is something behind it; else past the end
        full.end = std::to_string(full.bytes + 1);
        break;
    case 10:
        file.elements += 1 + random.below(9);
        break;
    case 11:
        full.shape.assign(limits::tensor_rank_max + 1 + random.below(9), "1");
        break;
    default: {
        static constexpr std::string_view odd[] = {
            "-1", "1.0", "1e3", "null", "true", "\"1\"", "{}", "[]", "", "18446744073709551616",
            "01"};
        (random.below(2) == 0 ? any.begin : any.end) = one_of(random, odd);
    }
    }
}

std::string text_of(const made_entry& entry, random_stream& random) {
    std::string shape;
    for (const std::string& dimension : entry.shape)
        shape += (shape.empty() ? "" : ",") + dimension;
    std::string members[] = {"\"dtype\":\"" + entry.type + "\"", "\"shape\":[" + shape + "]",
                             "\"data_offsets\":[" + entry.begin + "," + entry.end + "]"};
    std::swap(members[0], one_of(random, members));
    return "\"" + entry.name + "\":{" + members[0] + "," + members[1] + "," + members[2] + "}";
}

std::vector<std::byte> bytes_of(const made_file& file, random_stream& random) {
    std::string json = "{\"__metadata__\":{\"format\":\"pt\"}";
    for (const made_entry& entry : file.entries)
        json += "," + text_of(entry, random);
    json += "}" + std::string(random.below(8), ' ');
    const std::uint64_t length = json.size() + file.length_added;
    std::vector<std::byte> bytes(8 + json.size() + file.elements);
    std::memcpy(bytes.data(), &length, 8);
    std::memcpy(bytes.data() + 8, json.data(), json.size());
    return bytes;
}

// A file is taken with tensors that lie within it, or refused with a sentence.
bool is_taken(const std::vector<std::byte>& file) {
    const auto parsed = parse_safetensors(file);
    if (!parsed) {
        BOOST_REQUIRE((parsed.failure().code() == errc::data));
        BOOST_REQUIRE(parsed.failure().message().size() < 1000u);
        BOOST_REQUIRE(parsed.failure().message().find('\n') == std::string::npos);
        return false;
    }
    std::size_t in_file = 0;
    for (const named_tensor& t : parsed->tensors) {
        BOOST_REQUIRE(t.bytes.size() == t.shape.elements() * size_of(t.type));
        const auto is_these = [&](const auto& wide) {
            return reinterpret_cast<const std::byte*>(wide->data()) == t.bytes.data();
        };
        if (t.bytes.empty() || std::ranges::any_of(parsed->widened, is_these))
            continue;
        in_file += t.bytes.size();
        BOOST_REQUIRE((t.bytes.data() >= file.data() + 8 &&
                       t.bytes.data() + t.bytes.size() <= file.data() + file.size()));
    }
    BOOST_REQUIRE(in_file < file.size());
    return true;
}

void damage(std::vector<std::byte>& file, random_stream& random) {
    static constexpr std::string_view common = "0123456789[]{}\",:-. ";
    for (std::uint64_t edits = 1 + random.below(3); edits > 0 && !file.empty(); --edits) {
        const std::size_t at = random.below(
            random.below(2) == 0 ? file.size() : std::min<std::size_t>(file.size(), 200));
        if (const auto kind = random.below(3); kind == 2)
            file.erase(file.begin() + static_cast<std::ptrdiff_t>(at));
        else
            file[at] = static_cast<std::byte>(kind == 0 ? common[random.below(common.size())]
                                                        : random.next());
    }
}

} // namespace

BOOST_AUTO_TEST_SUITE(safetensors_fuzz)

BOOST_AUTO_TEST_CASE(sound_files_are_taken_and_hostile_ones_refused) {
    random_stream random{12};
    for (int round = 0; round < 50000; ++round) {
        made_file file = sound(random);
        BOOST_REQUIRE_MESSAGE(is_taken(bytes_of(file, random)), "sound, round " << round);
        const std::uint64_t way = random.below(ways);
        spoil(file, random, way);
        BOOST_REQUIRE_MESSAGE(!is_taken(bytes_of(file, random)),
                              "way " << way << ", round " << round);
    }
}

BOOST_AUTO_TEST_CASE(files_cut_anywhere_are_refused) {
    random_stream random{13};
    for (int round = 0; round < 200; ++round) {
        const auto file = bytes_of(sound(random), random);
        for (std::size_t length = 0; length < file.size(); ++length)
            BOOST_REQUIRE(
                !is_taken({file.begin(), file.begin() + static_cast<std::ptrdiff_t>(length)}));
    }
}

BOOST_AUTO_TEST_CASE(damaged_files_are_taken_or_refused) {
    random_stream random{11};
    for (int round = 0; round < 100000; ++round) {
        auto file = bytes_of(sound(random), random);
        damage(file, random);
        is_taken(file);
    }
}

BOOST_AUTO_TEST_SUITE_END()
