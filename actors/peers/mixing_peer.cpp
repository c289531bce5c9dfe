#include "actors/peers/mixing_peer.hpp"

#include <utility>

#include "kernels/optim/aggregation.hpp"

namespace troupe {

result<tensor> mean_of(compute_context& context, const std::vector<tensor>& rows) {
    std::vector<std::vector<tensor>> sent;
    for (const tensor& row : rows)
        sent.push_back({row});
    auto mean = aggregate(context, {}, sent);
    if (!mean)
        return mean.failure();
    return std::move((*mean)[0]);
}

mixing_peer::mixing_peer(actor_context& context, peer_options options)
    : peer_actor{context, std::move(options)} {}

// Includes this peer itself.
void mixing_peer::read_common() {
    read_.resize(members().size());
    for (std::uint32_t r = 0; r < members().size(); ++r)
        if (lives(r))
            send(members()[r], frame_builder<proto::ReadWeights>{});
}

void mixing_peer::take_read_weights(std::uint32_t rank, tensor weights) {
    if (read_.empty() || read_[rank])
        return reject("the sender was not asked");
    read_[rank] = std::move(weights);
    average_if_complete();
}

void mixing_peer::average_if_complete() {
    std::vector<tensor> rows;
    for (std::uint32_t r = 0; r < read_.size(); ++r) {
        if (lives(r) && !read_[r])
            return;
        if (lives(r))
            rows.push_back(read_[r]);
    }
    if (rows.empty())
        return;
    read_.clear();
    in_turn([this, rows = std::move(rows)]() mutable {
        auto mean = std::make_shared<tensor>();
        submit(
            [mean, rows = std::move(rows)](compute_context& context) -> result<void> {
                auto made = mean_of(context, rows);
                if (!made)
                    return made.failure();
                *mean = std::move(made).value();
                return {};
            },
            [this, mean] { answer_common(*mean); });
    });
}

void mixing_peer::lose(std::uint32_t rank) {
    gone_[rank] = true;
    average_if_complete();
}

} // namespace troupe
