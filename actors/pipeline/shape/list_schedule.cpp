#include "actors/pipeline/shape/list_schedule.hpp"

#include <algorithm>
#include <array>
#include <queue>
#include <tuple>

#include "actors/pipeline/shape/schedule_checker.hpp"

namespace troupe {

namespace {

constexpr std::int64_t never = -1;

// A stage does the steps of a kind in the order of microbatches.
struct listed_stage {
    std::uint32_t forwards = 0;       // begun
    std::uint32_t inputs = 0;         // input gradients, or whole backward passes, begun
    std::uint32_t weights = 0;        // weight halves begun
    std::vector<std::int64_t> output; // when it is there, by microbatch
    std::vector<std::int64_t> input_gradient;
};

class list_run {
  public:
    list_run(const schedule_table& places, const list_rules& rules)
        : table_{places}, rules_{rules}, stages_(places.chain_stages()),
          free_(places.devices.size()), in_flight_(places.devices.size()) {
        for (listed_stage& s : stages_)
            for (auto* when : {&s.output, &s.input_gradient})
                when->assign(places.microbatches, never);
        for (device_steps& d : table_.devices)
            d = {};
    }

    std::optional<schedule_table> run();

  private:
    // The least is taken first: kind, microbatch, stages behind it, replica.
    using rank = std::array<std::uint32_t, 4>;
    using candidate = std::pair<rank, schedule_step>;

    void consider(std::uint32_t stage, std::optional<candidate>& best) const;
    bool is_there(std::int64_t when, std::uint32_t from, std::uint32_t to) const {
        const bool crosses = table_.device_of[from] != table_.device_of[to];
        return when != never && when + (crosses ? rules_.times.hop : 0) <= now_;
    }
    bool can_go_forward(std::uint32_t s) const;
    bool can_go_back(std::uint32_t s) const;
    bool begin_one(std::uint32_t device);
    void begin(std::uint32_t device, const schedule_step& step);

    schedule_table table_;
    const list_rules& rules_;
    std::vector<listed_stage> stages_;
    std::vector<std::int64_t> free_; // when the device is
    std::vector<std::uint32_t> in_flight_;
    std::priority_queue<std::int64_t, std::vector<std::int64_t>, std::greater<>> times_;
    std::int64_t now_ = 0;
};

bool list_run::can_go_forward(std::uint32_t s) const {
    const std::uint32_t m = stages_[s].forwards;
    const std::uint32_t device = table_.device_of[s];
    return m < table_.microbatches && in_flight_[device] < rules_.bound[device] &&
           (table_.is_first(s) || is_there(stages_[s - 1].output[m], s - 1, s));
}

bool list_run::can_go_back(std::uint32_t s) const {
    const std::uint32_t m = stages_[s].inputs;
    return m < table_.microbatches && is_there(stages_[s].output[m], s, s) &&
           (table_.is_last(s) || is_there(stages_[s + 1].input_gradient[m], s + 1, s));
}

void list_run::consider(std::uint32_t s, std::optional<candidate>& best) const {
    const listed_stage& stage = stages_[s];
    const std::uint32_t behind = table_.stages - s % table_.stages;
    const auto offer = [&](std::uint32_t order, step_kind kind, std::uint32_t m) {
        const candidate c{rank{order, m, behind, s / table_.stages}, schedule_step{kind, s, m}};
        if (!best || c.first < best->first)
            best = c;
    };
    if (can_go_back(s))
        offer(0, rules_.halves ? step_kind::backward_input : step_kind::backward, stage.inputs);
    if (can_go_forward(s))
        offer(1, step_kind::forward, stage.forwards);
    if (rules_.halves && stage.weights < stage.inputs)
        offer(2, step_kind::backward_weight, stage.weights);
}

void list_run::begin(std::uint32_t device, const schedule_step& step) {
    listed_stage& stage = stages_[step.stage];
    std::int64_t end = now_;
    if (step.kind == step_kind::forward) {
        end += rules_.times.forward[step.stage];
        ++stage.forwards;
        ++in_flight_[device];
        stage.output[step.microbatch] = end;
    }
    if (gives_input_gradient(step.kind)) {
        end += rules_.times.backward_input[step.stage];
        ++stage.inputs;
    }
    if (ends_microbatch(step.kind)) {
        end += rules_.times.backward_weight[step.stage];
        stage.weights += step.kind == step_kind::backward_weight ? 1 : 0;
        --in_flight_[device];
    }
    if (gives_input_gradient(step.kind))
        stage.input_gradient[step.microbatch] = end;
    table_.devices[device].body.push_back(step);
    free_[device] = end;
    times_.push(end);
    times_.push(end + rules_.times.hop);
}

bool list_run::begin_one(std::uint32_t device) {
    if (free_[device] > now_)
        return false;
    std::optional<candidate> best;
    for (std::uint32_t s = 0; s < table_.chain_stages(); ++s)
        if (table_.device_of[s] == device)
            consider(s, best);
    if (best)
        begin(device, best->second);
    return best.has_value();
}

std::optional<schedule_table> list_run::run() {
    times_.push(0);
    while (!times_.empty()) {
        now_ = times_.top();
        while (!times_.empty() && times_.top() == now_)
            times_.pop();
        for (std::uint32_t d = 0; d < table_.devices.size(); ++d)
            begin_one(d);
    }
    for (const listed_stage& s : stages_)
        if (s.inputs < table_.microbatches || (rules_.halves && s.weights < table_.microbatches))
            return std::nullopt;
    append_updates(table_);
    return std::move(table_);
}

} // namespace

std::optional<schedule_table> list_schedule(schedule_table places, const list_rules& rules) {
    return list_run{std::move(places), rules}.run();
}

schedule_table fitted_to(const schedule_table& table, const timeline_options& times) {
    const auto numbers = check_table(table);
    TROUPE_CHECK(numbers.ok(), "a table is checked before it is fitted");
    list_rules rules{.times = ticks_of(table, times).times, .bound = numbers->device_in_flight};
    for (const device_steps& d : table.devices)
        for (const schedule_step& s : d.body)
            rules.halves = rules.halves || s.kind == step_kind::backward_weight;
    auto listed = ahead_max(table) == 0 ? list_schedule(table, rules) : std::nullopt;
    if (!listed || find_fault(*listed))
        return table;
    const auto period = [&](const schedule_table& t) {
        return find_steady_pace(t, times).per_minibatch();
    };
    return period(*listed) < period(table) ? std::move(*listed) : table;
}

} // namespace troupe
