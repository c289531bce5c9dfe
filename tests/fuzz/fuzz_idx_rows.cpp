// Fuzz target: arbitrary bytes as IDX images in rows, and as labels that are targets; plain or gzip.
#include "actors/data/matrix/idx_rows.hpp"
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
    return check_rows(idx_rows::open(name)) || targets.ok();
}

std::vector<std::string> sound_inputs() {
    const test::data_files files;
    return {test::idx_image_file(3), test::idx_label_file({1, 0, 7}),
            files.read(files.gzip("images.gz", test::idx_image_file(40)))};
}

} // namespace troupe::fuzz
