#include "actors/pipeline/tensor_routes.hpp"

#include <algorithm>

#include "transport/frame/wire.hpp"

namespace troupe {

tensor_route route_to(const std::vector<actor_address>& stage, bool is_colocated,
                      const std::vector<peer_info>& peers) {
    if (is_colocated)
        return tensor_route::colocated;
    const auto takes_gpu_memory = [&](actor_address a) {
        return std::ranges::any_of(
            peers, [&](const peer_info& p) { return p.node == a.node && p.takes_gpu_memory; });
    };
    return !stage.empty() && std::ranges::all_of(stage, takes_gpu_memory) ? tensor_route::by_network
                                                                          : tensor_route::by_host;
}

result<void> export_tensors(compute_context& context, std::span<tensor> all, tensor_route route,
                            const number_form* form) {
    if (auto encoded = encode_numbers(context, form, all); !encoded)
        return encoded;
    if (route == tensor_route::colocated)
        return {};
    return route == tensor_route::by_network && all.size() <= wire::described_in_header
               ? send_out(context, all, wire::alignment)
               : take_out(context, all);
}

} // namespace troupe
