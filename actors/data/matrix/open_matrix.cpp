// The formats of matrix_source.hpp, and how a matrix comes by its targets.
#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

#include "actors/data/files/zip_member.hpp"
#include "actors/data/matrix/csv_rows.hpp"
#include "actors/data/matrix/idx_rows.hpp"
#include "actors/data/matrix/libsvm_rows.hpp"
#include "actors/data/matrix/matrix_market_rows.hpp"
#include "actors/data/matrix/npy_rows.hpp"
#include "actors/data/matrix/scipy_rows.hpp"
#include "actors/data/matrix/table_format.hpp"
#include "actors/data/matrix/table_rows.hpp"
#include "actors/data/matrix/target_vector.hpp"

namespace troupe {

namespace {

using opened_rows = result<std::unique_ptr<table_rows>>;

template <class Rows>
opened_rows as_table(result<Rows> rows) {
    if (!rows)
        return rows.failure();
    return std::unique_ptr<table_rows>{std::make_unique<Rows>(std::move(*rows))};
}

void add_notes(std::vector<std::string> sentences, const named_file& file,
               std::vector<std::string>& to) {
    for (std::string& sentence : sentences)
        to.push_back(file.key.empty() ? std::move(sentence) : file.key + ": " + sentence);
}

// The reason why an archive has no arrays.
std::string why_no_arrays(const std::vector<std::string>& members) {
    const auto has = [&](std::string_view end) {
        return std::ranges::any_of(members, [&](const std::string& m) { return m.ends_with(end); });
    };
    return has("[Content_Types].xml") ? "a document of Microsoft Office; save the table as CSV"
           : has("data.pkl")          ? "what torch.save writes; save an array of it by "
                                        "numpy.save(\"x.npy\", tensor.numpy())"
                             : "a zip archive without arrays of NumPy; unpack it, and name a "
                               "file of it";
}

opened_rows open_archive(const std::string& path) {
    constexpr std::string_view suffix = ".npy";
    auto members = zip_member_names(path, "");
    if (!members)
        return members.failure();
    if (std::ranges::none_of(*members, [&](const std::string& m) { return m.ends_with(suffix); }))
        return error{errc::data, path + ": byte 0: " + why_no_arrays(*members)};
    for (std::string& member : *members)
        if (member.ends_with(suffix))
            member.resize(member.size() - suffix.size());
    return looks_like_scipy(*members) ? open_scipy_rows(path) : open_npy_rows(path);
}

opened_rows open_rows(const matrix_settings& settings) {
    const std::string& name = settings.features.path;
    const auto format = table_format_of(name);
    if (!format)
        return format.failure();
    const bool is_csv_meant =
        (!settings.target_column.empty() && settings.needs_target_column) || settings.has_header;
    if (*format == table_format::csv)
        return as_table(csv_rows::open(
            {name, settings.target_column, settings.has_header, settings.needs_target_column}));
    if (is_csv_meant)
        return error{errc::usage, name + ": target_column and header are for CSV files, which this "
                                         "is not; leave them out"};
    switch (*format) {
    case table_format::npy:
        return open_npy_rows(name);
    case table_format::archive:
        return open_archive(name);
    case table_format::idx:
        return as_table(idx_rows::open(name));
    case table_format::matrix_market:
        return open_matrix_market_rows(name);
    default:
        return as_table(libsvm_rows::open(name));
    }
}

} // namespace

result<matrix_source> open_matrix(const matrix_settings& settings) {
    const named_file &features = settings.features, &targets = settings.targets;
    if (!targets.path.empty() && !settings.target_column.empty())
        return with_key(targets, {errc::usage, targets.path + ": targets and a target_column; give "
                                                              "one of them"});
    try {
        target_vector own;
        if (!targets.path.empty()) {
            auto read = read_targets(targets.path, settings.rule);
            if (!read)
                return with_key(targets, read.failure());
            own = std::move(*read);
        }
        auto rows = open_rows(settings);
        if (!rows)
            return with_key(features, rows.failure());
        matrix_source source{std::move(*rows)};
        source.key_ = features.key;
        const bool has_labels = source.shape_.has_targets;
        if (auto done = source.survey(settings, targets.path.empty() && has_labels); !done)
            return done.failure();
        // The rows have notes on what has been read of them.
        const std::vector<std::string> surveyed = std::exchange(source.notes_, {});
        add_notes(source.rows_->notes(), features, source.notes_);
        add_notes(std::move(own.notes), targets, source.notes_);
        if (!targets.path.empty() && has_labels)
            add_notes(
                {features.path + ": its labels are not used, as targets come from " + targets.path},
                features, source.notes_);
        source.notes_.insert(source.notes_.end(), surveyed.begin(), surveyed.end());
        if (targets.path.empty())
            return source;
        if (own.values.size() != source.shape_.rows)
            return with_key(targets,
                            {errc::data, own.end + ": " + std::to_string(own.values.size()) +
                                             " targets, but " + features.path + " has " +
                                             std::to_string(source.shape_.rows) +
                                             " rows; give each row one"});
        source.targets_ = std::move(own.values);
        source.shape_.has_targets = true;
        source.shape_.same_target.reset();
        if (std::ranges::count(source.targets_, source.targets_.front()) ==
            std::ssize(source.targets_))
            source.shape_.same_target = source.targets_.front();
        return source;
    } catch (const std::bad_alloc&) {
        return with_key(features, {errc::exhausted, features.path + ": no memory for the matrix"});
    }
}

} // namespace troupe
