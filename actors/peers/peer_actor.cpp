#include "actors/peers/peer_actor.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "actors/messages.hpp"
#include "actors/peers/rows.hpp"

namespace troupe {

peer_actor::peer_actor(actor_context& context, peer_options options)
    : actor{context}, options_{std::move(options)}, elements_{elements_in(options_.shapes)},
      work_{*this,
            [this](const std::string&, const error& why) { fail(why.in("exchanging weights")); }} {
    on<proto::JoinPeers>(&peer_actor::join);
    on<proto::Exchange>(&peer_actor::take_exchange);
    on<proto::ReadCommon>(&peer_actor::take_read);
    on<proto::ReadWeights>(&peer_actor::read_weights);
    on<proto::PeerWeights>(&peer_actor::take_weights);
    on<proto::PeerJoined>(&peer_actor::peer_joined);
}

// ---- the stage ------------------------------------------------------------------------------------------------------

void peer_actor::join(proto::JoinPeers::Reader body, const frame& f) {
    if (stage_ || body.getRank() >= body.getMembers().size() ||
        (body.getAnew() && body.getRank() == 0))
        return reject("this peer has its members already, or the stage is none of them");
    stage_ = f.from();
    rank_ = body.getRank();
    for (const auto member : body.getMembers())
        members_.push_back(read_address(member));
    for (const actor_address member : members_)
        if (member && member != self())
            watch(member);
    joined();
    for (std::uint32_t r = 0; r < members_.size(); ++r)
        if (!members_[r])
            lose(r);
    if (body.getAnew()) {
        is_new_ = is_asked_ = true;
        return send(members_[0], frame_builder<proto::ReadWeights>{});
    }
    lay_out(f, [this](tensor first) { begin(std::move(first)); });
}

bool peer_actor::comes_from_stage(const frame& f) {
    if (stage_ && f.from() == stage_ && !is_asked_)
        return true;
    reject("the sender is not the stage of this peer, or has not had its last answer");
    return false;
}

void peer_actor::take_exchange(proto::Exchange::Reader body, const frame& f) {
    if (!comes_from_stage(f))
        return;
    is_asked_ = true;
    minibatch_ = minibatch_id{f.envelope().getWork()};
    rate_ = body.getRate();
    lay_out(f, [this, last = body.getLast()](tensor own) { exchange(std::move(own), last); });
}

void peer_actor::take_read(proto::ReadCommon::Reader, const frame& f) {
    if (!comes_from_stage(f))
        return;
    is_asked_ = true;
    in_turn([this] { read_common(); });
}

void peer_actor::answer(const tensor& row, float factor) {
    TROUPE_CHECK(is_asked_, "a stage is answered what it asks");
    is_asked_ = false;
    auto exchanged = message<proto::Exchanged>();
    exchanged.body().setFactor(factor);
    for (tensor& t : in_shapes(row, options_.shapes))
        exchanged.attach(std::move(t));
    send(stage_, std::move(exchanged));
}

void peer_actor::answer_common(const tensor& row) {
    TROUPE_CHECK(is_asked_, "a stage is answered what it asks");
    is_asked_ = false;
    frame_builder<proto::Common> common;
    for (tensor& t : in_shapes(row, options_.shapes))
        common.attach(std::move(t));
    send(stage_, std::move(common));
}

// ---- the other peers ------------------------------------------------------------------------------------------------

std::optional<std::uint32_t> peer_actor::rank_of(actor_address member) const {
    const auto found = std::ranges::find(members_, member);
    if (found == members_.end())
        return std::nullopt;
    return static_cast<std::uint32_t>(found - members_.begin());
}

void peer_actor::read_weights(proto::ReadWeights::Reader, const frame& f) {
    if (!rank_of_sender(f))
        return;
    in_turn([this, to = f.from()] {
        tensor own = readable();
        if (!own)
            return fail({errc::protocol, "a peer reads weights that are not here"});
        frame_builder<proto::PeerWeights> weights;
        weights.attach(std::move(own));
        send(to, std::move(weights));
    });
}

void peer_actor::take_weights(proto::PeerWeights::Reader, const frame& f) {
    const auto who = rank_of(f.from());
    if (!who || (is_new_ && *who > 0))
        return reject("the sender is no peer of this run, or was not asked");
    if (!check_row(f))
        return;
    if (!std::exchange(is_new_, false))
        return take_read_weights(*who, f.tensors()[0]);
    in_turn([this, first = f.tensors()[0]] {
        begin(first);
        answer_common(first);
    });
}

void peer_actor::peer_joined(proto::PeerJoined::Reader body, const frame& f) {
    const std::uint32_t rank = body.getRank();
    if (f.from() != options_.trainer || rank >= members_.size() || rank == 0 || rank == rank_)
        return reject("the sender is not the trainer, or this rank is never lost");
    unwatch(members_[rank]);
    lose(rank); // whether this peer has noticed the loss or not
    watch(members_[rank] = read_address(body.getMember()));
    gain(rank);
    frame_builder<proto::PeerExpected> expected;
    expected.body().setRank(rank);
    send(f.from(), std::move(expected));
}

std::optional<std::uint32_t> peer_actor::rank_of_sender(const frame& f) {
    const auto rank = rank_of(f.from());
    if (!rank && has_joined())
        reject("the sender is no peer of this run");
    return rank;
}

bool peer_actor::check_row(const frame& f) {
    if (f.tensors().size() == 1 && f.tensors()[0].type() == data_type::float32 &&
        f.tensors()[0].shape() == tensor_shape{elements_})
        return true;
    fail({errc::protocol, "a peer sends what has not the elements of the stage's weights"});
    return false;
}

void peer_actor::on_down(actor_address who, const error&) {
    if (const auto gone = rank_of(who))
        lose(*gone);
}

// A loss is handled by on_down().
void peer_actor::on_rejected(proto::Rejected::Reader body, const frame& f) {
    if (!body.getGone() && rank_of(f.from()))
        fail(read_failure(body).in("a peer refused a message"));
}

// ---- the device -----------------------------------------------------------------------------------------------------

void peer_actor::lay_out(const frame& f, std::function<void(tensor)> then) {
    std::vector<tensor> parts{f.tensors().begin(), f.tensors().end()};
    if (!std::ranges::equal(parts, options_.shapes, {}, &tensor::shape))
        return fail({errc::protocol, "what is handed over has not the shapes of the stage's "
                                     "weights"});
    in_turn([this, parts = std::move(parts), then = std::move(then)]() mutable {
        auto row = std::make_shared<tensor>();
        submit(
            [row, parts = std::move(parts)](compute_context& context) -> result<void> {
                auto made = flattened(context, parts);
                if (!made)
                    return made.failure();
                *row = std::move(made).value();
                return {};
            },
            [row, then = std::move(then)] { then(std::move(*row)); });
    });
}

void peer_actor::in_turn(std::function<void()> step) {
    steps_.push_back(std::move(step));
    go_on();
}

void peer_actor::go_on() {
    while (work_.is_idle() && !steps_.empty()) {
        const auto step = std::move(steps_.front());
        steps_.pop_front();
        step();
    }
}

void peer_actor::submit(device_work work, std::function<void()> then) {
    TROUPE_CHECK(work_.is_idle(), "one piece of work at a time");
    work_.submit(*options_.compute, {.label = proto::EXCHANGE_WORK->cStr(),
                                     .number = minibatch_,
                                     .cost = static_cast<double>(elements_),
                                     .work = std::move(work),
                                     .then = [this, then = std::move(then)] {
                                         then();
                                         go_on();
                                     }});
}

} // namespace troupe
