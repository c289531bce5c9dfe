// Notes on parts of a plan that may not be intended.
#include <algorithm>
#include <compare>
#include <map>

#include "actors/training/plan/plan.hpp"
#include "actors/training/plan/plan_text.hpp"
#include "actors/training/plan/saturated.hpp"
#include "schemas/base/nearest.hpp"

namespace troupe {

namespace {

// Adds a note on stages that have to take turns without their schedule's saying so.
void add_shared_devices(const plan& p, std::vector<std::string>& notes) {
    if (p.schedule.deals_stages())
        return;
    std::map<std::string, std::vector<std::string>> stages; // by device
    for (std::size_t s = 0; s < p.stages.size(); ++s)
        for (const plan_device& d : p.stages[s].where)
            stages[where_text(d)].push_back(std::to_string(s));
    std::string text;
    for (const auto& [device, numbers] : stages)
        if (numbers.size() > 1)
            text += (text.empty() ? "" : "; ") + join(numbers) + " on " + device;
    if (!text.empty())
        notes.push_back("stages that share a device take turns: " + text);
}

// The memory that stages keep on a device.
struct account {
    std::uint64_t bound = 0, weights = 0, activations = 0, rounded = 0;
    bool is_gpu = false;

    auto operator<=>(const account&) const = default;
    std::uint64_t all() const {
        return saturated_sum(saturated_sum(weights, activations), rounded);
    }
};

std::string note_of_memory(const plan& p, const std::vector<std::string>& devices, const account& a,
                           bool of_cluster) {
    const bool is_one = devices.size() == 1;
    std::vector<std::string> ways;
    if (p.stages.size() < p.layers.size())
        ways.emplace_back("more stages");
    if (a.weights < a.bound && p.shape.batch_max > 1)
        ways.emplace_back("a smaller train.batch");
    ways.push_back(std::string{"a larger bound ("} + (of_cluster ? "troupe node " : "") +
                   (a.is_gpu ? "--gpu-memory-mb)" : "--memory-mb)"));
    return join(devices) + " may not hold what " + (is_one ? "its" : "their") +
           " stages keep: " + bytes_text(a.weights) + " of weights and gradients, " +
           bytes_text(a.activations) + " of activations" +
           (a.rounded > 0 ? ", " + bytes_text(a.rounded) + " of factors in 16 bits" : "") + "; " +
           (is_one ? "its" : "each one's") + " bound is " + bytes_text(a.bound) + ": use " +
           alternatives(ways);
}

// Devices whose memory is less than their stages keep. This is an estimate: activations are freed while gradients are
// added, and the layers' temporary memory comes on top.
void add_short_of_memory(const plan& p, bool of_cluster, std::vector<std::string>& notes) {
    std::map<std::string, account> of_device;
    for (const planned_stage& s : p.stages)
        for (const plan_device& d : s.where) {
            account& a = of_device[where_text(d)];
            a.bound = d.memory_bytes;
            a.is_gpu = is_gpu(d);
            a.weights = saturated_sum(a.weights, s.needs.weight_bytes);
            a.activations = saturated_sum(a.activations, s.needs.kept_bytes);
            if (a.is_gpu) // a GPU computes one product after the other
                a.rounded = std::max(a.rounded, s.needs.rounded_bytes);
        }
    std::map<account, std::vector<std::string>> short_ones;
    for (const auto& [device, a] : of_device)
        if (a.bound > 0 && a.bound < a.all())
            short_ones[a].push_back(device);
    for (const auto& [a, devices] : short_ones)
        notes.push_back(note_of_memory(p, devices, a, of_cluster));
}

// Stages whose replicas send more with a codec than without it: where all replicas' data is gathered, or where a sent number
// takes more bytes than before. One number per replica is tolerated, as not all can be shared evenly.
void add_larger_by_codec(const plan& p, std::vector<std::string>& notes) {
    if (!p.sync.codec && !p.sync.sends_factors)
        return;
    std::vector<std::string> larger;
    for (std::size_t s = 0; s < p.stages.size(); ++s) {
        const planned_stage& stage = p.stages[s];
        if (stage.where.size() == 1 || stage.needs.parameters == 0)
            continue;
        const planned_reduction sum = p.sync.server ? planned_reduction{} : reduction_of(p, stage);
        const std::uint64_t bytes = p.sync.server ? push_of(p, stage).bytes : sum.bytes;
        const std::uint64_t without =
            p.sync.server ? stage.needs.parameter_bytes : sum.bytes_without;
        if (bytes > without + sizeof(float) * stage.where.size())
            larger.push_back("stage " + std::to_string(s) + " up to " + bytes_text(bytes) +
                             " instead of " + bytes_text(without));
    }
    if (!larger.empty())
        notes.push_back("replicas send more per update with this codec than without it: " +
                        join(larger) + "; remove topology.sync.codec, or choose another codec");
}

} // namespace

std::vector<std::string> notes_of(const plan& p, bool of_cluster) {
    std::vector<std::string> notes;
    add_shared_devices(p, notes);
    add_short_of_memory(p, of_cluster, notes);
    add_larger_by_codec(p, notes);
    return notes;
}

} // namespace troupe
