// Fuzz target: arbitrary bytes as an archive with a sparse matrix of SciPy, and as the file that comes with a name alone.
#include "actors/data/matrix/scipy_rows.hpp"
#include "tests/fuzz/matrix_checks.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "tests/support/made_files.hpp"

namespace troupe::fuzz {

bool read(std::span<const std::byte> in) {
    static memory_file file;
    const std::string name = file.with(in);
    const bool taken = check_rows(open_scipy_rows(name));
    return check_matrix(open_matrix({.features = {name, "features"}, .targets = {}})) || taken;
}

std::vector<std::string> sound_inputs() {
    using whole = std::vector<std::int32_t>;
    const test::data_files files;
    const std::string data = test::npy_of(std::vector<float>{1, 2, 3, 4});
    const test::zip_members compressed{{"indptr", test::npy_of(whole{0, 2, 2, 4})},
                                       {"indices", test::npy_of(whole{2, 1, 0, 2})},
                                       {"data", data}};
    const test::zip_members coo{{"row", test::npy_of(whole{2, 0, 2, 0})},
                                {"col", test::npy_of(std::vector<std::int64_t>{2, 2, 0, 1})},
                                {"data", data}};
    std::vector<std::string> all;
    for (const bool packed : {true, false})
        for (const std::string format : {"csr", "csc", "coo"})
            all.push_back(files.read(files.zip(
                "x.npz", test::scipy_members(format, 3, 3, format == "coo" ? coo : compressed),
                packed)));
    return all;
}

} // namespace troupe::fuzz
