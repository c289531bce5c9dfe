#include "tools/inspector/rates.hpp"

#include <algorithm>

#include "schemas/base/check.hpp"

namespace troupe::inspector {

std::vector<actor_rate> rates_between(const actor_list& before, const actor_list& after) {
    std::map<actor_number, const actor_row*> earlier;
    for (const actor_row& actor : before.actors)
        earlier.emplace(actor.number, &actor);
    const double seconds = static_cast<double>(after.now_ns - before.now_ns) / 1e9;
    std::vector<actor_rate> rates;
    for (const actor_row& actor : after.actors) {
        actor_rate rate{actor};
        const auto found = earlier.find(actor.number);
        const actor_row start = found == earlier.end() ? actor_row{} : *found->second;
        // Counters that run backwards are a node's mistake, not a rate.
        if (seconds > 0 && actor.messages_handled >= start.messages_handled &&
            actor.handler_ns >= start.handler_ns && actor.device_ns >= start.device_ns) {
            const auto share = [&](std::uint64_t ns) {
                return std::clamp(static_cast<double>(ns) / 1e9 / seconds, 0.0, 1.0);
            };
            rate.messages_per_second =
                static_cast<double>(actor.messages_handled - start.messages_handled) / seconds;
            rate.handler_share = share(actor.handler_ns - start.handler_ns);
            rate.device_share = share(actor.device_ns - start.device_ns);
        }
        rates.push_back(std::move(rate));
    }
    return rates;
}

clock_offset estimate_offset(std::span<const clock_probe> probes) {
    TROUPE_CHECK(!probes.empty(), "the difference of two clocks is estimated from something");
    const clock_probe& best = *std::ranges::min_element(
        probes, {}, [](const clock_probe& p) { return p.answered_ns - p.asked_ns; });
    const std::int64_t half = (best.answered_ns - best.asked_ns + 1) / 2;
    const std::int64_t offset = best.remote_ns - (best.asked_ns + half);
    return std::abs(offset) <= half ? clock_offset{0, half} : clock_offset{offset, half};
}

} // namespace troupe::inspector
