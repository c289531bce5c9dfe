#include "actors/data/matrix/table_format.hpp"

#include "actors/data/files/input_file.hpp"
#include "actors/data/files/npy_elements.hpp"
#include "actors/data/matrix/libsvm_rows.hpp"
#include "actors/data/matrix/matrix_market_rows.hpp"

namespace troupe {

namespace {

using namespace std::string_view_literals;

constexpr std::size_t beginning_bytes = 1u << 16;

result<std::string> beginning_of(const std::string& name) {
    auto in = input_file::open(name);
    if (!in)
        return in.failure();
    std::string text(beginning_bytes, '\0');
    std::size_t done = 0;
    while (done < text.size()) {
        const auto got = in->read_some(
            {reinterpret_cast<std::uint8_t*>(text.data()) + done, text.size() - done});
        if (!got)
            return got.failure();
        if (*got == 0)
            break;
        done += *got;
    }
    text.resize(done);
    return text;
}

} // namespace

result<table_format> table_format_of(const std::string& name) {
    if (names_npz_member(name))
        return table_format::npy;
    const auto text = beginning_of(name);
    if (!text)
        return text.failure();
    if (text->starts_with("\x93NUMPY"))
        return table_format::npy;
    if (text->starts_with("PK\x03\x04"))
        return table_format::archive;
    if (text->starts_with("\0\0"sv))
        return table_format::idx;
    if (looks_like_matrix_market(*text))
        return table_format::matrix_market;
    return looks_like_libsvm(*text) ? table_format::libsvm : table_format::csv;
}

} // namespace troupe
