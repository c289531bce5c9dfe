#include "actors/peers/admm_peer.hpp"

#include <utility>

#include "actors/peers/mixing_peer.hpp"
#include "actors/peers/rows.hpp"
#include "kernels/ops/ops.hpp"

namespace troupe {

namespace {

// x - rate * (dual + penalty * (x - common))
result<tensor> penalised(compute_context& context, const tensor& x, const tensor& dual,
                         const tensor& common, float penalty, float rate) {
    auto away = sum_of(context, x, -1, common);
    if (!away)
        return away;
    if (auto pull = context.ops.run(add_scaled{dual, penalty, *away, *away}); !pull)
        return pull.failure();
    if (auto moved = context.ops.run(add_scaled{x, -rate, *away, *away}); !moved)
        return moved.failure();
    return away;
}

} // namespace

admm_peer::admm_peer(actor_context& context, peer_options options, const admm_rule& rule)
    : peer_actor{context, std::move(options)}, rule_{rule} {
    show_workers(board_);
    on<proto::Report>(&admm_peer::take_report);
    on<proto::Consensus>(&admm_peer::consensus);
}

void admm_peer::joined() {
    if (rank() > 0)
        return;
    barrier_.emplace(rule_, members().size());
    reports_taken_.resize(members().size());
}

void admm_peer::begin(tensor first) {
    common_ = std::move(first);
    if (rank() == 0)
        reports_.assign(members().size(), common_);
    auto zeros = std::make_shared<tensor>();
    submit(
        [zeros, like = common_](compute_context& context) -> result<void> {
            auto made = tensor::allocate(context.memory, data_type::float32, like.shape());
            if (!made)
                return made.failure();
            *zeros = std::move(made).value();
            return context.ops.run(fill{*zeros, 0});
        },
        [this, zeros] { dual_ = std::move(*zeros); });
}

// ---- the replica ----------------------------------------------------------------------------------------------------

void admm_peer::exchange(tensor own, bool last) {
    if (last)
        return report(std::move(own), true);
    auto moved = std::make_shared<tensor>();
    submit(
        [moved, own = std::move(own), dual = dual_, common = common_, penalty = rule_.penalty,
         rate = rate()](compute_context& context) -> result<void> {
            auto made = penalised(context, own, dual, common, penalty, rate);
            if (!made)
                return made.failure();
            *moved = std::move(made).value();
            return {};
        },
        [this, moved] {
            if (++updates_ == rule_.period)
                return report(std::move(*moved), false);
            answer(*moved, 0);
        });
}

void admm_peer::report(tensor own, bool last) {
    updates_ = 0;
    own_ = std::move(own);
    auto sum = std::make_shared<tensor>();
    submit(
        [sum, own = own_, dual = dual_,
         penalty = rule_.penalty](compute_context& context) -> result<void> {
            auto made = sum_of(context, own, 1 / penalty, dual);
            if (!made)
                return made.failure();
            *sum = std::move(made).value();
            return {};
        },
        [this, sum, last] {
            auto report = message<proto::Report>();
            report.body().setLast(last);
            report.attach(std::move(*sum));
            send(members()[0], std::move(report));
        });
}

void admm_peer::consensus(proto::Consensus::Reader, const frame& f) {
    if (!has_joined() || f.from() != members()[0])
        return reject("the sender does not keep the consensus");
    if (!check_row(f))
        return;
    in_turn([this, common = f.tensors()[0]] {
        if (!own_)
            return fail({errc::protocol, "the consensus arrives where nothing was reported"});
        auto dual = std::make_shared<tensor>();
        submit(
            [dual, own = own_, before = dual_, common,
             penalty = rule_.penalty](compute_context& context) -> result<void> {
                auto made = sum_of(context, own, -1, common);
                if (!made)
                    return made.failure();
                *dual = std::move(made).value();
                return context.ops.run(add_scaled{before, penalty, *dual, *dual});
            },
            [this, dual, common] {
                dual_ = std::move(*dual);
                common_ = common;
                answer(std::exchange(own_, tensor{}), 0);
            });
    });
}

void admm_peer::read_common() {
    if (rank() > 0)
        return fail({errc::protocol, "the consensus is not here"});
    answer_common(common_);
}

// ---- the consensus --------------------------------------------------------------------------------------------------

void admm_peer::take_report(proto::Report::Reader body, const frame& f) {
    const auto who = rank_of(f.from());
    if (rank() > 0 || !who)
        return reject("the consensus is not here, or the sender is no peer of this run");
    if (!check_row(f))
        return;
    in_turn([this, who = *who, last = body.getLast(), sum = f.tensors()[0]] {
        if (!barrier_->report(who, last))
            return; // lost meanwhile
        reports_[who] = sum;
        board_->took(who, ++reports_taken_[who], barrier_->age_of(who));
        step_if_may();
    });
}

void admm_peer::show_waits() {
    for (std::uint32_t r = 0; r < reports_.size(); ++r)
        if (reports_taken_[r] > 0)
            board_->waits(r, barrier_->waits_for(r));
}

void admm_peer::step_if_may() {
    show_waits();
    if (!barrier_->may_step())
        return;
    std::vector<tensor> reports;
    for (std::uint32_t r = 0; r < reports_.size(); ++r)
        if (barrier_->lives(r))
            reports.push_back(reports_[r]);
    auto mean = std::make_shared<tensor>();
    submit(
        [mean, reports = std::move(reports)](compute_context& context) -> result<void> {
            auto made = mean_of(context, reports);
            if (!made)
                return made.failure();
            *mean = std::move(made).value();
            return {};
        },
        [this, mean, answered = barrier_->step()] {
            for (const std::uint32_t r : answered) {
                auto consensus = message<proto::Consensus>();
                consensus.attach(*mean);
                send(members()[r], std::move(consensus));
            }
        });
    show_waits();
}

void admm_peer::lose(std::uint32_t gone) {
    if (rank() > 0)
        return;
    in_turn([this, gone] {
        barrier_->lose(gone);
        reports_taken_[gone] = 0;
        board_->left(gone);
        step_if_may();
    });
}

void admm_peer::gain(std::uint32_t newcomer) {
    if (rank() > 0)
        return;
    in_turn([this, newcomer] {
        barrier_->gain(newcomer);
        reports_[newcomer] = common_;
    });
}

} // namespace troupe
