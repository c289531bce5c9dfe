#include "actors/pipeline/stage/stage_neighbours.hpp"

#include <algorithm>
#include <tuple>

#include "actors/messages.hpp"

namespace troupe {

bool stage_neighbours::has(actor_address who) const {
    return std::ranges::count(previous, who) > 0 || std::ranges::count(next, who) > 0;
}

std::optional<stage_neighbours::place> stage_neighbours::place_of(actor_address who,
                                                                  const pipeline_place& own) const {
    for (const auto& [neighbours, stage] :
         {std::pair{&next, own.place.stage + 1}, {&previous, own.place.stage - 1}}) {
        const auto found = std::ranges::find(*neighbours, who);
        if (found == neighbours->end() || stage >= own.place.stages)
            continue;
        return place{stage, own.stages_differ()
                                ? static_cast<std::uint32_t>(found - neighbours->begin())
                                : own.replica.replica};
    }
    return std::nullopt;
}

result<stage_neighbours> neighbours_of(const stage_options& options,
                                       proto::ConnectStage::Reader body, node_id node) {
    if (body.getPrevious().size() == 0 || (body.getNext().size() == 0) != options.at.is_last())
        return error{errc::protocol, "the neighbours of this stage are not there"};
    stage_neighbours own;
    for (const auto replica : body.getPrevious())
        own.previous.push_back(read_address(replica));
    for (const auto replica : body.getNext())
        own.next.push_back(read_address(replica));
    own.source = read_address(body.getSource());
    for (const auto& [is_colocated, stage, route] :
         {std::tuple{body.getPreviousIsColocated(), &own.previous, &own.routes.to_previous},
          {body.getNextIsColocated(), &own.next, &own.routes.to_next}}) {
        if (!is_colocated)
            continue;
        if (stage->empty() || stage->front().node != node)
            return error{errc::protocol, "a stage of another node is not on this stage's device"};
        *route = tensor_route::colocated;
    }
    const number_form_ptr& form = options.activations;
    if (form && !options.at.is_first())
        own.routes.from_previous = std::make_shared<const crossing_numbers>(
            crossing_numbers::activations(form, options.program->inputs()));
    if (form && !options.at.is_last())
        own.routes.from_next = std::make_shared<const crossing_numbers>(
            crossing_numbers::gradients(form, options.program->outputs()));
    return own;
}

actor_address sender_among(const std::vector<actor_address>& expected, const frame& f) {
    const auto sender = std::ranges::find(expected, f.from());
    return sender == expected.end() ? actor_address{} : *sender;
}

} // namespace troupe
