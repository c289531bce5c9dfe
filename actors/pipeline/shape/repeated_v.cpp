// Zero bubble in a V with half or a third of 1F1B's activations: a pattern that repeats every six slots, for a microbatch
// each. Source: Qi et al., Pipeline Parallelism with Controllable Memory, arXiv 2405.15362.
//
// With all passes of a stage in one slot, device r does microbatch 0 at these slots (first and second forward, input halves
// of its second and its first stage), and microbatch m 6m slots later; weight halves go into slots that are free:
//
//   half    2r, 3P-r-2, 3P+a+2r-1, 6P+a-r-2, with a = 3 for an even number P of devices, else 0
//   third   r, 2P-r-1, 2P+a+r, 4P+a-r-1, with a = 2 where 3 divides P, else 0
//
// Both ends of that are then squeezed: first forwards of a device begin earlier where it has nothing to do and memory for
// them, and its last passes go by the length of what follows. Of a few such orders the best at equal times is taken.
#include <algorithm>
#include <array>

#include "actors/pipeline/shape/schedule_checker.hpp"
#include "actors/pipeline/shape/schedule_makers.hpp"
#include "actors/pipeline/shape/schedule_timeline.hpp"

namespace troupe {

namespace {

constexpr std::uint64_t slots_per_microbatch = 6;

struct v_pattern {
    std::uint32_t devices = 1;
    std::uint32_t microbatches = 1;
    std::uint32_t share = 2; // of the activations: 1 of so many, 2 or 3

    std::uint32_t stages() const noexcept { return 2 * devices; }
    // Passes of a stage that a device has in flight, at most.
    std::uint32_t bound() const noexcept {
        return share == 2 ? (devices + 2) / 2 * 2 : (devices + 4) / 3 * 2;
    }
    // The slots of microbatch 0.
    std::array<std::uint64_t, 4> slots(std::uint64_t r) const noexcept {
        const std::uint64_t p = devices;
        const std::uint64_t a = share == 2 ? (p % 2 == 0 ? 3 : 0) : (p % 3 == 0 ? 2 : 0);
        if (share == 2)
            return {2 * r, 3 * p - r - 2, 3 * p + a + 2 * r - 1, 6 * p + a - r - 2};
        return {r, 2 * p - r - 1, 2 * p + a + r, 4 * p + a - r - 1};
    }
};

// How the ends are squeezed.
struct squeeze {
    std::uint32_t early = 0; // forwards that a device takes before their turn
    bool has_tail = false;   // the end goes by what follows
    std::uint32_t left = 0;  // forwards of the first stage that are left when the end begins
};

// A device as its slots pass by.
struct slot_device {
    std::vector<schedule_step> passes; // to come, by the pattern; weight halves are not among them
    std::vector<schedule_step> halves; // weight halves to come
    std::vector<schedule_step> done;
    std::uint32_t first_forwards = 0; // to come, of the first stage
    std::uint32_t kept = 0;           // passes whose activations are kept
    std::uint32_t early = 0;
    bool has_gone_back = false;
};

class slot_run {
  public:
    slot_run(const v_pattern& pattern, const squeeze& ends);

    // The order of each device; none where a device waits for ever.
    std::optional<std::vector<std::vector<schedule_step>>> orders();

  private:
    std::uint64_t& end(const schedule_step& s) {
        return ends_at_[(s.kind == step_kind::forward ? 0 : 1) * pattern_.stages() + s.stage]
                       [s.microbatch];
    }
    bool is_ready(const schedule_step& s);
    bool has_memory(const slot_device& d, std::size_t position) const;
    std::optional<std::size_t> choose(const slot_device& d);
    std::optional<std::size_t> choose_last(const slot_device& d);
    bool step(slot_device& d);
    void take(slot_device& d, std::size_t position);

    static constexpr std::uint64_t never = ~std::uint64_t{0};

    v_pattern pattern_;
    squeeze squeeze_;
    std::vector<slot_device> devices_;
    std::vector<std::vector<std::uint64_t>> ends_at_; // slots, by kind and stage, by microbatch
    std::uint64_t now_ = 0;
};

slot_run::slot_run(const v_pattern& pattern, const squeeze& ends)
    : pattern_{pattern}, squeeze_{ends}, devices_(pattern.devices),
      ends_at_(2 * pattern.stages(), std::vector<std::uint64_t>(pattern.microbatches, never)) {
    for (std::uint32_t r = 0; r < pattern.devices; ++r) {
        const auto slots = pattern.slots(r);
        const std::uint32_t up = pattern.stages() - 1 - r;
        const schedule_step four[] = {{step_kind::forward, r},
                                      {step_kind::forward, up},
                                      {step_kind::backward_input, up},
                                      {step_kind::backward_input, r}};
        std::vector<std::pair<std::uint64_t, schedule_step>> timed;
        for (std::uint32_t m = 0; m < pattern.microbatches; ++m)
            for (std::size_t i = 0; i < 4; ++i) {
                timed.push_back({slots[i] + slots_per_microbatch * m, four[i]});
                timed.back().second.microbatch = m;
            }
        std::ranges::sort(timed, {}, [](const auto& t) { return t.first; });
        for (const auto& [slot, step] : timed)
            devices_[r].passes.push_back(step);
        std::ranges::reverse(devices_[r].passes); // the next one is the last
        devices_[r].first_forwards = pattern.microbatches;
    }
}

bool slot_run::is_ready(const schedule_step& s) {
    const auto is_there = [&](step_kind kind, std::uint32_t stage) {
        const std::uint64_t at = end({kind, stage, s.microbatch});
        return at != never && at <= now_;
    };
    if (s.kind == step_kind::forward)
        return s.stage == 0 || is_there(step_kind::forward, s.stage - 1);
    return is_there(step_kind::forward, s.stage) &&
           (s.stage + 1 == pattern_.stages() || is_there(step_kind::backward_input, s.stage + 1));
}

// Whether a forward may come before those of its turn: all of them must still find memory.
bool slot_run::has_memory(const slot_device& d, std::size_t position) const {
    if (d.kept >= pattern_.bound())
        return false;
    std::size_t kept = d.kept - d.halves.size() + 1;
    for (std::size_t i = d.passes.size(); i-- > position + 1 && kept <= pattern_.bound();)
        kept += d.passes[i].kind == step_kind::forward ? 1 : -1;
    return kept <= pattern_.bound();
}

// At the end of a device's work: of what can be done, the pass that most passes follow.
std::optional<std::size_t> slot_run::choose_last(const slot_device& d) {
    std::optional<std::size_t> best;
    const auto following = [&](const schedule_step& s) {
        return s.kind == step_kind::forward ? 2 * pattern_.stages() - s.stage : s.stage + 1;
    };
    for (std::size_t i = d.passes.size(); i-- > 0;)
        if (is_ready(d.passes[i]) && (d.passes[i].kind != step_kind::forward || has_memory(d, i)) &&
            (!best || following(d.passes[i]) > following(d.passes[*best])))
            best = i;
    return best;
}

std::optional<std::size_t> slot_run::choose(const slot_device& d) {
    if (d.passes.empty())
        return std::nullopt;
    if (squeeze_.has_tail && d.first_forwards <= squeeze_.left)
        return choose_last(d);
    const std::size_t next = d.passes.size() - 1;
    if (is_ready(d.passes[next]) &&
        (d.passes[next].kind != step_kind::forward || d.kept < pattern_.bound()))
        return next;
    if (d.has_gone_back || d.early >= squeeze_.early)
        return std::nullopt;
    for (std::size_t i = d.passes.size(); i-- > 0;)
        if (d.passes[i].kind == step_kind::forward && is_ready(d.passes[i]))
            return has_memory(d, i) ? std::optional{i} : std::nullopt;
    return std::nullopt;
}

void slot_run::take(slot_device& d, std::size_t position) {
    const schedule_step s = d.passes[position];
    if (s.kind == step_kind::forward) {
        ++d.kept;
        d.first_forwards -= s.stage < pattern_.devices ? 1 : 0;
        d.early += position + 1 < d.passes.size() ? 1 : 0;
    } else {
        d.has_gone_back = true;
        d.halves.push_back(s);
        d.halves.back().kind = step_kind::backward_weight;
    }
    d.done.push_back(s);
    d.passes.erase(d.passes.begin() + static_cast<std::ptrdiff_t>(position));
    end(s) = now_ + 1;
}

bool slot_run::step(slot_device& d) {
    if (const auto position = choose(d)) {
        take(d, *position);
        return true;
    }
    if (d.halves.empty())
        return false;
    d.done.push_back(d.halves.front());
    d.halves.erase(d.halves.begin());
    --d.kept;
    return true;
}

std::optional<std::vector<std::vector<schedule_step>>> slot_run::orders() {
    const auto is_done = [](const slot_device& d) { return d.passes.empty() && d.halves.empty(); };
    for (std::uint32_t waited = 0; !std::ranges::all_of(devices_, is_done); ++now_) {
        bool moved = false;
        for (slot_device& d : devices_)
            moved = step(d) || moved;
        waited = moved ? 0 : waited + 1;
        if (waited > 1)
            return std::nullopt;
    }
    std::vector<std::vector<schedule_step>> all;
    for (slot_device& d : devices_)
        all.push_back(std::move(d.done));
    return all;
}

std::optional<schedule_table> squeezed_table(const v_pattern& pattern, const squeeze& ends) {
    auto orders = slot_run{pattern, ends}.orders();
    if (!orders)
        return std::nullopt;
    schedule_table table = synchronous_table(v_shaped_places(pattern.devices), pattern.devices, 1,
                                             pattern.microbatches);
    for (std::uint32_t r = 0; r < pattern.devices; ++r)
        table.devices[r].body = std::move((*orders)[r]);
    append_updates(table);
    return table;
}

} // namespace

result<schedule_table> make_repeated_v(const table_request& request) {
    const squeeze ways[] = {{0, false, 0}, {0, true, 0},   {0, true, 1},  {1, true, 0},
                            {1, true, 1},  {~0u, true, 0}, {~0u, true, 1}};
    // The ends are alike for all numbers of microbatches from a few times the devices on.
    v_pattern pattern{request.devices, std::min(request.microbatches, 4 * request.devices),
                      request.activations};
    const squeeze* best = nullptr;
    fraction least = 0;
    for (const squeeze& way : ways) {
        const auto table = squeezed_table(pattern, way);
        if (!table || find_fault(*table))
            continue;
        const fraction idle = find_steady_pace(*table, {.stages = {{}}}).most_idle();
        if (best == nullptr || idle < least) {
            best = &way;
            least = idle;
        }
    }
    pattern.microbatches = request.microbatches;
    auto table = squeezed_table(pattern, best == nullptr ? ways[0] : *best);
    TROUPE_CHECK(table.has_value(), "the pattern itself does not wait for ever");
    return std::move(*table);
}

} // namespace troupe
