// Fuzz target: arbitrary bytes as a matrix of NumPy, in either order, and as a vector of targets; plain or gzip.
#include "actors/data/matrix/npy_rows.hpp"
#include "actors/data/matrix/target_vector.hpp"
#include "tests/fuzz/matrix_checks.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "tests/support/made_files.hpp"

namespace troupe::fuzz {

bool read(std::span<const std::byte> in) {
    static memory_file file;
    const std::string name = file.with(in);
    const auto targets = read_targets(name);
    if (!targets)
        check_refusal(targets.failure());
    return check_rows(open_npy_rows(name)) || targets.ok();
}

std::vector<std::string> sound_inputs() {
    const test::data_files files;
    const std::string numbers = test::raw_bytes(std::vector<double>{1, 2, 3, 4, 5, 6});
    std::vector<std::string> all{
        test::npy_of(std::vector<std::uint8_t>{1, 2, 3, 255}, "2, 2"),
        test::npy_of(std::vector<std::int32_t>{1, -2, 3}, "1, 3"),
        test::npy_of(std::vector<std::int64_t>{1, 2, 3}, "3, 1"),
        test::npy_of(std::vector<float>{1, 2, 3}),
        test::npy("<f8", "2, 3", numbers, 2),
        test::npy_with("{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3), }", numbers)};
    all.push_back(files.read(files.gzip("x.gz", all.back())));
    return all;
}

} // namespace troupe::fuzz
