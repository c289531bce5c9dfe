// Reader of IDX images (actors/data/files/idx_file.hpp) as rows of pixels, 0 to 255 as they are in the file, plain or gzip.
// Rows are dense.
//
// Errors: as in input_file.hpp.
#pragma once

#include "actors/data/files/input_file.hpp"
#include "actors/data/matrix/table_rows.hpp"

namespace troupe {

class idx_rows final : public table_rows {
  public:
    static result<idx_rows> open(const std::string& path);

    const table_form& form() const noexcept override { return form_; }
    result<bool> append_row(row_block& to) override;
    result<void> rewind() override;
    error fail(std::string_view sentence) const override {
        return in_.fail(in_.offset(), sentence);
    }

  private:
    idx_rows(std::string path, input_file in) : path_{std::move(path)}, in_{std::move(in)} {}

    std::string path_;
    input_file in_;
    table_form form_;
    std::uint64_t images_ = 0; // that follow
    std::vector<std::uint8_t> pixels_;
};

} // namespace troupe
