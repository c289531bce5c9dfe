#include "actors/peers/elastic_peer.hpp"

#include <utility>

#include "kernels/ops/ops.hpp"

namespace troupe {

namespace {

// rate * (own - centre).
result<tensor> pull_of(compute_context& context, const tensor& own, const tensor& centre,
                       float rate) {
    auto pull = tensor::allocate(context.memory, data_type::float32, own.shape());
    if (!pull)
        return pull.failure();
    if (auto done = context.ops.run(add_scaled{own, -1, centre, *pull}); !done)
        return done.failure();
    if (auto done = context.ops.run(scale{*pull, rate, *pull}); !done)
        return done.failure();
    return pull;
}

// Adds the pull to the centre, in place if nobody else holds the centre.
result<void> add_pull(compute_context& context, tensor& centre, const tensor& pull) {
    if (centre.unique())
        return context.ops.run(add_scaled{centre, 1, pull, centre});
    auto moved = tensor::allocate(context.memory, data_type::float32, centre.shape());
    if (!moved)
        return moved.failure();
    if (auto done = context.ops.run(add_scaled{centre, 1, pull, *moved}); !done)
        return done;
    centre = std::move(moved).value();
    return {};
}

} // namespace

elastic_peer::elastic_peer(actor_context& context, peer_options options, elastic_rule rule)
    : peer_actor{context, std::move(options)}, rule_{rule} {
    show_workers(board_);
    on<proto::Meet>(&elastic_peer::meet);
    on<proto::Met>(&elastic_peer::met);
}

void elastic_peer::joined() {
    round_ = elastic_round{members().size()};
    visitors_.resize(members().size());
}

void elastic_peer::begin(tensor first) {
    if (rank() == 0)
        centre_ = std::move(first);
}

void elastic_peer::exchange(tensor own, bool) {
    meets_ = true;
    auto meet = message<proto::Meet>();
    meet.attach(std::move(own));
    send(members()[0], std::move(meet));
}

void elastic_peer::met(proto::Met::Reader, const frame& f) {
    if (!meets_ || f.from() != members()[0])
        return reject("the sender does not keep the centre, or was not met");
    meets_ = false;
    if (check_row(f))
        answer(f.tensors()[0], -1);
}

void elastic_peer::read_common() {
    if (rank() > 0)
        return fail({errc::protocol, "the centre is not here"});
    answer_common(centre_);
}

// ---- the centre -----------------------------------------------------------------------------------------------------

void elastic_peer::meet(proto::Meet::Reader, const frame& f) {
    const auto who = rank_of(f.from());
    if (rank() > 0 || !who)
        return reject("the centre is not here, or the sender is no peer of this run");
    if (!check_row(f))
        return;
    in_turn([this, who = *who, own = f.tensors()[0], minibatch = f.envelope().getWork()] {
        if (!round_.arrive(who))
            return; // lost meanwhile
        visitors_[who].own = own;
        visitors_[who].minibatch = minibatch;
        if (rule_.synchronous)
            move_all_if_complete();
        else
            move_centre(round_.take());
    });
}

void elastic_peer::move_all_if_complete() {
    show_waits();
    if (round_.complete())
        move_centre(round_.take());
}

void elastic_peer::show_waits() {
    for (std::uint32_t r = 0; r < visitors_.size(); ++r)
        if (round_.has_come(r))
            board_->waits(r, round_.missing());
}

void elastic_peer::move_centre(std::vector<std::uint32_t> ranks) {
    auto pulls = std::make_shared<std::vector<tensor>>();
    auto centre = std::make_shared<tensor>(std::move(centre_));
    std::vector<tensor> owns;
    for (const std::uint32_t r : ranks)
        owns.push_back(std::exchange(visitors_[r].own, tensor{}));
    submit(
        [pulls, centre, owns = std::move(owns),
         rate = rule_.rate](compute_context& context) -> result<void> {
            for (const tensor& own : owns) {
                auto pull = pull_of(context, own, *centre, rate);
                if (!pull)
                    return pull.failure();
                pulls->push_back(std::move(pull).value());
            }
            for (const tensor& pull : *pulls)
                if (auto added = add_pull(context, *centre, pull); !added)
                    return added;
            return {};
        },
        [this, pulls, centre, ranks = std::move(ranks)] {
            centre_ = std::move(*centre);
            const std::uint64_t moves_before = moves_++;
            for (std::size_t i = 0; i < ranks.size(); ++i) {
                visitor& moved = visitors_[ranks[i]];
                board_->took(ranks[i], ++moved.meetings, moves_before - moved.met_at);
                moved.met_at = moves_;
                frame_builder<proto::Met> met;
                met.envelope().setWork(moved.minibatch);
                met.attach(std::move((*pulls)[i]));
                send(members()[ranks[i]], std::move(met));
            }
        });
}

void elastic_peer::lose(std::uint32_t gone) {
    if (rank() > 0)
        return;
    in_turn([this, gone] {
        round_.lose(gone);
        visitors_[gone] = {};
        board_->left(gone);
        if (rule_.synchronous)
            move_all_if_complete();
    });
}

void elastic_peer::gain(std::uint32_t newcomer) {
    if (rank() > 0)
        return;
    in_turn([this, newcomer] {
        round_.gain(newcomer);
        visitors_[newcomer].met_at = moves_;
    });
}

} // namespace troupe
