// The layers of a plan as a table.
#include <algorithm>
#include <array>
#include <map>
#include <span>

#include "actors/training/plan/plan.hpp"
#include "actors/training/plan/plan_text.hpp"
#include "actors/training/plan/saturated.hpp"

namespace troupe {

namespace {

constexpr std::size_t columns = 9;
using row = std::array<std::string, columns>;

class layer_table {
  public:
    explicit layer_table(const plan& p) : plan_{p} {
        std::map<std::string, std::size_t> numbers;
        for (const planned_layer& layer : p.layers)
            place_.push_back(numbers.try_emplace(layer.key, numbers.size()).first->second);
    }

    // Layers first .. end - 1. In repeated blocks, each place of the app file has one row.
    void add(std::size_t first, std::size_t end, bool all) {
        while (first < end) {
            const repetition r = all ? repetition{} : repetition_at(first, end);
            if (r.times < 2) {
                add_row({first, 1}, plan_.layers[first].key + " " + kind(first));
                ++first;
                continue;
            }
            add(first, first + r.count, false);
            const std::size_t others = (r.times - 1) * r.count;
            add_row({first + r.count, others},
                    "the same " + counted(r.times - 1, "time") + " more");
            first += r.times * r.count;
        }
    }

    void add_title(const std::string& title) { rows_.push_back({"", title}); }

    std::string text() const {
        row head{"", "layer", "output", "parameters", "forward", "back", "kept", "crossing", ""};
        if (std::ranges::any_of(rows_, [](const row& r) { return !r.back().empty(); }))
            head.back() = "measured";
        std::array<std::size_t, columns> widths{};
        for (std::size_t c = 0; c < columns; ++c)
            for (const row& r : rows_)
                widths[c] = std::max({widths[c], r[c].size(), head[c].size()});
        std::string text = line(head, widths);
        for (const row& r : rows_)
            text += line(r, widths);
        return text;
    }

  private:
    // A repetition of layers.
    struct repetition {
        std::size_t count = 0;
        std::size_t times = 0;
    };

    // The repetition that begins with this layer and covers the most layers.
    repetition repetition_at(std::size_t first, std::size_t end) const {
        repetition best;
        for (std::size_t count = 1; first + 2 * count <= end; ++count) {
            if (place_[first + count] != place_[first])
                continue;
            const auto at = place_.begin() + static_cast<std::ptrdiff_t>(first);
            std::size_t same = count; // number of layers that repeat the first `count`
            while (first + same < end &&
                   place_[first + same] == at[static_cast<std::ptrdiff_t>(same % count)])
                ++same;
            const repetition found{count, same / count};
            if (found.times > 1 && found.times * count > best.times * best.count)
                best = found;
            if (best.times * best.count == end - first)
                break;
        }
        return best;
    }

    std::string kind(std::size_t layer) const {
        const std::string& name = plan_.layers[layer].name;
        return name.substr(name.rfind(' ') + 1);
    }

    void add_row(layer_range range, const std::string& what) {
        planned_layer sum;
        for (const planned_layer& layer :
             std::span{plan_.layers}.subspan(range.first, range.count)) {
            sum.parameters += layer.parameters;
            sum.forward_flops += layer.forward_flops;
            sum.backward_flops += layer.backward_flops;
            sum.kept_bytes = saturated_sum(sum.kept_bytes, layer.kept_bytes);
            sum.compute_ns += layer.compute_ns;
        }
        const std::size_t end = range.first + range.count - 1;
        const planned_layer& last = plan_.layers[end];
        rows_.push_back(
            {std::to_string(range.first) + (range.count > 1 ? ".." + std::to_string(end) : ""),
             what, to_string(last.output), std::to_string(sum.parameters),
             quantity(sum.forward_flops, "FLOP"), quantity(sum.backward_flops, "FLOP"),
             bytes_text(sum.kept_bytes), bytes_text(last.crossing_bytes),
             sum.compute_ns > 0 ? milliseconds(sum.compute_ns) : ""});
    }

    static std::string line(const row& r, const std::array<std::size_t, columns>& widths) {
        std::string text;
        for (std::size_t c = 0; c < columns; ++c) {
            const std::string padding(widths[c] - std::min(widths[c], r[c].size()), ' ');
            const bool is_word = c == 1 || c == 2;
            text += (c == 0 ? "" : "  ") + (is_word ? r[c] + padding : padding + r[c]);
        }
        return text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
    }

    const plan& plan_;
    std::vector<std::size_t> place_; // by layer, the number of its key
    std::vector<row> rows_;
};

} // namespace

std::string describe_layers(const plan& p, bool all) {
    layer_table table{p};
    for (std::size_t s = 0; s < p.stages.size(); ++s) {
        const layer_range& range = p.stages[s].layers.range;
        if (p.stages.size() > 1)
            table.add_title("stage " + std::to_string(s));
        table.add(range.first, range.first + range.count, all);
    }
    return "layers as stages count them; what a minibatch takes, keeps for its way back, and sends "
           "both ways where a stage ends\n\n" +
           table.text();
}

} // namespace troupe
