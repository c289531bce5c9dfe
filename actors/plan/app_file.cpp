#include "actors/plan/app_file.hpp"

#include <map>

#include <capnp/message.h>

#include "actors/plan/app_file_base.hpp"
#include "actors/plan/app_file_checks.hpp"
#include "actors/plan/app_file_reader.hpp"
#include "actors/plan/app_file_tree.hpp"

namespace troupe {

struct app_definition::state {
    std::string file;
    app_file::sources names;
    std::map<std::string, app_file::place, std::less<>> places;
    capnp::MallocMessageBuilder message;
    proto::App::Reader app;

    state() = default;
    ~state() noexcept {} // the message's destructor is declared to throw, and does not
};

proto::App::Reader app_definition::app() const noexcept {
    return state_->app;
}

const std::string& app_definition::file() const noexcept {
    return state_->file;
}

error app_definition::error_at(std::string_view path, std::string_view sentence) const {
    for (std::string_view known = path;;) {
        if (const auto found = state_->places.find(known); found != state_->places.end())
            return state_->names.fail(found->second, path, sentence);
        const std::size_t end = known.find_last_of(".[");
        known = known.substr(0, end == std::string_view::npos ? 0 : end);
    }
}

error app_definition::at_its_place(const error& why) const {
    const std::string_view message = why.message();
    const std::size_t end = message.find(": ");
    TROUPE_CHECK(end != std::string_view::npos, "the error begins with a key");
    return {why.code(), error_at(message.substr(0, end), message.substr(end + 2)).message()};
}

bool app_definition::is_given(std::string_view path) const {
    return state_->places.contains(path);
}

result<void> app_definition::check_training(std::optional<std::uint64_t> train_samples) const {
    return app_file::check_training(*this, train_samples);
}

result<void> app_definition::check_causal() const {
    return app_file::check_causal(*this);
}

std::vector<std::string> app_definition::notes(std::optional<std::uint64_t> train_samples) const {
    std::vector<std::string> notes;
    for (const app_file::doubtful_key& key : app_file::doubtful_keys(app(), train_samples))
        if (is_given(key.path))
            notes.push_back(error_at(key.path, key.why).message());
    return notes;
}

result<app_definition> parse_app(std::string_view text, const std::filesystem::path& file,
                                 const app_settings& settings) {
    auto state = std::make_shared<app_definition::state>();
    state->file = file.string();
    state->names.files.push_back(file.string());
    auto tree = app_file::parse_with_bases(text, state->names);
    if (!tree)
        return tree.failure();
    if (auto applied = app_file::apply_settings(*tree, settings, state->names); !applied)
        return applied.failure();

    app_file::tree_reader reader{state->names};
    auto app = state->message.initRoot<proto::App>();
    if (auto read = reader.read(*tree, app); !read)
        return read.failure();
    state->places = reader.take_places();
    state->app = app.asReader();
    app_definition definition{std::move(state)};
    if (auto checked = app_file::check_meaning(definition); !checked)
        return checked.failure();
    return definition;
}

result<app_definition> load_app(const std::filesystem::path& file, const app_settings& settings) {
    auto text = app_file::read_text(file);
    if (!text)
        return text.failure();
    return parse_app(*text, file, settings);
}

} // namespace troupe
