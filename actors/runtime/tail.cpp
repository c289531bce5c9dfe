#include "actors/runtime/tail.hpp"

#include <algorithm>

#include "actors/runtime/node_core.hpp"
#include "actors/runtime/trace_messages.hpp"

namespace troupe {

namespace {

// Takes one credit; returns false if there is none.
bool take_one(std::atomic<std::uint64_t>& credit) {
    std::uint64_t left = credit.load(std::memory_order_relaxed);
    while (left > 0)
        if (credit.compare_exchange_weak(left, left - 1, std::memory_order_relaxed))
            return true;
    return false;
}

} // namespace

std::shared_ptr<const tail_set::tails> tail_set::open_tails() const {
    const std::lock_guard guard{lock_};
    return tails_;
}

tail_set::tail* tail_set::find(const tails& in, actor_address observer, std::uint64_t number) {
    const auto found = std::ranges::find_if(
        in, [&](const auto& t) { return t->observer == observer && t->number == number; });
    return found == in.end() ? nullptr : found->get();
}

void tail_set::replace(tails by) {
    count_.store(by.size(), std::memory_order_relaxed);
    tails_ = std::make_shared<const tails>(std::move(by));
}

template <class Condition>
void tail_set::erase_if(Condition condition) {
    const std::lock_guard guard{lock_};
    tails left = *tails_;
    std::erase_if(left, [&](const auto& t) { return condition(*t); });
    replace(std::move(left));
}

result<void> tail_set::open(actor_address observer, std::uint64_t number, message_filter filter,
                            std::uint64_t credit) {
    const std::lock_guard guard{lock_};
    if (find(*tails_, observer, number) != nullptr)
        return error{errc::usage,
                     "tail " + std::to_string(number) + " is open already; choose another number"};
    if (tails_->size() >= limits::tails_max)
        return error{errc::exhausted, "this node has " + std::to_string(limits::tails_max) +
                                          " open tails, which is all it allows; close one first"};
    tails more = *tails_;
    more.push_back(
        std::make_shared<tail>(observer, number, std::move(filter),
                               std::min<std::uint64_t>(credit, limits::tail_credit_max)));
    replace(std::move(more));
    return {};
}

void tail_set::credit(actor_address observer, std::uint64_t number, std::uint64_t more) {
    const std::lock_guard guard{lock_};
    // Other threads can only take credit meanwhile.
    if (tail* t = find(*tails_, observer, number))
        t->credit += std::min(more, limits::tail_credit_max - t->credit.load());
}

void tail_set::close(actor_address observer, std::uint64_t number) {
    erase_if([&](const tail& t) { return t.observer == observer && t.number == number; });
}

void tail_set::forget_observer(actor_address observer) {
    erase_if([&](const tail& t) { return t.observer == observer; });
}

void tail_set::forget_node(node_id node) {
    if (any())
        erase_if([&](const tail& t) { return t.observer.node == node; });
}

void tail_set::offer(const std::string& receiver, const frame& f, const trace_event& event) {
    if (is_of_inspector(event.type))
        return;
    const auto open = open_tails();
    for (const auto& t : *open) {
        if (!t->filter.matches(event, receiver) ||
            !t->filter.matches_fields(f, *core_.options().messages))
            continue;
        if (take_one(t->credit))
            send(*t, receiver, f, event);
        else
            t->dropped.fetch_add(1, std::memory_order_relaxed);
    }
}

void tail_set::send(tail& to, const std::string& receiver, const frame& f,
                    const trace_event& event) {
    frame_builder<proto::TailEvent> news;
    auto body = news.body();
    body.setTail(to.number);
    write_event(body.initEvent(), event);
    body.setTypeName(core_.options().messages->name_of(event.type));
    body.setActorName(receiver);
    body.setBody(core_.options().messages->body_text(f, limits::tail_body_bytes_max));
    body.setTensors(tensors_text(f));
    body.setDropped(to.dropped.exchange(0, std::memory_order_relaxed));
    core_.stamp(news.envelope(), well_known::inspector, to.observer);
    core_.post(std::move(news).finish());
}

} // namespace troupe
