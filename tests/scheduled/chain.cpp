#include "tests/scheduled/chain.hpp"

#include <cmath>
#include <numeric>

namespace troupe::test {

using namespace scheduled;

namespace {

constexpr std::size_t set = 3;           // variables of a phase
constexpr std::uint64_t probe_every = 7; // the last of so many phases

result<saved_part> saved(memory_pool& memory, const std::vector<double>& numbers) {
    auto made = payload_of(memory, numbers);
    if (!made)
        return made.failure();
    return saved_part{{"numbers"}, std::move(*made)};
}

class chain_scheduler final : public scheduler_part {
  public:
    explicit chain_scheduler(const scheduler_site& site)
        : own_{site.variables[site.scheduler]}, memory_{*site.memory},
          phases_{site.settings.getAs<proto::ChainSettings>().getPhases()}, state_(own_.count + 1) {
    }

    result<phase> schedule(std::uint64_t number, random_stream& random) override {
        if (number % probe_every == probe_every - 1)
            return phase{number, true, {}};
        std::vector<std::int64_t> ids;
        for (std::size_t i = 0; i < set; ++i) {
            const auto known = static_cast<std::uint64_t>(std::fabs(state_.back()) * 1e6);
            ids.push_back(static_cast<std::int64_t>(
                own_.first + (random.below(own_.count) + known) % own_.count));
        }
        auto content = payload_of(memory_, ids);
        if (!content)
            return content.failure();
        return phase{number, false, std::move(*content)};
    }

    result<payload> pull(const phase& p, in_flight deltas,
                         std::span<const payload> partials) override {
        const auto ids = read<std::int64_t>(p.content, 0, set, "the chosen variables");
        if (!ids)
            return ids.failure();
        std::vector<double> changes;
        for (std::size_t i = 0; i < set; ++i) {
            double z = 0;
            for (const payload& partial : partials) {
                const auto numbers = read<double>(partial, 0, set, "a partial result");
                if (!numbers)
                    return numbers.failure();
                z = z * 0.9 + (*numbers)[i];
            }
            for (const phase_deltas& d : deltas)
                if (!d.changes.empty())
                    for (const double change : d.changes[1].values<double>())
                        z = z * 0.99 + change;
            double& variable = state_[static_cast<std::uint64_t>((*ids)[i]) - own_.first];
            const double next = std::tanh(0.3 * z + 0.5 * variable);
            changes.push_back(next - variable);
            variable = next;
            state_.back() = std::tanh(state_.back() * 1.7 + next);
        }
        return payload_of(memory_, *ids, changes);
    }

    result<void> absorb(const phase_deltas& deltas) override {
        for (const double change : deltas.changes.at(1).values<double>())
            state_.back() = std::tanh(state_.back() * 1.3 + change);
        return {};
    }

    result<payload> judge(std::uint64_t, in_flight deltas,
                          std::span<const payload> partials) override {
        double sum = std::accumulate(state_.begin(), state_.end(), 0.0);
        for (const payload& partial : partials)
            sum = sum * 0.8 + partial[0].values<double>()[0];
        return payload_of(memory_, std::vector<double>{sum + static_cast<double>(deltas.size())});
    }

    result<standing> conclude(std::uint64_t number, std::span<const payload> judgements) override {
        double sum = 0;
        for (const payload& judgement : judgements)
            sum = sum * 0.7 + judgement[0].values<double>()[0];
        state_.back() = std::tanh(sum);
        return standing{{{"sum", sum, proto::NumberStyle::REAL}}, number >= phases_};
    }

    std::string describe(const phase& p) const override {
        return p.is_probe ? "a look at all" : std::to_string(set) + " variables";
    }

    result<saved_part> save() const override { return saved(memory_, state_); }
    result<void> load(const saved_part& from) override {
        const auto numbers = read<double>(from.tensors, 0, state_.size(), "the variables");
        if (!numbers)
            return numbers.failure();
        state_.assign(numbers->begin(), numbers->end());
        return {};
    }

  private:
    const number_range own_;
    memory_pool& memory_;
    const std::uint64_t phases_;
    std::vector<double> state_; // its variables, and one number that everything goes into
};

class chain_worker final : public worker_part {
  public:
    explicit chain_worker(const worker_site& site)
        : columns_{site.data.columns}, memory_{*site.memory},
          fails_at_{site.settings.getAs<proto::ChainSettings>().getFailsAt()},
          padding_(site.settings.getAs<proto::ChainSettings>().getPadding()),
          state_(site.data.columns) {}

    result<void> take_data(const payload& piece) override {
        const auto rows = read_matrix_piece(piece, columns_);
        if (!rows)
            return rows.failure();
        for (std::size_t i = 0; i < rows->values.size(); ++i)
            state_[i % columns_] =
                state_[i % columns_] * 0.95 + static_cast<double>(rows->values[i]);
        return {};
    }
    result<void> data_is_complete() override { return {}; }

    result<void> apply(const phase_deltas& deltas) override {
        state_[0] = std::tanh(state_[0] * 1.1 + static_cast<double>(deltas.number) * 1e-3);
        if (deltas.changes.empty())
            return {};
        const auto ids = read<std::int64_t>(deltas.changes, 0, set, "the changed variables");
        const auto changes = read<double>(deltas.changes, 1, set, "the changes");
        if (!ids || !changes)
            return ids ? changes.failure() : ids.failure();
        for (std::size_t i = 0; i < set; ++i) {
            double& number = state_[static_cast<std::uint64_t>((*ids)[i])];
            number = std::tanh(number * 0.9 + (*changes)[i]);
        }
        return {};
    }

    result<payload> push(const phase& p, compute_context&) override {
        if (p.number == fails_at_)
            return error{errc::numeric, "made to fail"};
        const auto ids = read<std::int64_t>(p.content, 0, set, "the chosen variables");
        if (!ids)
            return ids.failure();
        std::vector<double> partial;
        for (const std::int64_t id : *ids)
            partial.push_back(state_[static_cast<std::uint64_t>(id)] + state_[0]);
        return payload_of(memory_, partial, padding_);
    }

    result<payload> probe(const phase& p, std::uint32_t scheduler, compute_context&) override {
        const double sum = std::accumulate(state_.begin(), state_.end(), 0.0);
        return payload_of(memory_, std::vector<double>{sum * (scheduler + 1.0) +
                                                       static_cast<double>(p.number) * 1e-4});
    }

    result<saved_part> save() const override { return saved(memory_, state_); }
    result<void> load(const saved_part& from) override {
        const auto numbers = read<double>(from.tensors, 0, state_.size(), "a worker's state");
        if (!numbers)
            return numbers.failure();
        state_.assign(numbers->begin(), numbers->end());
        return {};
    }

  private:
    const std::uint64_t columns_;
    memory_pool& memory_;
    const std::uint64_t fails_at_;
    const std::vector<double> padding_;
    std::vector<double> state_;
};

result<std::vector<std::string>> write(const result_site& site, const ended_run& run) {
    const std::filesystem::path file = site.directory / "chain.bin";
    std::FILE* out = std::fopen(file.c_str(), "wb");
    if (out == nullptr)
        return error{errc::io, file.string() + ": cannot be written"};
    for (const saved_part& part : run.schedulers)
        std::fwrite(part.tensors.at(0).data(), 1, part.tensors[0].bytes(), out);
    std::fclose(out);
    return std::vector<std::string>{"chain.bin"};
}

} // namespace

program chain_program() {
    return {.name = "chain",
            .doc = "For tests: every number depends on everything before it.",
            .settings = capnp::Schema::from<proto::ChainSettings>(),
            .check = {},
            .make_scheduler = &scheduler_of<chain_scheduler>,
            .make_worker = &worker_of<chain_worker>,
            .write_result = &write};
}

made_rows::made_rows(std::uint64_t rows, std::uint64_t columns, std::uint64_t rows_per_piece)
    : rows_{rows}, columns_{columns}, rows_per_piece_{rows_per_piece} {}

result<std::optional<rows_piece>> made_rows::next(std::uint64_t rows_max, memory_pool& memory) {
    if (row_ == rows_)
        return std::optional<rows_piece>{};
    rows_piece piece{row_, std::min({rows_max, rows_per_piece_, rows_ - row_}), {}};
    std::vector<float> values;
    std::vector<double> targets;
    for (std::uint64_t r = 0; r < piece.count; ++r) {
        random_stream random{7, row_ + r};
        for (std::uint64_t c = 0; c < columns_; ++c)
            values.push_back(static_cast<float>(random.normal()));
        targets.push_back(random.normal());
    }
    row_ += piece.count;
    auto made = payload_of(memory, std::vector<std::int64_t>{}, std::vector<std::int32_t>{}, values,
                           targets);
    if (!made)
        return made.failure();
    piece.tensors = std::move(*made);
    return std::optional{std::move(piece)};
}

} // namespace troupe::test
