// Reader of libsvm's format (also svmlight's), plain or gzip: a row a line, LABEL INDEX:VALUE INDEX:VALUE ..., separated
// by blanks, indices ascending from 1; "#" begins a comment. Rows are sparse, the labels are their targets, and there are
// as many columns as the highest index. Lines without a label are passed over. Queries (qid:N) and lists of labels are
// refused.
//
// Errors: as in line_reader.hpp. Source: README of LIBSVM, "Usage".
#pragma once

#include "actors/data/files/line_reader.hpp"
#include "actors/data/matrix/table_rows.hpp"

namespace troupe {

class libsvm_rows final : public table_rows {
  public:
    static result<libsvm_rows> open(const std::string& path);

    const table_form& form() const noexcept override { return form_; }
    result<bool> append_row(row_block& to) override;
    result<void> rewind() override;
    error fail(std::string_view sentence) const override { return lines_.fail(sentence); }

  private:
    libsvm_rows(std::string path, line_reader lines)
        : path_{std::move(path)}, lines_{std::move(lines)} {}
    result<void> append_entry(std::string_view written, std::int32_t& last, row_block& to);

    std::string path_;
    line_reader lines_;
    table_form form_{.is_sparse = true, .has_targets = true};
};

// Whether the text, the beginning of a file, looks so: the first line with more than a label has INDEX: behind it.
bool looks_like_libsvm(std::string_view text);

} // namespace troupe
