// Fuzz target: arbitrary bytes as a zip archive of arrays.
#include "actors/data/files/npy_header.hpp"
#include "actors/data/files/zip_member.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/support/made_files.hpp"

namespace troupe::fuzz {

namespace {

// Opens a member and reads it whole, once as an array and once as bytes.
bool takes(const std::string& archive, const std::string& member) {
    auto in = open_zip_member(archive, member, ".npy");
    if (!in) {
        check_refusal(in.failure());
        return false;
    }
    const auto header = read_npy_header(*in);
    if (header) {
        const auto elements =
            in->read_claimed(header->elements * size_of(header->type), "elements");
        if (!elements)
            check_refusal(elements.failure());
        else if (const auto end = in->expect_end(); !end)
            check_refusal(end.failure());
    } else {
        check_refusal(header.failure());
    }
    auto again = open_zip_member(archive, member, ".npy");
    const auto bytes = again.value().read_rest();
    if (!bytes)
        check_refusal(bytes.failure());
    return bytes.ok();
}

} // namespace

bool read(std::span<const std::byte> in) {
    static memory_file file;
    const std::string name = file.with(in);
    const bool only = takes(name, "");
    return takes(name, "x") || only;
}

std::vector<std::string> sound_inputs() {
    const test::data_files files;
    const std::string array = test::npy("<f4", "3", std::string(12, '\0'));
    std::vector<std::string> all;
    for (const bool packed : {true, false}) {
        all.push_back(files.read(files.zip("one.npz", {{"only.npy", array}}, packed)));
        all.push_back(files.read(files.zip("two.npz", {{"x.npy", array}, {"y.npy", "y"}}, packed)));
    }
    return all;
}

} // namespace troupe::fuzz
