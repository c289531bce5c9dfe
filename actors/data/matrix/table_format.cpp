#include "actors/data/matrix/table_format.hpp"

#include "actors/data/files/input_file.hpp"
#include "actors/data/files/npy_elements.hpp"
#include "actors/data/matrix/libsvm_rows.hpp"
#include "actors/data/matrix/matrix_market_rows.hpp"

namespace troupe {

namespace {

using namespace std::string_view_literals;

constexpr std::size_t beginning_bytes = 1u << 16;

} // namespace

result<table_format> table_format_of(const std::string& name) {
    if (names_npz_member(name))
        return table_format::npy;
    const auto beginning = beginning_of(name, beginning_bytes);
    if (!beginning)
        return beginning.failure();
    std::string_view text = *beginning;
    if (text.starts_with("\xef\xbb\xbf")) // of a text file in UTF-8
        text.remove_prefix(3);
    if (text.starts_with("\x93NUMPY"))
        return table_format::npy;
    if (text.starts_with("PK\x03\x04"))
        return table_format::archive;
    if (text.starts_with("\0\0"sv))
        return table_format::idx;
    if (looks_like_matrix_market(text))
        return table_format::matrix_market;
    return looks_like_libsvm(text) ? table_format::libsvm : table_format::csv;
}

} // namespace troupe
