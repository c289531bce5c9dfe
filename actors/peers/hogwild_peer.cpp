#include "actors/peers/hogwild_peer.hpp"

#include <utility>

namespace troupe {

hogwild_peer::hogwild_peer(actor_context& context, peer_options options,
                           std::shared_ptr<shared_weights> shared)
    : peer_actor{context, std::move(options)}, shared_{std::move(shared)} {}

void hogwild_peer::begin(tensor first) {
    submit(
        [shared = shared_, first](compute_context&) -> result<void> {
            shared->begin(first.values<float>());
            return {};
        },
        [this, first] { read_ = first; });
}

void hogwild_peer::exchange(tensor own, bool) {
    work({read_, std::move(own)}, [this](tensor now) {
        read_ = std::move(now);
        answer(read_, 0);
    });
}

// The stage continues with the weights that it read before.
void hogwild_peer::read_common() {
    work({}, [this](const tensor& now) { answer_common(now); });
}

void hogwild_peer::work(update add, std::function<void(tensor)> then) {
    auto now = std::make_shared<tensor>();
    submit(
        [now, shared = shared_, like = read_,
         add = std::move(add)](compute_context& context) -> result<void> {
            if (add.after)
                shared->add(add.before.values<float>(), add.after.values<float>());
            auto made = tensor::allocate(context.memory, data_type::float32, like.shape());
            if (!made)
                return made.failure();
            *now = std::move(made).value();
            shared->read(now->mutable_values<float>());
            return {};
        },
        [now, then = std::move(then)] { then(std::move(*now)); });
}

} // namespace troupe
