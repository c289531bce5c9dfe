#include "apps/lasso/result_files.hpp"

#include <algorithm>
#include <fstream>
#include <functional>

#include "actors/scheduled/data_pieces.hpp"
#include "actors/scheduled/named_numbers.hpp"
#include "actors/scheduled/written_files.hpp"
#include "apps/lasso/facts_table.hpp"
#include "apps/lasso/settings.hpp"
#include "apps/lasso/solutions.hpp"
#include "schemas/base/json.hpp"

namespace troupe::lasso {

namespace {

using namespace scheduled;

// The solutions of all schedulers, for each lambda one after the other: their variables rise.
result<std::vector<solution>> merged(std::span<const scheduled::saved_part> saved) {
    std::vector<solution> all;
    for (const scheduled::saved_part& part : saved) {
        auto own = read_solutions(part);
        if (!own)
            return own.failure();
        if (all.empty()) {
            all = std::move(*own);
            continue;
        }
        if (own->size() != all.size())
            return error{errc::protocol, "schedulers have saved different numbers of solutions"};
        for (std::size_t i = 0; i < all.size(); ++i) {
            const solution& s = (*own)[i];
            all[i].columns.insert(all[i].columns.end(), s.columns.begin(), s.columns.end());
            all[i].values.insert(all[i].values.end(), s.values.begin(), s.values.end());
        }
    }
    return all;
}

// Scales that the columns were divided by; empty if they were not, or if nothing is known of them yet.
result<std::vector<double>> scales_of(const scheduled::result_site& site,
                                      std::span<const scheduled::saved_part> saved,
                                      bool is_centred) {
    const std::size_t each = facts_table::numbers_of_each(is_centred);
    std::vector<double> scales;
    if (!site.unit_norm)
        return scales;
    for (const scheduled::saved_part& part : saved) {
        const auto facts = scheduled::read_state<double>(part, "facts");
        if (!facts)
            return facts.failure();
        for (std::size_t i = each - 1; i < facts->size(); i += each) // the squares
            scales.push_back(facts_of_centred(0, (*facts)[i], {0, true, true}).scale);
    }
    if (!scales.empty() && scales.size() != site.data.columns)
        return error{errc::protocol, "what is saved of the columns is of other columns"};
    return scales;
}

// Intercepts for the columns as they are in the file, where workers have them less their offsets.
void move_intercepts(std::vector<solution>& all, std::span<const double> offsets,
                     std::span<const double> scales) {
    if (offsets.empty())
        return;
    for (solution& s : all)
        for (std::size_t i = 0; i < s.columns.size(); ++i) {
            const auto column = static_cast<std::size_t>(s.columns[i]);
            s.numbers.intercept -=
                s.values[i] / (scales.empty() ? 1.0 : scales[column]) * offsets[column];
        }
}

void write_npy(std::ofstream& file, const std::vector<solution>& all, std::uint64_t columns) {
    const std::uint64_t shape[] = {all.size(), columns};
    file << npy_header_of("<f8", shape);
    std::vector<double> row(columns);
    for (const solution& s : all) {
        std::ranges::fill(row, 0.0);
        for (std::size_t i = 0; i < s.columns.size(); ++i)
            row.at(static_cast<std::size_t>(s.columns[i])) = s.values[i];
        write_bytes(file, bytes_of(std::span<const double>{row}));
    }
}

void write_scales(std::ofstream& file, const std::vector<double>& scales) {
    const std::uint64_t shape[] = {scales.size()};
    file << npy_header_of("<f8", shape);
    write_bytes(file, bytes_of(std::span<const double>{scales}));
}

void write_columns(std::ofstream& file, const std::vector<std::string>& names) {
    for (const std::string& name : names)
        file << name << '\n';
}

void write_coefficients(std::ofstream& file, const std::vector<solution>& all,
                        const std::vector<std::string>& names) {
    file << "lambda,column,coefficient\n";
    for (const solution& s : all)
        for (std::size_t i = 0; i < s.columns.size(); ++i) {
            const auto column = static_cast<std::uint64_t>(s.columns[i]);
            file << text_of(s.numbers.lambda) << ',' << name_or_number(names, column) << ','
                 << text_of(s.values[i]) << '\n';
        }
}

void write_path(std::ofstream& file, const std::vector<solution>& all) {
    file << path_header << '\n';
    for (const solution& s : all)
        file << text_of(s.numbers.lambda) << ',' << text_of(s.numbers.objective) << ','
             << text_of(s.numbers.gap) << ',' << text_of(s.numbers.used) << ','
             << text_of(s.numbers.intercept) << '\n';
}

void write_summary(std::ofstream& file, const std::vector<solution>& all,
                   const scheduled::result_site& site, loss_kind loss) {
    json summary;
    summary["program"] = "lasso";
    summary["loss"] = name_of(loss);
    summary["rows"] = site.data.rows;
    summary["columns"] = site.data.columns;
    summary["lambdas"] = all.size();
    if (!all.empty()) {
        const solution_numbers& n = all.back().numbers;
        summary["lambda"] = n.lambda;
        summary["objective"] = n.objective;
        summary["gap"] = n.gap;
        summary["nonzeros"] = static_cast<std::uint64_t>(n.used);
        summary["intercept"] = n.intercept;
    }
    file << summary.dump(2) << '\n';
}

} // namespace

result<std::vector<std::string>> write_result(const scheduled::result_site& site,
                                              std::span<const scheduled::saved_part> saved) {
    auto all = merged(saved);
    if (!all)
        return all.failure();
    const auto settings = read_settings(site.settings);
    if (!settings)
        return settings.failure();
    for (const solution& s : *all)
        for (const std::int32_t column : s.columns)
            if (column < 0 || static_cast<std::uint64_t>(column) >= site.data.columns)
                return error{errc::protocol,
                             "a saved solution has a column that the matrix has not"};
    const auto scales = scales_of(site, saved, settings->intercept);
    if (!scales)
        return scales.failure();
    if (site.rows != nullptr)
        move_intercepts(*all, site.rows->offsets(), *scales);
    struct output {
        const char* name;
        std::function<void(std::ofstream&)> write;
        bool is_there = true;
    };
    const output files[] = {
        {result_names::coefficients,
         [&](std::ofstream& f) { write_npy(f, *all, site.data.columns); }},
        {result_names::table,
         [&](std::ofstream& f) { write_coefficients(f, *all, site.column_names); }},
        {result_names::path, [&](std::ofstream& f) { write_path(f, *all); }},
        {result_names::columns, [&](std::ofstream& f) { write_columns(f, site.column_names); },
         !site.column_names.empty()},
        {result_names::scales, [&](std::ofstream& f) { write_scales(f, *scales); },
         !scales->empty()},
        {result_names::summary,
         [&](std::ofstream& f) { write_summary(f, *all, site, settings->loss); }}};
    std::vector<std::string> names;
    for (const auto& [name, write, is_there] : files) {
        if (!is_there)
            continue;
        if (auto written = write_file(site.directory / name, write); !written)
            return written.failure();
        names.emplace_back(name);
    }
    return names;
}

} // namespace troupe::lasso
