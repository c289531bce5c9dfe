#include "actors/data/matrix/target_vector.hpp"

#include "actors/data/files/idx_file.hpp"
#include "actors/data/files/npy_elements.hpp"
#include "actors/data/matrix/csv_rows.hpp"
#include "actors/data/matrix/table_format.hpp"
#include "schemas/base/limits.hpp"

namespace troupe {

namespace {

result<target_vector> read_npy_targets(const std::string& name) {
    auto elements = npy_elements::open(name, npy_order::fortran);
    if (!elements)
        return elements.failure();
    const npy_header& header = elements->header();
    if (header.elements != header.shape[0])
        return elements->fail_header("an array with several numbers for a row; targets are a "
                                     "vector, as array[:, 0]");
    if (header.elements > limits::matrix_rows_max)
        return elements->fail_header("more than " + std::to_string(limits::matrix_rows_max) +
                                     " targets; leave some out");
    std::vector<double> values(header.elements);
    if (auto got = elements->read(std::span{values}); !got)
        return got.failure();
    if (auto ended = elements->expect_end(); !ended)
        return ended.failure();
    return target_vector{std::move(values), elements->name() + ": byte 0", {}};
}

result<target_vector> read_idx_targets(const std::string& name) {
    const auto labels = read_idx_labels(name);
    if (!labels)
        return labels.failure();
    return target_vector{{labels->begin(), labels->end()}, name + ": byte 4", {}};
}

// Checks numbers that have no lines.
result<void> ask(data_rule* rule, const target_vector& all, const std::string& name) {
    if (rule == nullptr)
        return {};
    for (std::size_t i = 0; i < all.values.size(); ++i)
        if (auto fits = rule->take_target(all.values[i]); !fits)
            return fits.failure().in(name + ": element " + std::to_string(i));
    if (auto fits = rule->end_targets(); !fits)
        return fits.failure().in(all.end);
    return {};
}

result<target_vector> read_text_targets(const std::string& name, data_rule* rule) {
    auto rows = csv_rows::open({name, "0", std::nullopt});
    if (!rows)
        return rows.failure();
    if (rows->width() != 1)
        return rows->fail(std::to_string(rows->width()) +
                          " numbers in a line; a file of targets has one");
    row_block all;
    for (;;) {
        const auto more = rows->append_row(all);
        if (!more)
            return more.failure();
        if (!*more)
            break;
        if (all.targets.size() > limits::matrix_rows_max)
            return rows->fail("more than " + std::to_string(limits::matrix_rows_max) +
                              " targets; leave some out");
        if (rule != nullptr)
            if (auto fits = rule->take_target(all.targets.back()); !fits)
                return rows->fail(fits.failure().message());
    }
    if (rule != nullptr)
        if (auto fits = rule->end_targets(); !fits)
            return rows->fail(fits.failure().message());
    const std::string end = name + ": line " + std::to_string(rows->line());
    target_vector read{std::move(all.targets), end, {}};
    if (!rows->doubt().empty())
        read.notes.push_back(rows->doubt() +
                             "; write it as a decimal, such as 0.0, if it is a target, or leave "
                             "the line out");
    return read;
}

} // namespace

result<target_vector> read_targets(const std::string& name, data_rule* rule) {
    const auto format = table_format_of(name);
    if (!format)
        return format.failure();
    switch (*format) {
    case table_format::npy:
    case table_format::archive:
    case table_format::idx: {
        auto all = *format == table_format::idx ? read_idx_targets(name) : read_npy_targets(name);
        if (all)
            if (auto fits = ask(rule, *all, name); !fits)
                return fits.failure();
        return all;
    }
    case table_format::matrix_market:
    case table_format::libsvm:
        return error{errc::data, name + ": line 1: a matrix, where targets belong; give a file "
                                        "with one number a line"};
    default:
        return read_text_targets(name, rule);
    }
}

} // namespace troupe
