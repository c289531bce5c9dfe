#include "actors/pipeline/shape/schedule_checker.hpp"

#include <algorithm>
#include <set>

#include "actors/pipeline/shape/schedule_course.hpp"

namespace troupe {

namespace {

using fault = std::optional<table_fault>;

std::uint64_t minibatches_to_try(const schedule_table& table) {
    return std::uint64_t{ahead_max(table)} + behind_max(table) + 2;
}

fault fault_of_step(const schedule_table& table, std::uint32_t device, std::size_t position) {
    const schedule_step& s = step_at(table.devices[device], position);
    const auto say = [&](const std::string& what) { return table_fault{device, position, what}; };
    if (s.kind > step_kind::update)
        return say("a step of no known kind");
    if (s.stage >= table.chain_stages())
        return say(to_string(s) + " names a stage beyond the last, " +
                   std::to_string(table.chain_stages() - 1));
    if (table.device_of[s.stage] != device)
        return say(to_string(s) + " stands in another row than its stage, which lies on row " +
                   std::to_string(table.device_of[s.stage] + 1));
    if (s.microbatch >= table.microbatches)
        return say(to_string(s) + " names a microbatch beyond the last, " +
                   std::to_string(table.microbatches - 1));
    if (s.ahead > limits::schedule_ahead_max || s.behind > limits::schedule_ahead_max)
        return say(to_string(s) + " is more than " + std::to_string(limits::schedule_ahead_max) +
                   " minibatches ahead or behind");
    return std::nullopt;
}

// Sizes, and numbers of stages, microbatches and devices.
fault fault_of_shape(const schedule_table& table) {
    const auto say = [](const std::string& what) {
        return table_fault{std::nullopt, std::nullopt, what};
    };
    if (table.stages == 0 || table.stages > limits::stages_max || table.replicas == 0 ||
        table.replicas > limits::schedule_replicas_max)
        return say("a table has 1 to " + std::to_string(limits::stages_max) + " stages and 1 to " +
                   std::to_string(limits::schedule_replicas_max) + " replicas");
    if (table.devices.empty() || table.devices.size() > limits::stages_max)
        return say("a table has 1 to " + std::to_string(limits::stages_max) + " devices");
    if (table.microbatches == 0 || table.microbatches > limits::schedule_microbatches_max)
        return say("a table has 1 to " + std::to_string(limits::schedule_microbatches_max) +
                   " microbatches");
    if (table.device_of.size() != table.chain_stages() ||
        std::ranges::any_of(table.device_of,
                            [&](std::uint32_t d) { return d >= table.devices.size(); }))
        return say("each stage of a table lies on one of its devices");
    if (table.steps() > limits::schedule_steps_max)
        return say("a table has at most " + std::to_string(limits::schedule_steps_max) + " steps");
    for (std::uint32_t d = 0; d < table.devices.size(); ++d)
        for (std::size_t p = 0; p < step_count(table.devices[d]); ++p)
            if (auto f = fault_of_step(table, d, p))
                return f;
    const std::size_t units = std::size_t{table.chain_stages()} * table.microbatches;
    if (minibatches_to_try(table) * std::max(table.steps(), units) >
        limits::schedule_tried_steps_max)
        return say("a table with so many steps, or stages and microbatches, is too large for its "
                   "minibatches ahead and updates behind");
    return std::nullopt;
}

// A scan of the devices looks at passes and their order, or at updates and versions once all passes are known to be
// there.
enum class scan_of : std::uint8_t { passes, updates };

// The steps of all devices in their order, each device by itself: what its stages have done so far.
class device_scan {
  public:
    device_scan(const schedule_table& table, scan_of what)
        : table_{table}, what_{what}, microbatches_(minibatches_to_try(table), table.microbatches),
          done_(microbatches_.size() * table.chain_stages() * table.microbatches),
          ended_(microbatches_.size() * table.chain_stages()), updates_(table.chain_stages()) {}

    fault scan(std::uint32_t device);
    fault find_missing() const;

  private:
    enum : std::uint8_t { forward = 1, input = 2, weight = 4 };

    std::uint8_t& done(const epoch_step& e) {
        return done_[(e.minibatch * table_.chain_stages() + e.what.stage) * table_.microbatches +
                     e.what.microbatch];
    }
    std::string why_not(const epoch_step& e); // empty if the step may stand here
    std::string why_no_update(const epoch_step& e) const;
    std::string why_no_version(const epoch_step& e) const;
    void note(const epoch_step& e);

    const schedule_table& table_;
    scan_of what_;
    std::vector<std::uint32_t> microbatches_;
    std::vector<std::uint8_t> done_;
    std::vector<std::uint32_t> ended_; // microbatches, by minibatch and stage
    std::vector<std::uint64_t> updates_;
};

schedule_step of_kind(schedule_step s, step_kind kind) {
    s.kind = kind;
    return s;
}

std::string device_scan::why_no_version(const epoch_step& e) const {
    const std::uint64_t version = e.minibatch - std::min<std::uint64_t>(e.minibatch, e.what.behind);
    const std::uint64_t there = updates_[e.what.stage];
    if (version > there)
        return to_string(e.what) + " of minibatch " + std::to_string(e.minibatch) +
               " names weights of " + std::to_string(version) + " updates, where " +
               std::to_string(there) + " are made by then";
    if (!table_.stashes_weights && version < there)
        return to_string(e.what) + " of minibatch " + std::to_string(e.minibatch) +
               " names older weights than the latest, which the table does not keep";
    return {};
}

std::string device_scan::why_no_update(const epoch_step& e) const {
    if (e.minibatch < updates_[e.what.stage])
        return to_string(e.what) + " twice";
    if (e.minibatch > updates_[e.what.stage])
        return to_string(e.what) + " of minibatch " + std::to_string(e.minibatch) +
               " before that of the minibatch before";
    if (ended_[e.minibatch * table_.chain_stages() + e.what.stage] == table_.microbatches)
        return {};
    for (schedule_step s{step_kind::backward, e.what.stage}; s.microbatch < table_.microbatches;
         ++s.microbatch) {
        const std::uint8_t so_far =
            done_[(e.minibatch * table_.chain_stages() + s.stage) * table_.microbatches +
                  s.microbatch];
        if ((so_far & weight) == 0)
            return to_string(e.what) + " before " +
                   to_string((so_far & input) != 0 ? of_kind(s, step_kind::backward_weight) : s);
    }
    return {};
}

std::string device_scan::why_not(const epoch_step& e) {
    const schedule_step& s = e.what;
    if (what_ == scan_of::updates)
        return s.kind == step_kind::update    ? why_no_update(e)
               : s.kind == step_kind::forward ? why_no_version(e)
                                              : std::string{};
    if (s.kind == step_kind::update)
        return {};
    const std::uint8_t so_far = done(e);
    const auto before = [&](step_kind cause) {
        return to_string(s) + " before " + to_string(of_kind(s, cause));
    };
    if (s.kind == step_kind::forward)
        return (so_far & forward) != 0 ? to_string(s) + " twice" : std::string{};
    if ((so_far & (gives_input_gradient(s.kind) ? input : weight)) != 0)
        return to_string(s) + " though it was passed back before";
    if (gives_input_gradient(s.kind))
        return (so_far & forward) == 0 ? before(step_kind::forward) : std::string{};
    return (so_far & input) == 0 ? before(step_kind::backward_input) : std::string{};
}

void device_scan::note(const epoch_step& e) {
    const schedule_step& s = e.what;
    if (s.kind == step_kind::update) {
        ++updates_[s.stage];
        return;
    }
    done(e) |= static_cast<std::uint8_t>((s.kind == step_kind::forward ? forward : 0) |
                                         (gives_input_gradient(s.kind) ? input : 0) |
                                         (ends_microbatch(s.kind) ? weight : 0));
    if (ends_microbatch(s.kind))
        ++ended_[e.minibatch * table_.chain_stages() + s.stage];
}

fault device_scan::scan(std::uint32_t device) {
    for (const epoch_step& e : list_steps(table_.devices[device], microbatches_)) {
        if (std::string why = why_not(e); !why.empty())
            return table_fault{device, e.position, std::move(why)};
        note(e);
    }
    return std::nullopt;
}

fault device_scan::find_missing() const {
    for (std::uint64_t k = 0; k < microbatches_.size(); ++k)
        for (std::uint32_t s = 0; s < table_.chain_stages(); ++s) {
            const auto say = [&](step_kind kind, std::uint32_t m) {
                return table_fault{table_.device_of[s], std::nullopt,
                                   to_string(schedule_step{kind, s, m}) + " is missing"};
            };
            for (std::uint32_t m = 0; m < table_.microbatches; ++m) {
                const std::uint8_t so_far =
                    done_[(k * table_.chain_stages() + s) * table_.microbatches + m];
                if ((so_far & forward) == 0)
                    return say(step_kind::forward, m);
                if ((so_far & input) == 0)
                    return say(step_kind::backward, m);
                if ((so_far & weight) == 0)
                    return say(step_kind::backward_weight, m);
            }
            if (updates_[s] <= k)
                return say(step_kind::update, 0);
        }
    return std::nullopt;
}

std::string name_of_wait(const schedule_table& table, const schedule_course::wait& wait) {
    if (wait.kind == step_kind::update)
        return "the gradients of " + std::to_string(wait.stage);
    schedule_step cause{wait.kind, wait.stage, wait.microbatch};
    const device_steps& there = table.devices[table.device_of[wait.stage]];
    for (const auto* part : {&there.warm_up, &there.body})
        for (const schedule_step& s : *part)
            if (s.stage == cause.stage && s.microbatch == cause.microbatch &&
                s.kind == step_kind::backward && cause.kind == step_kind::backward_input)
                cause.kind = step_kind::backward;
    return to_string(cause);
}

// All devices that are not done wait for each other: of these the first, and the circle behind it.
fault fault_of_course(const schedule_table& table) {
    const std::vector<std::uint32_t> microbatches(minibatches_to_try(table), table.microbatches);
    const std::vector<std::int64_t> ticks(table.chain_stages(), 1);
    schedule_course course{table, microbatches, {ticks, ticks, ticks}};
    if (course.run())
        return std::nullopt;
    std::uint32_t device = 0;
    while (!course.wait_of(device))
        ++device;
    std::set<std::uint32_t> seen;
    while (seen.insert(device).second) // at its end the device is one of the circle
        device = table.device_of[course.wait_of(device)->stage];
    const auto first = *course.wait_of(device);
    const std::uint32_t giver = table.device_of[first.stage];
    std::string what = to_string(first.who.what);
    if (giver == device)
        return table_fault{device, first.who.position,
                           what + " before " + name_of_wait(table, first)};
    what += " waits for " + name_of_wait(table, first);
    for (std::uint32_t d = giver; d != device;) {
        const auto next = *course.wait_of(d);
        what +=
            ", which is behind " + to_string(next.who.what) + " of row " + std::to_string(d + 1);
        d = table.device_of[next.stage];
        what += ", which waits for " + name_of_wait(table, next);
    }
    return table_fault{device, first.who.position, what + ": a circle"};
}

fault with_advice(fault f, std::string_view advice) {
    if (f)
        f->advice = advice;
    return f;
}

fault scan_all(const schedule_table& table, device_scan& scan) {
    for (std::uint32_t d = 0; d < table.devices.size(); ++d)
        if (auto f = scan.scan(d))
            return f;
    return std::nullopt;
}

// The rules that each device can break by itself.
fault fault_of_rules(const schedule_table& table) {
    device_scan passes{table, scan_of::passes};
    if (auto f = scan_all(table, passes))
        return with_advice(f, "list each step once, behind what it reads");
    if (auto f = passes.find_missing())
        return with_advice(f, "add it to the row");
    device_scan updates{table, scan_of::updates};
    return with_advice(scan_all(table, updates),
                       "an update stands behind all gradients of its stage, and a forward names "
                       "weights that are made by then");
}

// Versions that a stage keeps: the latest, and those that a forward or the backward of a microbatch in flight still uses.
class version_count {
  public:
    void expect(std::uint64_t version) {
        if (uses_.size() <= version)
            uses_.resize(version + 1);
        ++uses_[version];
    }
    void release(std::uint64_t version) {
        if (--uses_[version] == 0 && version != latest_)
            --kept_;
    }
    void update() {
        if (latest_ < uses_.size() && uses_[latest_] > 0)
            ++kept_;
        ++latest_;
        most_ = std::max(most_, kept_);
    }
    std::uint32_t most() const noexcept { return most_; }

  private:
    std::vector<std::uint32_t> uses_; // to come, by version
    std::uint64_t latest_ = 0;
    std::uint32_t kept_ = 1;
    std::uint32_t most_ = 1;
};

std::uint64_t version_of(const epoch_step& forward) {
    return forward.minibatch - std::min<std::uint64_t>(forward.minibatch, forward.what.behind);
}

void count_device(const schedule_table& table, std::span<const epoch_step> steps,
                  std::uint32_t device, table_numbers& numbers) {
    std::vector<version_count> versions(table.chain_stages());
    std::vector<std::uint32_t> in_flight(table.chain_stages());
    std::uint32_t of_all = 0;
    // The version of each forward, by stage, minibatch and microbatch.
    std::vector<std::vector<std::uint64_t>> used(table.chain_stages());
    const auto version_by = [&](const epoch_step& e) -> std::uint64_t& {
        return used[e.what.stage][e.minibatch * table.microbatches + e.what.microbatch];
    };
    for (std::uint32_t s = 0; s < table.chain_stages(); ++s)
        if (table.device_of[s] == device)
            used[s].resize(minibatches_to_try(table) * table.microbatches);
    for (const epoch_step& e : steps)
        if (e.what.kind == step_kind::forward) {
            version_by(e) = version_of(e);
            versions[e.what.stage].expect(version_of(e));
        }
    for (const epoch_step& e : steps) {
        const std::uint32_t s = e.what.stage;
        if (e.what.kind == step_kind::forward) {
            numbers.in_flight[s] = std::max(numbers.in_flight[s], ++in_flight[s]);
            numbers.device_in_flight[device] = std::max(numbers.device_in_flight[device], ++of_all);
            numbers.lag[s] = std::max(numbers.lag[s], e.what.behind);
        } else if (ends_microbatch(e.what.kind)) {
            --in_flight[s];
            --of_all;
        } else if (e.what.kind == step_kind::update)
            versions[s].update();
        const bool uses_end = table.stashes_weights ? ends_microbatch(e.what.kind)
                                                    : e.what.kind == step_kind::forward;
        if (uses_end)
            versions[s].release(version_by(e));
    }
    for (std::uint32_t s = 0; s < table.chain_stages(); ++s)
        if (table.device_of[s] == device)
            numbers.versions[s] = versions[s].most();
}

} // namespace

std::string to_string(const table_fault& fault) {
    std::string where;
    if (fault.device)
        where = "row " + std::to_string(*fault.device + 1);
    if (fault.position)
        where += ", column " + std::to_string(*fault.position + 1);
    return where.empty() ? fault.what : where + ": " + fault.what;
}

std::optional<table_fault> find_fault(const schedule_table& table) {
    if (auto f = fault_of_shape(table))
        return f;
    if (auto f = fault_of_rules(table))
        return f;
    return with_advice(fault_of_course(table), "list one of these steps at another place");
}

result<table_numbers> check_table(const schedule_table& table) {
    if (const auto f = find_fault(table))
        return error{errc::data, to_string(*f)};
    table_numbers numbers;
    for (auto* by_stage : {&numbers.in_flight, &numbers.versions, &numbers.lag})
        by_stage->resize(table.chain_stages());
    numbers.device_in_flight.resize(table.devices.size());
    const std::vector<std::uint32_t> microbatches(minibatches_to_try(table), table.microbatches);
    for (std::uint32_t d = 0; d < table.devices.size(); ++d)
        count_device(table, list_steps(table.devices[d], microbatches), d, numbers);
    return numbers;
}

} // namespace troupe
