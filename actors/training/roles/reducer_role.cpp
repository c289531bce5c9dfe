#include "actors/training/roles/reducer_role.hpp"

#include "actors/collective/block_reducer.hpp"
#include "actors/collective/gatherer.hpp"
#include "actors/collective/low_rank_reducer.hpp"
#include "actors/collective/reducer.hpp"
#include "actors/collective/sparse_reducer.hpp"
#include "actors/training/roles/model_part.hpp"

namespace troupe {

namespace {

result<prepared_actor> prepare(proto::ReducerOptions::Reader from, const role_resources& on) {
    const auto part = model_part::of(from.getPart(), on.node());
    if (!part)
        return part.failure();
    if (auto fits = check_role(*part, run_role::reducer); !fits)
        return fits.failure();
    const auto compute = colocated_device(*part, on);
    if (!compute)
        return compute.failure();
    const std::string name = part->name_of(run_role::reducer);
    const auto sum = part->chosen_sum();
    if (!sum)
        return prepared<reducer>(on, name,
                                 reducer_options{part->sync.algorithm, *compute, part->shapes()});
    const compressed_options options{.compute = *compute,
                                     .shapes = part->shapes(),
                                     .averages = part->program->averages().size(),
                                     .forms = sum->forms,
                                     .codec = part->sync.codec,
                                     .seed = part->codec_seed()};
    if (sum->low_rank)
        return prepared<low_rank_reducer>(on, name, options);
    if (sum->half)
        return prepared<reducer>(on, name,
                                 reducer_options{part->sync.algorithm, *compute, options.shapes,
                                                 options.averages,
                                                 part_numbers{part->sync.codec->half()}});
    if (sum->sparse)
        return prepared<sparse_reducer>(on, name, options, *sum->sparse);
    if (sum->in_blocks)
        return prepared<block_reducer>(on, name, options);
    return prepared<gatherer>(on, name, options);
}

} // namespace

role reducer_role() {
    return role_of<proto::ReducerOptions>(std::string{run_role::reducer.name}, prepare);
}

} // namespace troupe
