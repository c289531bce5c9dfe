#include "apps/lasso/solutions.hpp"

#include "actors/scheduled/named_numbers.hpp"

namespace troupe::lasso {

namespace {

constexpr std::size_t numbers_each = 5;

error bad_solutions() {
    return {errc::protocol, "the saved solutions of lasso do not fit together"};
}

} // namespace

result<void> append_solutions(memory_pool& memory, const std::vector<solution>& solutions,
                              scheduled::saved_part& to) {
    std::vector<double> numbers, values;
    std::vector<std::int64_t> sizes;
    std::vector<std::int32_t> columns;
    for (const solution& s : solutions) {
        const solution_numbers& n = s.numbers;
        numbers.insert(numbers.end(), {n.lambda, n.objective, n.gap, n.intercept, n.used});
        sizes.push_back(static_cast<std::int64_t>(s.columns.size()));
        columns.insert(columns.end(), s.columns.begin(), s.columns.end());
        values.insert(values.end(), s.values.begin(), s.values.end());
    }
    if (auto done = scheduled::append_state<double>(memory, solution_names[0], numbers, to); !done)
        return done;
    if (auto done = scheduled::append_state<std::int64_t>(memory, solution_names[1], sizes, to);
        !done)
        return done;
    if (auto done = scheduled::append_state<std::int32_t>(memory, solution_names[2], columns, to);
        !done)
        return done;
    return scheduled::append_state<double>(memory, solution_names[3], values, to);
}

result<std::vector<solution>> read_solutions(const scheduled::saved_part& saved) {
    const auto numbers = scheduled::read_state<double>(saved, solution_names[0]);
    const auto sizes = scheduled::read_state<std::int64_t>(saved, solution_names[1]);
    const auto columns = scheduled::read_state<std::int32_t>(saved, solution_names[2]);
    const auto values = scheduled::read_state<double>(saved, solution_names[3]);
    if (const error* failure = scheduled::first_failure(numbers, sizes, columns, values))
        return *failure;
    if (numbers->size() != numbers_each * sizes->size() || columns->size() != values->size())
        return bad_solutions();
    std::vector<solution> all;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < sizes->size(); ++i) {
        const double* n = numbers->data() + numbers_each * i;
        const auto size = static_cast<std::uint64_t>((*sizes)[i]);
        if (size > columns->size() - begin)
            return bad_solutions();
        const auto c = columns->subspan(begin, size);
        const auto v = values->subspan(begin, size);
        all.push_back({{n[0], n[1], n[2], n[3], n[4]}, {c.begin(), c.end()}, {v.begin(), v.end()}});
        begin += size;
    }
    return all;
}

} // namespace troupe::lasso
