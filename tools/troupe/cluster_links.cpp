#include "tools/troupe/cluster_links.hpp"

#include <utility>

#include "actors/runtime/actor.hpp"
#include "actors/runtime/link_messages.hpp"
#include "schemas/cluster.capnp.h"
#include "schemas/run.capnp.h"
#include "tools/troupe/handed_over.hpp"

namespace troupe::cli {

namespace {

// Asks the cluster actors of the members and hands over what they have answered.
class links_question final : public actor {
  public:
    using answer = handed_over<told_peers>;

    links_question(actor_context& context, const std::vector<member_info>& members,
                   std::shared_ptr<answer> to)
        : actor{context}, survey_{members}, to_{std::move(to)} {
        on<proto::MemberList>(&links_question::take);
        on<proto::QuestionDue>(&links_question::ask);
    }

  private:
    void on_start() override {
        until_ = now() + link_survey::length;
        after(duration{}, frame_builder<proto::QuestionDue>{});
    }

    void ask(proto::QuestionDue::Reader, const frame&) {
        if (now() >= until_)
            return finish();
        for (const member_info& m : survey_.asked())
            send({m.node, well_known::cluster}, frame_builder<proto::ListMembers>{});
        after(link_survey::again, frame_builder<proto::QuestionDue>{});
    }

    void take(proto::MemberList::Reader body, const frame& f) {
        const auto links = read_links(body.getLinks());
        if (!links)
            return reject(links.failure().message());
        if (f.from().actor != well_known::cluster ||
            !survey_.answered(f.from().node, peers_of(*links)))
            return reject("it was not asked");
        if (survey_.is_settled())
            finish();
    }

    void finish() {
        to_->give(survey_.told());
        quit();
    }

    link_survey survey_;
    const std::shared_ptr<answer> to_;
    time_point until_;
};

} // namespace

std::set<node_id> peers_of(const std::map<node_id, std::string>& links) {
    std::set<node_id> peers;
    for (const auto& [peer, over] : links)
        peers.insert(peer);
    return peers;
}

result<told_peers> ask_links(node_runtime& runtime, const std::vector<member_info>& members) {
    auto answer = std::make_shared<links_question::answer>();
    runtime.spawn<links_question>("links-question", members, answer);
    return answer->wait();
}

} // namespace troupe::cli
