#include "actors/pipeline/layer_profiler.hpp"

#include <algorithm>
#include <utility>

#include "actors/agent/on_node.hpp"
#include "actors/messages.hpp"
#include "kernels/graph/profile.hpp"
#include "schemas/base/limits.hpp"

namespace troupe {

layer_profiler::layer_profiler(actor_context& context, std::vector<std::shared_ptr<device>> devices)
    : actor{context}, devices_{std::move(devices)}, work_{*this} {
    on<proto::ProfileModel>(&layer_profiler::profile);
}

namespace {

// Nanoseconds of a forward and a backward pass of each layer. On a device with modelled time they are computed, not
// measured, as no time would pass.
result<std::vector<std::uint64_t>> layer_times(const device& where, compute_context& context,
                                               proto::ProfileModel::Reader request,
                                               const time_source& time,
                                               const std::atomic<bool>& given_up) {
    std::vector<std::uint64_t> nanoseconds;
    if (!where.modelled_time(0)) {
        auto times = profile_layers(context, request.getModel(),
                                    {.batch = request.getBatch(), .given_up = &given_up}, time);
        if (!times)
            return times.failure();
        for (const layer_time& t : *times)
            nanoseconds.push_back(static_cast<std::uint64_t>((t.forward + t.backward).count()));
        return nanoseconds;
    }
    auto layers = describe_model(request.getModel());
    if (!layers)
        return layers.failure();
    for (const layer_info& layer : *layers) {
        const duration both =
            *where.modelled_time(layer.forward_flops_per_sample * request.getBatch()) +
            *where.modelled_time(layer.backward_flops_per_sample * request.getBatch());
        nanoseconds.push_back(static_cast<std::uint64_t>(both.count()));
    }
    return nanoseconds;
}

} // namespace

// The device, or why this model cannot be measured now. A node may have one request under way, so that none can fill the
// memory with waiting requests.
result<std::shared_ptr<device>> layer_profiler::check(proto::ProfileModel::Reader body,
                                                      node_id asking) const {
    const std::string& node = runtime().options().name;
    if (body.getBatch() == 0 || body.getBatch() > limits::batch_max)
        return error{errc::protocol,
                     "minibatches of " + std::to_string(body.getBatch()) + " samples cannot be"};
    const auto is_its = [&](const auto& other) { return other->request->from().node == asking; };
    if (std::ranges::any_of(under_way_, is_its))
        return error{errc::exhausted, "node " + node + " measures a model for node " +
                                          name_of_node(runtime(), asking) +
                                          " already; wait until that has ended"};
    return device_named(devices_, body.getDevice().cStr(), node);
}

void layer_profiler::refuse(actor_address asking, std::uint64_t run, const error& why) {
    frame_builder<proto::ProfileFailed> failed;
    failed.body().setRun(run);
    write_failure(failed.body().initFailure(), why);
    send(asking, std::move(failed));
}

void layer_profiler::profile(proto::ProfileModel::Reader body, const frame& f) {
    const auto compute = check(body, f.from().node);
    if (!compute)
        return refuse(f.from(), body.getRun(), compute.failure());
    auto shared = std::make_shared<measurement>();
    shared->request = current();
    under_way_.push_back(shared);
    watch(f.from());
    work_.submit(**compute,
                 {.work = [shared, where = compute->get(), time = runtime().options().time](
                              compute_context& context) -> result<void> {
                      auto times =
                          layer_times(*where, context, shared->request->body<proto::ProfileModel>(),
                                      *time, shared->given_up);
                      if (!times)
                          return times.failure();
                      shared->nanoseconds = std::move(times).value();
                      return {};
                  },
                  .then = [this, shared] { finish(shared, {}); },
                  .failed = [this, shared](const error& why) { finish(shared, why); }});
}

void layer_profiler::finish(const std::shared_ptr<measurement>& done, const result<void>& outcome) {
    under_way_.remove(done);
    if (done->given_up)
        return;
    const actor_address asked_by = done->request->from();
    const std::uint64_t run = done->request->body<proto::ProfileModel>().getRun();
    unwatch(asked_by); // this was the only request of its node
    if (!outcome)
        return refuse(asked_by, run, outcome.failure());
    frame_builder<proto::LayerTimes> times;
    times.body().setRun(run);
    auto list = times.body().initNanoseconds(static_cast<unsigned>(done->nanoseconds.size()));
    for (unsigned l = 0; l < list.size(); ++l)
        list.set(l, done->nanoseconds[l]);
    send(asked_by, std::move(times));
}

void layer_profiler::on_down(actor_address who, const error&) {
    for (const auto& m : under_way_)
        if (m->request->from() == who)
            m->given_up = true;
}

} // namespace troupe
