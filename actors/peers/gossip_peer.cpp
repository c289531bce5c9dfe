#include "actors/peers/gossip_peer.hpp"

#include <utility>

#include "actors/peers/rows.hpp"
#include "kernels/ops/ops.hpp"

namespace troupe {

gossip_peer::gossip_peer(actor_context& context, peer_options options, const gossip_rule& rule)
    : mixing_peer{context, std::move(options)}, rule_{rule} {
    on<proto::Meet>(&gossip_peer::meet);
    on<proto::Met>(&gossip_peer::met);
}

void gossip_peer::joined() {
    mixing_peer::joined();
    gossip_.emplace(rule_, rank(), members().size());
}

// ---- the stage ------------------------------------------------------------------------------------------------------

void gossip_peer::exchange(tensor own, bool last) {
    if (!moved_)
        return give_back(std::move(own), last);
    auto sum = std::make_shared<tensor>();
    submit(
        [sum, own = std::move(own),
         moved = std::exchange(moved_, tensor{})](compute_context& context) -> result<void> {
            auto made = sum_of(context, own, 1, moved);
            if (!made)
                return made.failure();
            *sum = std::move(made).value();
            return {};
        },
        [this, sum, last] { give_back(std::move(*sum), last); });
}

void gossip_peer::give_back(tensor own, bool last) {
    own_ = std::move(own);
    if (last) {
        answer_due_ = true;
        return end_if_free();
    }
    answer(own_, 0);
    if (const auto other = gossip_->choose()) {
        auto meet = message<proto::Meet>();
        meet.attach(own_);
        send(members()[*other], std::move(meet));
    }
}

void gossip_peer::end_if_free() {
    if (!answer_due_ || gossip_->waits())
        return;
    answer_due_ = false;
    moved_ = {};
    answer(own_, 0);
}

// ---- the other peers ------------------------------------------------------------------------------------------------

void gossip_peer::meet(proto::Meet::Reader, const frame& f) {
    const auto who = rank_of_sender(f);
    if (!who)
        return;
    if (!check_row(f))
        return;
    in_turn([this, who = *who, f = current()] {
        const auto tell = [this, who, f](std::optional<tensor> moved) {
            frame_builder<proto::Met> met;
            met.envelope().setWork(f->envelope().getWork());
            if (moved)
                met.attach(std::move(*moved));
            send(members()[who], std::move(met));
        };
        switch (gossip_->meet(who)) {
        case gossip::reply::silence:
            return;
        case gossip::reply::busy:
            return tell(std::nullopt);
        case gossip::reply::move:
            return move_towards(f->tensors()[0], [this, tell](tensor step) {
                tell(std::move(step));
                end_if_free();
            });
        }
    });
}

void gossip_peer::met(proto::Met::Reader, const frame& f) {
    const auto who = rank_of_sender(f);
    if (!who)
        return;
    if (!f.tensors().empty() && !check_row(f))
        return;
    in_turn([this, who = *who, f = current()] {
        if (!gossip_->met(who))
            return fail({errc::protocol, "a peer answers what it was not asked"});
        if (f->tensors().empty())
            return end_if_free();
        move_by(f->tensors()[0], -1, [this] { end_if_free(); });
    });
}

void gossip_peer::lose(std::uint32_t gone) {
    mixing_peer::lose(gone);
    in_turn([this, gone] {
        gossip_->lose(gone);
        end_if_free();
    });
}

void gossip_peer::gain(std::uint32_t newcomer) {
    mixing_peer::gain(newcomer);
    in_turn([this, newcomer] { gossip_->gain(newcomer); });
}

void gossip_peer::move_towards(const tensor& other, std::function<void(tensor)> then) {
    auto step = std::make_shared<tensor>();
    submit(
        [step, other, own = own_](compute_context& context) -> result<void> {
            auto way = sum_of(context, other, -1, own);
            if (!way)
                return way.failure();
            *step = std::move(way).value();
            return context.ops.run(scale{*step, 0.5f, *step});
        },
        [this, step, then = std::move(then)] {
            move_by(*step, 1, [step, then] { then(std::move(*step)); });
        });
}

void gossip_peer::move_by(tensor step, float factor, std::function<void()> then) {
    auto moved = std::make_shared<std::pair<tensor, tensor>>(); // the new own_ and moved_
    submit(
        [moved, step = std::move(step), factor, own = own_,
         before = moved_](compute_context& context) -> result<void> {
            auto sum = sum_of(context, own, factor, step);
            if (!sum)
                return sum.failure();
            moved->first = std::move(sum).value();
            if (before) {
                auto all = sum_of(context, before, factor, step);
                if (!all)
                    return all.failure();
                moved->second = std::move(all).value();
                return {};
            }
            auto all = tensor::allocate(context.memory, data_type::float32, step.shape());
            if (!all)
                return all.failure();
            moved->second = std::move(all).value();
            return context.ops.run(scale{step, factor, moved->second});
        },
        [this, moved, then = std::move(then)] {
            own_ = std::move(moved->first);
            moved_ = std::move(moved->second);
            then();
        });
}

} // namespace troupe
