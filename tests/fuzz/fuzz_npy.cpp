// Fuzz target: arbitrary bytes as an array of NumPy, of inputs and of labels; plain or gzip.
#include "actors/data/samples/npy_reader.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/support/made_files.hpp"

namespace troupe::fuzz {

bool read(std::span<const std::byte> in) {
    static memory_file file;
    const std::string name = file.with(in);
    bool taken = false;
    for (const npy_use use : {npy_use::inputs, npy_use::labels}) {
        const auto array = read_npy(name, use);
        if (!array) {
            check_refusal(array.failure());
            continue;
        }
        const std::size_t elements =
            std::visit([](const auto& values) { return values.size(); }, array->values);
        TROUPE_CHECK(elements == array->samples * array->sample_shape.elements(),
                     "all elements are there");
        taken = true;
    }
    return taken;
}

std::vector<std::string> sound_inputs() {
    using test::npy, test::raw_bytes;
    const test::data_files files;
    std::vector<std::string> all{
        npy("|u1", "2, 3", "abcdef"),
        npy("<i4", "3,", raw_bytes(std::vector<std::int32_t>{0, -1, 7}), 2),
        npy("<i8", "1, 2", raw_bytes(std::vector<std::int64_t>{5, 6}), 3),
        npy("<f4", "2, 1, 2", raw_bytes(std::vector<float>(4, 0.5f))),
        npy("<f8", "5, 2", raw_bytes(std::vector<double>(10, 0.5)))};
    all.push_back(files.read(files.gzip("x.gz", all.back())));
    return all;
}

} // namespace troupe::fuzz
