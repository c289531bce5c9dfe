#include "actors/training/samples.hpp"

#include "kernels/graph/stage_program.hpp"

namespace troupe {

result<std::shared_ptr<const data_sets>> load_samples(const training_app& definition) {
    const auto app = definition.app();
    const auto layers = describe_model(app.getModel());
    if (!layers)
        return layers.failure();
    const value_form inputs = input_form(app.getModel()).value();
    const auto loss = model_loss::create(app.getModel().getLoss(), layers->back().output_shape);
    if (!loss)
        return loss.failure();
    auto sets = load_data(app.getData(), inputs.shape, app.getTrain().getSeed());
    if (!sets)
        return definition.at_its_place(sets.failure());
    for (dataset* set : {&sets->train, &sets->test})
        if (auto fits = fit_to_model(*set, inputs, loss->labels()); !fits)
            return definition.at_its_place(fits.failure());
    for (std::string& text : sets->notes)
        text = definition.at_its_place({errc::usage, text}).message();
    return std::make_shared<const data_sets>(std::move(sets).value());
}

} // namespace troupe
