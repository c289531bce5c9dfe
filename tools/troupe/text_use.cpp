#include "tools/troupe/text_use.hpp"

namespace troupe::cli {

namespace {

bool takes_tokens(const stage_program& program) {
    const value_form& input = program.inputs()[0].info;
    return input.type == data_type::int32 && input.shape.rank() == 1;
}

// A label for each of the last positions of the input.
bool labels_positions(const stage_program& program, std::size_t positions) {
    const value_form& labels = program.labels();
    return labels.type == data_type::int32 && labels.shape.rank() == 1 &&
           labels.shape[0] == positions;
}

bool writes_bytes(const stage_program& program) {
    return takes_tokens(program) && program.inputs()[0].info.values >= byte_values &&
           labels_positions(program, program.inputs()[0].info.shape[0]) &&
           program.labels().values == byte_values;
}

bool translates_rows(const training_app& app, const stage_program& program) {
    const std::size_t source = app.app().getData().getTranslation().getSourceLength();
    return app.app().getModel().getLayers()[0].isEncoderDecoder() && takes_tokens(program) &&
           labels_positions(program, program.inputs()[0].info.shape[0] - source);
}

} // namespace

result<text_use> text_use_of(const training_app& app, const stage_program& program) {
    const auto data = app.app().getData();
    const bool translates = data.isTranslation();
    const std::string makes_none = translates ? "translates nothing: " : "generates no text: ";
    if (data.getTarget() != proto::DataTarget::LABELS)
        return app.error_at("data.target",
                            makes_none + "input has the model learn what it reads, not what comes "
                                         "next; leave this key out, and train anew");
    if (translates && !translates_rows(app, program))
        return app.error_at("model", makes_none + "it must begin with encoder_decoder, whose "
                                                  "source_length is that of data.translation");
    if (!translates && !writes_bytes(program))
        return app.error_at("model", makes_none +
                                         "it must take [positions] bytes, by an embedding with a "
                                         "vocabulary of 256, and give [positions, 256]");
    if (auto causal = app.check_causal(); !causal)
        return causal.failure();
    return translates ? text_use::translates : text_use::writes_on;
}

} // namespace troupe::cli
