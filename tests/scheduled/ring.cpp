#include "tests/scheduled/ring.hpp"

#include <cmath>
#include <fstream>
#include <numeric>

#include "actors/scheduled/data_pieces.hpp"
#include "tests/scheduled/chain.capnp.h"

namespace troupe::test {

using namespace scheduled;

namespace {

result<saved_part> saved(memory_pool& memory, const std::vector<double>& numbers) {
    auto made = payload_of(memory, numbers);
    if (!made)
        return made.failure();
    return saved_part{{"numbers"}, std::move(*made)};
}

result<void> loaded(const saved_part& from, std::vector<double>& numbers) {
    const auto read_numbers = read<double>(from.tensors, 0, numbers.size(), "the numbers");
    if (!read_numbers)
        return read_numbers.failure();
    numbers.assign(read_numbers->begin(), read_numbers->end());
    return {};
}

double sum_of(const std::vector<double>& numbers) {
    return std::accumulate(numbers.begin(), numbers.end(), 0.0);
}

class ring_scheduler final : public scheduler_part {
  public:
    explicit ring_scheduler(const scheduler_site& site)
        : ring_{site.ring()}, memory_{*site.memory},
          phases_{site.settings.getAs<proto::ChainSettings>().getPhases()} {}

    result<phase> schedule(std::uint64_t number, random_stream& random) override {
        auto content = payload_of(memory_, std::vector<double>{total_[0] + random.uniform()});
        if (!content)
            return content.failure();
        return phase{number, ring_.is_probe(number), std::move(*content)};
    }
    result<payload> pull(const phase&, in_flight deltas,
                         std::span<const payload> partials) override {
        const double before = total_[0];
        for (const payload& partial : partials)
            total_[0] = std::tanh(total_[0] * 0.9 + partial[0].values<double>()[0]);
        for (const phase_deltas& d : deltas)
            if (!d.changes.empty())
                total_[0] = total_[0] * 0.99 + d.changes[0].values<double>()[0];
        return payload_of(memory_, std::vector<double>{total_[0] - before});
    }
    result<payload> judge(std::uint64_t, in_flight deltas,
                          std::span<const payload> partials) override {
        double sum = total_[0] + static_cast<double>(deltas.size());
        for (const payload& partial : partials)
            sum = sum * 0.8 + partial[0].values<double>()[0];
        return payload_of(memory_, std::vector<double>{sum});
    }
    result<standing> conclude(std::uint64_t number, std::span<const payload> judgements) override {
        const double sum = judgements[0][0].values<double>()[0];
        total_[0] = std::tanh(total_[0] + sum);
        return standing{{{"sum", sum, proto::NumberStyle::REAL}}, number >= phases_};
    }
    result<saved_part> save() const override { return saved(memory_, total_); }
    result<void> load(const saved_part& from) override { return loaded(from, total_); }

  private:
    const rotation ring_;
    memory_pool& memory_;
    const std::uint64_t phases_;
    std::vector<double> total_{0.1};
};

class ring_worker final : public worker_part {
  public:
    explicit ring_worker(const worker_site& site)
        : ring_{site.ring()}, worker_{site.worker}, blocks_{site.blocks},
          columns_{site.data.columns}, memory_{*site.memory}, state_(site.data.columns) {}

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
        if (!deltas.changes.empty())
            state_[1] = std::tanh(state_[1] + deltas.changes[0].values<double>()[0]);
        return {};
    }
    result<payload> push(const phase&, compute_context&) override {
        return error{errc::protocol, "a rotation has turns"};
    }

    // A count, and a number for each variable.
    result<payload> make_block(std::uint32_t block) override {
        std::vector<double> numbers(blocks_[block].count, 0.01 * (block + 1));
        return payload_of(memory_, std::vector<std::int64_t>{0}, numbers);
    }
    result<payload> turn(const phase& p, held_block& block, compute_context&) override {
        if (block.number != ring_.block_of(worker_, block.turn) ||
            block.turn != ring_.turns_before(p.number))
            return error{errc::protocol, "not the block of this turn"};
        std::int64_t& count = block.content[0].mutable_values<std::int64_t>()[0];
        if (static_cast<std::uint64_t>(count) != block.turn / ring_.per_worker)
            return error{errc::protocol, "the block has been computed with too often, or not"};
        ++count;
        double last = p.content[0].values<double>()[0];
        const auto numbers = block.content[1].mutable_values<double>();
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            double& own = state_[blocks_[block.number].first + i];
            numbers[i] = std::tanh(numbers[i] * 0.8 + own + 0.1 * last);
            own = std::tanh(own * 0.7 - numbers[i]);
            last = numbers[i];
        }
        return payload_of(memory_, std::vector<double>{last + state_[0] + state_[1]});
    }
    result<payload> probe(const phase& p, std::uint32_t, compute_context&) override {
        return payload_of(
            memory_, std::vector<double>{sum_of(state_) + static_cast<double>(p.number) * 1e-4});
    }

    result<saved_part> save() const override { return saved(memory_, state_); }
    result<void> load(const saved_part& from) override { return loaded(from, state_); }

  private:
    const rotation ring_;
    const std::uint32_t worker_;
    const std::vector<number_range> blocks_;
    const std::uint64_t columns_;
    memory_pool& memory_;
    std::vector<double> state_;
};

result<std::vector<std::string>> write(const result_site& site, const ended_run& run) {
    const std::string bytes = ring_bytes(run);
    std::ofstream out{site.directory / "ring.bin", std::ios::binary};
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (!out.flush())
        return error{errc::io, "ring.bin cannot be written"};
    return std::vector<std::string>{"ring.bin"};
}

} // namespace

std::string ring_bytes(const ended_run& run) {
    std::string bytes;
    const auto add = [&](const tensor& t) {
        bytes.append(reinterpret_cast<const char*>(t.data()), t.bytes());
    };
    for (const auto* parts : {&run.schedulers, &run.workers})
        for (const saved_part& part : *parts)
            add(part.tensors.at(0));
    for (const held_block& block : run.blocks)
        for (const tensor& t : block.content)
            add(t);
    return bytes;
}

program ring_program() {
    return {.name = "ring",
            .doc = "For tests: its variables rotate, and every number depends on all before it.",
            .settings = capnp::Schema::from<proto::ChainSettings>(),
            .check = {},
            .make_scheduler = &scheduler_of<ring_scheduler>,
            .make_worker = &worker_of<ring_worker>,
            .write_result = &write,
            .schedules = {schedule_kind::rotation},
            .result_is_with_workers = true};
}

} // namespace troupe::test
