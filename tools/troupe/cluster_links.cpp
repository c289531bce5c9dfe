#include "tools/troupe/cluster_links.hpp"

#include <algorithm>
#include <utility>

#include "actors/runtime/actor.hpp"
#include "actors/runtime/link_messages.hpp"
#include "schemas/cluster.capnp.h"
#include "schemas/run.capnp.h"
#include "tools/troupe/handed_over.hpp"

namespace troupe::cli {

namespace {

constexpr duration ask_again = std::chrono::milliseconds{100};
constexpr duration ask_until = std::chrono::seconds{1};

// Asks the cluster actors of the members and hands over what they have answered.
class links_question final : public actor {
  public:
    using answer = handed_over<told_peers>;

    links_question(actor_context& context, std::vector<member_info> members,
                   std::shared_ptr<answer> to)
        : actor{context}, members_{std::move(members)}, to_{std::move(to)} {
        std::erase_if(members_, [](const member_info& m) { return m.role != peer_role::member; });
        on<proto::MemberList>(&links_question::take);
        on<proto::QuestionDue>(&links_question::ask);
    }

  private:
    void on_start() override {
        until_ = now() + ask_until;
        after(duration{}, frame_builder<proto::QuestionDue>{});
    }

    void ask(proto::QuestionDue::Reader, const frame&) {
        if (now() >= until_)
            return finish();
        for (const member_info& m : members_)
            send({m.node, well_known::cluster}, frame_builder<proto::ListMembers>{});
        after(ask_again, frame_builder<proto::QuestionDue>{});
    }

    void take(proto::MemberList::Reader body, const frame& f) {
        const auto is_sender = [&](const member_info& m) {
            return f.from() == actor_address{m.node, well_known::cluster};
        };
        if (std::ranges::none_of(members_, is_sender))
            return reject("it was not asked");
        const auto links = read_links(body.getLinks());
        if (!links)
            return reject(links.failure().message());
        auto& peers = told_[f.from().node] = {};
        for (const auto& [peer, over] : *links)
            peers.insert(peer);
        if (told_.size() == members_.size() && unlinked_pairs(members_, told_).empty())
            finish();
    }

    void finish() {
        to_->give(std::exchange(told_, {}));
        quit();
    }

    std::vector<member_info> members_;
    const std::shared_ptr<answer> to_;
    time_point until_;
    told_peers told_;
};

} // namespace

result<told_peers> ask_links(node_runtime& runtime, const std::vector<member_info>& members) {
    auto answer = std::make_shared<links_question::answer>();
    runtime.spawn<links_question>("links-question", members, answer);
    return answer->wait();
}

} // namespace troupe::cli
