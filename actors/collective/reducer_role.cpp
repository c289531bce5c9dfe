#include "actors/collective/reducer_role.hpp"

#include "actors/collective/block_reducer.hpp"
#include "actors/collective/gatherer.hpp"
#include "actors/collective/low_rank_reducer.hpp"
#include "actors/collective/reducer.hpp"
#include "actors/collective/sparse_reducer.hpp"
#include "actors/pipeline/model_part.hpp"

namespace troupe {

namespace {

struct made_reducer {
    model_part part;
    std::shared_ptr<device> compute;
};

result<made_reducer> make(proto::ReducerOptions::Reader from, const role_resources& on) {
    auto part = model_part::of(from.getPart(), on.node());
    if (!part)
        return part.failure();
    if (auto fits = check_role(*part, run_role::reducer); !fits)
        return fits.failure();
    auto compute = device_beside(*part, on);
    if (!compute)
        return compute.failure();
    return made_reducer{std::move(part).value(), std::move(compute).value()};
}

result<void> check(proto::ReducerOptions::Reader options, const role_resources& on) {
    const auto made = make(options, on);
    return made ? result<void>{} : made.failure();
}

result<actor_address> spawn(proto::ReducerOptions::Reader from, const role_resources& on) {
    const auto made = make(from, on);
    if (!made)
        return made.failure();
    const model_part& part = made->part;
    const std::string name = part.name_of(run_role::reducer);
    const auto exchange = part.exchange();
    if (!exchange)
        return on.runtime.spawn<reducer>(
            name, reducer_options{part.sync.algorithm, made->compute, part.shapes()});
    compressed_options options{.compute = made->compute,
                               .shapes = part.shapes(),
                               .averages = part.program->averages().size(),
                               .forms = exchange->forms,
                               .codec = part.sync.codec,
                               .seed = part.codec_seed()};
    if (exchange->low_rank)
        return on.runtime.spawn<low_rank_reducer>(name, std::move(options));
    if (exchange->half)
        return on.runtime.spawn<reducer>(
            name, reducer_options{part.sync.algorithm, made->compute, options.shapes,
                                  options.averages, part_numbers{part.sync.codec->half()}});
    if (exchange->sparse)
        return on.runtime.spawn<sparse_reducer>(name, std::move(options), *exchange->sparse);
    if (exchange->in_blocks)
        return on.runtime.spawn<block_reducer>(name, std::move(options));
    return on.runtime.spawn<gatherer>(name, std::move(options));
}

} // namespace

role reducer_role() {
    return role_of<proto::ReducerOptions>(name_of(run_role::reducer), check, spawn);
}

} // namespace troupe
