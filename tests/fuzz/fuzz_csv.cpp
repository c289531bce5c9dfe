// Fuzz target: arbitrary bytes as CSV, with and without a target column, and as a file of targets; plain or gzip.
#include "actors/data/matrix/csv_rows.hpp"
#include "actors/data/matrix/target_vector.hpp"
#include "tests/fuzz/matrix_checks.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "tests/support/made_files.hpp"

namespace troupe::fuzz {

bool read(std::span<const std::byte> in) {
    static memory_file file;
    const std::string name = file.with(in);
    bool taken = check_rows(csv_rows::open({name, "", std::nullopt}));
    taken |= check_rows(csv_rows::open({name, "y", std::nullopt}));
    taken |= check_rows(csv_rows::open({name, "-1", true}));
    const auto targets = read_targets(name);
    if (!targets)
        check_refusal(targets.failure());
    taken |= check_matrix(open_matrix({.features = {name, "features"}, .targets = {}}));
    return taken;
}

std::vector<std::string> sound_inputs() {
    const test::data_files files;
    std::vector<std::string> all{"1,2.5,-3e4\n4,5,6\n",
                                 "a;y;\"c d\"\r\n1;2;3\r\n\r\n4;5;6",
                                 "\"a\n;b\";y\n1;2\n",
                                 "0,1,2\n0.5,1,2\n",
                                 "x\ty\n0.125\t+1\n\"7\" \t 8\n",
                                 "1\n2\n3\n",
                                 "\xef\xbb\xbf"
                                 "y,z\n1e-320,2\n"};
    all.push_back(files.read(files.gzip("x.gz", all[1])));
    return all;
}

} // namespace troupe::fuzz
