#include "actors/run/cast.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "actors/messages.hpp"
#include "actors/runtime/well_known.hpp"
#include "schemas/base/nearest.hpp"

namespace troupe {

std::size_t cast::add(std::string name, plan_device where) {
    members_.push_back({std::move(name), std::move(where), 0, {}});
    return members_.size() - 1;
}

actor_address cast::agent_of(std::size_t member) const {
    return {members_[member].where.node, well_known::agent};
}

bool cast::is_complete() const {
    return std::ranges::all_of(members_,
                               [](const part& m) { return static_cast<bool>(m.address); });
}

std::vector<std::size_t> cast::all() const {
    std::vector<std::size_t> numbers(members_.size());
    std::iota(numbers.begin(), numbers.end(), std::size_t{0});
    return numbers;
}

frame_builder<proto::Spawn> cast::ask(std::size_t member, const std::string& role) {
    part& wanted = members_[member];
    wanted.request = ++last_request_;
    asked_[last_request_] = {member, agent_of(member)};
    frame_builder<proto::Spawn> message;
    message.body().setRun(run_);
    message.body().setRequest(wanted.request);
    message.body().setRole(role.c_str());
    message.body().setDevice(wanted.where.device.c_str());
    return message;
}

// The question that this answers, which is asked no more.
std::optional<cast::question> cast::answered(std::uint64_t run, std::uint64_t request,
                                             actor_address from) {
    const auto found = asked_.find(request);
    if (run != run_ || found == asked_.end() || found->second.agent != from)
        return std::nullopt;
    return asked_.extract(found).mapped();
}

namespace {

error not_asked() {
    return {errc::protocol, "the sender was not asked to spawn this actor of this run"};
}

} // namespace

result<cast::answer> cast::enter(proto::Spawned::Reader body, actor_address from) {
    const auto question = answered(body.getRun(), body.getRequest(), from);
    if (!question)
        return not_asked();
    part& member = members_[question->member];
    const bool is_wanted = member.request == body.getRequest();
    const actor_address there = read_address(body.getAddress());
    if (!there || there.node != from.node)
        return error{errc::refused, "an agent has spawned an actor that is not on its node"};
    if (is_wanted)
        member.address = there;
    return answer{question->member, there, is_wanted};
}

result<cast::answer> cast::refuse(proto::SpawnFailed::Reader body, actor_address from) {
    const auto question = answered(body.getRun(), body.getRequest(), from);
    if (!question)
        return not_asked();
    return answer{question->member, {}, members_[question->member].request == body.getRequest()};
}

actor_address cast::leave(std::size_t member) {
    members_[member].request = 0;
    return std::exchange(members_[member].address, {});
}

std::vector<std::size_t> cast::gone_with(actor_address who) const {
    std::vector<std::size_t> gone;
    for (std::size_t m = 0; m < members_.size(); ++m)
        if (agent_of(m) == who || (who && members_[m].address == who))
            gone.push_back(m);
    return gone;
}

std::string cast::describe(const std::vector<std::size_t>& members) const {
    std::vector<std::string> names;
    for (const std::size_t m : members)
        names.push_back(members_[m].name + " on " + where_text(members_[m].where));
    return join(names);
}

std::vector<actor_address> cast::agents() const {
    std::vector<actor_address> all;
    for (std::size_t m = 0; m < members_.size(); ++m)
        if (std::ranges::find(all, agent_of(m)) == all.end())
            all.push_back(agent_of(m));
    return all;
}

frame_builder<proto::EndActors>
end_message(std::uint64_t run, const std::vector<actor_address>& actors, const error& why) {
    frame_builder<proto::EndActors> end;
    end.body().setRun(run);
    auto list = end.body().initActors(static_cast<unsigned>(actors.size()));
    for (unsigned i = 0; i < list.size(); ++i)
        write_address(list[i], actors[i]);
    write_failure(end.body().initFailure(), why);
    return end;
}

frame_builder<proto::Release> release_message(std::uint64_t run,
                                              const std::optional<error>& failure) {
    frame_builder<proto::Release> release;
    release.body().setRun(run);
    if (failure)
        write_failure(release.body().initFailure(), *failure);
    return release;
}

} // namespace troupe
