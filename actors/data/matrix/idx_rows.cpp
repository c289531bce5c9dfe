#include "actors/data/matrix/idx_rows.hpp"

#include "actors/data/files/idx_file.hpp"
#include "schemas/base/limits.hpp"

namespace troupe {

result<idx_rows> idx_rows::open(const std::string& path) {
    auto in = input_file::open(path);
    if (!in)
        return in.failure();
    const auto sizes = read_idx_header(*in, 3, "images");
    if (!sizes)
        return sizes.failure();
    idx_rows rows{path, std::move(*in)};
    rows.images_ = (*sizes)[0];
    const std::uint64_t pixels = (*sizes)[1] * (*sizes)[2];
    if (pixels > limits::matrix_columns_max)
        return rows.in_.fail(8, "images of " + std::to_string(pixels) + " pixels; at most " +
                                    std::to_string(limits::matrix_columns_max) + " are read");
    if (auto fits = rows.in_.check_claim(rows.images_ * pixels, "images"); !fits)
        return fits.failure();
    rows.form_.columns = pixels;
    return rows;
}

result<void> idx_rows::rewind() {
    auto again = open(path_);
    if (!again)
        return again.failure();
    if (again->form_ != form_)
        return fail(file_changed);
    *this = std::move(*again);
    return {};
}

result<bool> idx_rows::append_row(row_block& to) {
    if (images_ == 0) {
        const auto ended = in_.expect_end();
        return ended ? result<bool>{false} : ended.failure();
    }
    pixels_.resize(*form_.columns);
    if (auto got = in_.read(pixels_, "an image"); !got)
        return got.failure();
    to.values.insert(to.values.end(), pixels_.begin(), pixels_.end());
    --images_;
    return true;
}

} // namespace troupe
