// JSON as a value: the lines that are written for programs, and the small files that are read back. nlohmann's library reads
// and writes the text; its header takes long to compile and stands in json.cpp alone.
//
// A map keeps the order in which its keys were added. Whole numbers are exact over the ranges of std::int64_t and
// std::uint64_t; all others are doubles, written with as few digits as give the same number back. A number that is not
// finite is written as null, the only thing that JSON (RFC 8259) has for it.
//
// Threads: a value is used by one thread at a time. Errors: parse() and the functions that return an optional or a pointer
// check what comes from outside; to change a value as what it is not is a bug, and an assertion.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace troupe {

class json {
  public:
    struct member;

    json() noexcept; // null
    json(std::nullptr_t) noexcept : json{} {}
    json(std::same_as<bool> auto truth) : content_{truth} {}
    template <std::integral Number>
    requires(!std::same_as<Number, bool>) json(Number number) {
        if (number < 0)
            content_ = static_cast<std::int64_t>(number);
        else
            content_ = static_cast<std::uint64_t>(number);
    }
    json(std::floating_point auto number) : content_{static_cast<double>(number)} {}
    json(std::string text);
    json(std::string_view text);
    json(const char* text);
    // A map: {{"event", "done"}, {"epochs", 4}}.
    json(std::initializer_list<member> members);
    // A list.
    template <class Item>
    json(const std::vector<Item>& items) : json{array()} {
        for (const Item& item : items)
            push_back(item);
    }
    // A map.
    template <class Item, class Order>
    json(const std::map<std::string, Item, Order>& items) : json{object()} {
        for (const auto& [key, item] : items)
            (*this)[key] = item;
    }

    json(const json& other);
    json(json&& other) noexcept;
    json& operator=(const json& other);
    json& operator=(json&& other) noexcept;
    ~json();

    static json array(std::initializer_list<json> items = {});
    static json object();

    static constexpr std::size_t depth_max = 64; // maps and lists within each other, in a text
    // None if the text is no JSON, is nested deeper than depth_max, or has something behind its end. The last one of
    // repeated keys counts.
    static std::optional<json> parse(std::string_view text);
    // In one line, or with so many blanks for each level. Bytes that are not UTF-8 are replaced; with `ascii` everything
    // beyond ASCII is escaped.
    std::string dump(int indent = -1, bool ascii = false) const;

    bool is_null() const noexcept;
    bool is_array() const noexcept;
    bool is_object() const noexcept;

    // None if it is another thing, or not in the range of the type.
    std::optional<bool> boolean() const noexcept;
    std::optional<double> number() const noexcept;
    std::optional<std::int64_t> integer() const noexcept;
    std::optional<std::string> text() const;
    template <std::unsigned_integral Number = std::uint64_t>
    std::optional<Number> count(Number max = std::numeric_limits<Number>::max()) const noexcept {
        const auto* const whole = std::get_if<std::uint64_t>(&content_);
        return whole != nullptr && *whole <= max ? std::optional{static_cast<Number>(*whole)}
                                                 : std::nullopt;
    }
    // A list of texts.
    std::optional<std::vector<std::string>> texts() const;

    // Lists and maps; everything else has no items and no members.
    bool empty() const noexcept { return size() == 0; }
    std::size_t size() const noexcept;
    std::span<const json> items() const noexcept;
    std::span<const member> members() const noexcept;

    // Null if there is no such key, or if it is no map.
    const json* find(std::string_view key) const noexcept;
    bool contains(std::string_view key) const noexcept { return find(key) != nullptr; }
    // The value of a key, or a null.
    const json& operator[](std::string_view key) const noexcept;

    // A null becomes a map, or a list.
    json& operator[](std::string_view key);
    void push_back(json item);
    json& back();
    // Adds the members of another map, over those with the same keys.
    void update(const json& other);
    void erase(std::string_view key);

    friend bool operator==(const json& a, const json& b);

  private:
    std::variant<std::nullptr_t, bool, std::uint64_t, std::int64_t, double, std::string,
                 std::vector<json>, std::vector<member>>
        content_;
};

struct json::member {
    std::string key;
    json value;

    bool operator==(const member&) const = default;
};

// Reads a text piece by piece, for formats that refuse most of what JSON may say: hostile text costs neither memory nor
// depth of the stack. A function that returns false ends the reading.
class json_reader {
  public:
    virtual ~json_reader() = default;
    virtual bool begin_object() = 0;
    virtual bool end_object() = 0;
    virtual bool begin_array() = 0;
    virtual bool end_array() = 0;
    virtual bool key(const std::string& name) = 0;
    virtual bool text(const std::string& value) = 0;
    virtual bool count(std::uint64_t value) = 0;
    virtual bool negative(std::int64_t value) = 0;
    virtual bool real(double value) = 0; // or a whole number that is too large
    virtual bool boolean(bool value) = 0;
    virtual bool null() = 0;
    virtual void malformed(std::size_t byte) = 0;
};
// False if the reader has ended it, or the text is malformed.
bool read_json(std::string_view text, json_reader& reader);

} // namespace troupe
