#include "schemas/base/json.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "schemas/base/check.hpp"

namespace troupe {

namespace {

// Hands the events of nlohmann's parser on, in our own types.
class event_adapter final : public nlohmann::json_sax<nlohmann::ordered_json> {
  public:
    explicit event_adapter(json_reader& reader) : reader_{reader} {}

    bool null() override { return reader_.null(); }
    bool boolean(bool value) override { return reader_.boolean(value); }
    bool number_integer(number_integer_t value) override { return reader_.negative(value); }
    bool number_unsigned(number_unsigned_t value) override { return reader_.count(value); }
    bool number_float(number_float_t value, const string_t&) override {
        return reader_.real(value);
    }
    bool string(string_t& value) override { return reader_.text(value); }
    bool binary(binary_t&) override { return false; } // JSON has none
    bool start_object(std::size_t) override { return reader_.begin_object(); }
    bool key(string_t& name) override { return reader_.key(name); }
    bool end_object() override { return reader_.end_object(); }
    bool start_array(std::size_t) override { return reader_.begin_array(); }
    bool end_array() override { return reader_.end_array(); }
    bool parse_error(std::size_t position, const std::string&,
                     const nlohmann::detail::exception&) override {
        reader_.malformed(position);
        return false;
    }

  private:
    json_reader& reader_;
};

class value_builder final : public json_reader {
  public:
    json value;

    bool begin_object() override { return begin(json::object()); }
    bool end_object() override { return end(); }
    bool begin_array() override { return begin(json::array()); }
    bool end_array() override { return end(); }
    bool key(const std::string& name) override {
        key_ = name;
        return true;
    }
    bool text(const std::string& value) override { return add(value); }
    bool count(std::uint64_t value) override { return add(value); }
    bool negative(std::int64_t value) override { return add(value); }
    bool real(double value) override { return add(value); }
    bool boolean(bool value) override { return add(value); }
    bool null() override { return add(nullptr); }
    void malformed(std::size_t) override {}

  private:
    json& place(json made) {
        if (open_.empty())
            return value = std::move(made);
        json& parent = *open_.back();
        if (parent.is_object())
            return parent[key_] = std::move(made);
        parent.push_back(std::move(made));
        return parent.back();
    }
    bool add(json made) {
        place(std::move(made));
        return true;
    }
    bool begin(json made) {
        if (open_.size() == json::depth_max)
            return false;
        open_.push_back(&place(std::move(made)));
        return true;
    }
    bool end() {
        open_.pop_back();
        return true;
    }

    std::vector<json*>
        open_; // from the outside in; only the last one grows, so that none of the others moves
    std::string key_;
};

nlohmann::ordered_json written_by_library(const json& value) {
    using library_value = nlohmann::ordered_json;
    if (const auto truth = value.boolean())
        return *truth;
    if (const auto count = value.count())
        return *count;
    if (const auto integer = value.integer())
        return *integer;
    if (const auto number = value.number())
        return *number;
    if (const auto text = value.text())
        return *text;
    if (value.is_array()) {
        library_value list = library_value::array();
        for (const json& item : value.items())
            list.push_back(written_by_library(item));
        return list;
    }
    if (value.is_object()) {
        library_value map = library_value::object();
        for (const auto& [key, item] : value.members())
            map.emplace(key, written_by_library(item));
        return map;
    }
    return nullptr;
}

} // namespace

json::json() noexcept = default;
json::json(std::string text) : content_{std::move(text)} {}
json::json(std::string_view text) : content_{std::string{text}} {}
json::json(const char* text) : content_{std::string{text}} {}
json::json(std::initializer_list<member> members) : content_{std::vector<member>{}} {
    for (const member& m : members)
        (*this)[m.key] = m.value;
}
json::json(const json& other) = default;
json::json(json&& other) noexcept = default;
json& json::operator=(const json& other) = default;
json& json::operator=(json&& other) noexcept = default;
json::~json() = default;

json json::array(std::initializer_list<json> items) {
    json list;
    list.content_ = std::vector<json>{items};
    return list;
}

json json::object() {
    return json(std::initializer_list<member>{});
}

std::optional<json> json::parse(std::string_view text) {
    value_builder builder;
    if (!read_json(text, builder))
        return std::nullopt;
    return std::move(builder.value);
}

std::string json::dump(int indent, bool ascii) const {
    return written_by_library(*this).dump(indent, ' ', ascii,
                                          nlohmann::ordered_json::error_handler_t::replace);
}

bool json::is_null() const noexcept {
    return std::holds_alternative<std::nullptr_t>(content_);
}
bool json::is_array() const noexcept {
    return std::holds_alternative<std::vector<json>>(content_);
}
bool json::is_object() const noexcept {
    return std::holds_alternative<std::vector<member>>(content_);
}

std::optional<bool> json::boolean() const noexcept {
    const auto* const truth = std::get_if<bool>(&content_);
    return truth != nullptr ? std::optional{*truth} : std::nullopt;
}

std::optional<double> json::number() const noexcept {
    if (const auto* const real = std::get_if<double>(&content_))
        return *real;
    if (const auto* const count = std::get_if<std::uint64_t>(&content_))
        return static_cast<double>(*count);
    if (const auto* const negative = std::get_if<std::int64_t>(&content_))
        return static_cast<double>(*negative);
    return std::nullopt;
}

std::optional<std::int64_t> json::integer() const noexcept {
    if (const auto* const negative = std::get_if<std::int64_t>(&content_))
        return *negative;
    const auto small = count<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    return small ? std::optional{static_cast<std::int64_t>(*small)} : std::nullopt;
}

std::optional<std::string> json::text() const {
    const auto* const text = std::get_if<std::string>(&content_);
    return text != nullptr ? std::optional{*text} : std::nullopt;
}

std::optional<std::vector<std::string>> json::texts() const {
    if (!is_array())
        return std::nullopt;
    std::vector<std::string> all;
    for (const json& item : items()) {
        auto text = item.text();
        if (!text)
            return std::nullopt;
        all.push_back(std::move(*text));
    }
    return all;
}

std::size_t json::size() const noexcept {
    return items().size() + members().size();
}

std::span<const json> json::items() const noexcept {
    const auto* const list = std::get_if<std::vector<json>>(&content_);
    return list != nullptr ? std::span<const json>{*list} : std::span<const json>{};
}

std::span<const json::member> json::members() const noexcept {
    const auto* const map = std::get_if<std::vector<member>>(&content_);
    return map != nullptr ? std::span<const member>{*map} : std::span<const member>{};
}

const json* json::find(std::string_view key) const noexcept {
    const auto all = members();
    const auto found = std::ranges::find(all, key, &member::key);
    return found != all.end() ? &found->value : nullptr;
}

const json& json::operator[](std::string_view key) const noexcept {
    static const json absent;
    const json* const found = find(key);
    return found != nullptr ? *found : absent;
}

json& json::operator[](std::string_view key) {
    if (is_null())
        content_ = std::vector<member>{};
    auto* const map = std::get_if<std::vector<member>>(&content_);
    TROUPE_CHECK(map != nullptr, "only a map has keys");
    const auto found = std::ranges::find(*map, key, &member::key);
    return found != map->end() ? found->value
                               : map->emplace_back(member{std::string{key}, {}}).value;
}

void json::push_back(json item) {
    if (is_null())
        content_ = std::vector<json>{};
    auto* const list = std::get_if<std::vector<json>>(&content_);
    TROUPE_CHECK(list != nullptr, "only a list has items");
    list->push_back(std::move(item));
}

json& json::back() {
    auto* const list = std::get_if<std::vector<json>>(&content_);
    TROUPE_CHECK(list != nullptr && !list->empty(), "only a list with items has a last one");
    return list->back();
}

void json::update(const json& other) {
    TROUPE_CHECK(other.is_object(), "a map is updated with a map");
    for (const auto& [key, value] : other.members())
        (*this)[key] = value;
}

void json::erase(std::string_view key) {
    if (auto* const map = std::get_if<std::vector<member>>(&content_))
        std::erase_if(*map, [&](const member& m) { return m.key == key; });
}

bool operator==(const json& a, const json& b) {
    if (a.content_.index() != b.content_.index() && a.number()) // 1 is 1.0
        return a.number() == b.number();
    return a.content_ == b.content_;
}

bool read_json(std::string_view text, json_reader& reader) {
    event_adapter adapter{reader};
    return nlohmann::ordered_json::sax_parse(text, &adapter);
}

} // namespace troupe
