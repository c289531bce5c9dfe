#include "actors/pipeline/stage/stage_messages.hpp"

namespace troupe {

result<loss_result> loss_of(compute_context& context, const stage_program& program,
                            const tensor& output, const tensor& labels, float scale) {
    const auto here = copied_to_device(context, labels);
    return here ? program.loss(context, output, *here, scale) : here.failure();
}

error not_finite(compute_context& context, const stage_program& program, const weights& w,
                 const batch_part& part, const std::vector<tensor>& inputs,
                 const std::string& loss) {
    const std::string what = loss + " is not a number: ";
    const auto layer = program.first_not_finite(context, w, part, inputs);
    if (!layer)
        return layer.failure().in(what);
    return {errc::numeric,
            what + (layer->empty() ? "nor are the values that reach " + program.first_layer()
                                   : *layer + " is the first layer that gives none")};
}

} // namespace troupe
