// Fuzz target: arbitrary bytes as lines of libsvm; plain or gzip.
#include "actors/data/matrix/libsvm_rows.hpp"
#include "tests/fuzz/matrix_checks.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "tests/support/made_files.hpp"

namespace troupe::fuzz {

bool read(std::span<const std::byte> in) {
    static memory_file file;
    const std::string name = file.with(in);
    const bool taken = check_rows(libsvm_rows::open(name));
    return check_matrix(open_matrix({.features = {name, "features"}, .targets = {}})) || taken;
}

std::vector<std::string> sound_inputs() {
    const test::data_files files;
    std::vector<std::string> all{"+1 1:0.5 7:-2\n-1 2:1e3\n", "# comment\n0.25\t3:1 # 4\r\n\n2\n",
                                 "1\n2\n3 10:1 11:1 65536:0"};
    all.push_back(files.read(files.gzip("x.gz", all[0])));
    return all;
}

} // namespace troupe::fuzz
