// Fuzz target: arbitrary bytes as a matrix of Matrix Market; plain or gzip.
#include "actors/data/matrix/matrix_market_rows.hpp"
#include "tests/fuzz/matrix_checks.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "tests/support/made_files.hpp"

namespace troupe::fuzz {

bool read(std::span<const std::byte> in) {
    static memory_file file;
    return check_rows(open_matrix_market_rows(file.with(in)));
}

std::vector<std::string> sound_inputs() {
    const test::data_files files;
    const std::string begin = "%%MatrixMarket matrix ";
    std::vector<std::string> all{
        begin + "coordinate real general\n% comment\n\n3 4 3\n3 1 5\n1 4 -2.5\n1 2 1e2\n",
        begin + "coordinate pattern general\n2 2 2\n1 2\n2 1\n",
        begin + "coordinate integer symmetric\n3 3 3\n1 1 7\n3 1 5\n3 2 4",
        begin + "array real general\n2 3\n1\n2\n3\n4\n5\n6\n",
        begin + "array integer symmetric\n2 2\n1\n2\n3\n"};
    all.push_back(files.read(files.gzip("x.gz", all[0])));
    return all;
}

} // namespace troupe::fuzz
