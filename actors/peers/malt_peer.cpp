#include "actors/peers/malt_peer.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace troupe {

malt_peer::malt_peer(actor_context& context, peer_options options, proto::MaltGraph graph,
                     const aggregation& how)
    : mixing_peer{context, std::move(options)}, graph_{graph}, how_{how} {
    on<proto::Scatter>(&malt_peer::scatter);
}

void malt_peer::joined() {
    mixing_peer::joined();
    live_.resize(members().size());
    std::iota(live_.begin(), live_.end(), 0u);
    stamps_ = newest_stamps{members().size()};
    arrived_.resize(members().size());
}

void malt_peer::exchange(tensor own, bool) {
    send_on(own);
    std::vector<std::vector<tensor>> all{{std::move(own)}};
    for (tensor& t : arrived_)
        if (t)
            all.push_back({std::exchange(t, tensor{})});
    if (all.size() == 1 || all.size() < how_.needs_of(1 + in_degree(graph_, rank(), live_))) {
        own_ = std::move(all[0][0]);
        return answer(own_, 0);
    }
    auto made = std::make_shared<tensor>();
    submit(
        [made, how = how_, all = std::move(all)](compute_context& context) -> result<void> {
            auto of_all = aggregate(context, how, all);
            if (!of_all)
                return of_all.failure();
            *made = std::move((*of_all)[0]);
            return {};
        },
        [this, made] {
            own_ = std::move(*made);
            answer(own_, 0);
        });
}

void malt_peer::send_on(const tensor& own) {
    const std::uint64_t stamp = next_stamp_++;
    for (const std::uint32_t to : out_edges(graph_, rank(), live_)) {
        auto scatter = message<proto::Scatter>();
        scatter.body().setStamp(stamp);
        scatter.attach(own);
        send(members()[to], std::move(scatter));
    }
}

// Runs at once, even while the device works: only the newest weights are kept.
void malt_peer::scatter(proto::Scatter::Reader body, const frame& f) {
    const auto who = rank_of_sender(f);
    if (!who)
        return;
    if (!stamps_.take(*who, body.getStamp()))
        return reject("this is older than what the sender has sent before");
    if (check_row(f))
        arrived_[*who] = f.tensors()[0];
}

void malt_peer::lose(std::uint32_t rank) {
    std::erase(live_, rank);
    arrived_[rank] = {};
    mixing_peer::lose(rank);
}

void malt_peer::gain(std::uint32_t newcomer) {
    mixing_peer::gain(newcomer);
    live_.insert(std::ranges::lower_bound(live_, newcomer), newcomer);
    stamps_.forget(newcomer);
}

} // namespace troupe
