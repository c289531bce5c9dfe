// Numbers, texts and words of an app file.
#include <charconv>
#include <cmath>
#include <limits>

#include "actors/app_file/file_names.hpp"
#include "actors/app_file/reader.hpp"
#include "actors/app_file/synonyms.hpp"
#include "schemas/base/limits.hpp"
#include "schemas/base/nearest.hpp"

namespace troupe::app_file {

using value = capnp::DynamicValue::Reader;

bool looks_like_integer(const node& from) {
    if (from.what != node::kind::scalar || from.quoted)
        return false;
    std::string_view digits = from.text;
    if (!digits.empty() && digits.front() == '-')
        digits.remove_prefix(1);
    if (digits.empty() || (digits.size() > 1 && digits.front() == '0'))
        return false;
    return digits.find_first_not_of("0123456789") == std::string_view::npos;
}

result<value> tree_reader::read_scalar(const node& from, target to, const std::string& path,
                                       std::string& storage) const {
    switch (to.type.which()) {
    case capnp::schema::Type::TEXT:
        return read_text(from, to, path, storage);
    case capnp::schema::Type::ENUM:
        return read_enum(from, to, path);
    case capnp::schema::Type::BOOL:
        if (from.what != node::kind::scalar || from.quoted ||
            (from.text != "true" && from.text != "false"))
            return wrong_kind(from, path, "true or false");
        return value{from.text == "true"};
    default:
        break;
    }
    TROUPE_CHECK(is_number(to.type),
                 "the app schema has only kinds of values that the loader knows");
    return is_integer(to.type) ? read_integer(from, to, path) : read_float(from, to, path);
}

result<value> tree_reader::read_integer(const node& from, target to,
                                        const std::string& path) const {
    if (!looks_like_integer(from))
        return wrong_kind(from, path, "a whole number");
    const number_range range = range_of(to.rules, to.type);
    const bool is_version = range.min && range.min == range.max; // one number alone will do
    const std::string wanted = (is_version ? "this build reads version " + number_text(*range.min)
                                           : "must be " + range_text(range)) +
                               ", not " + in_quotes(from.text);
    std::uint64_t number = 0;
    const char* end = from.text.data() + from.text.size();
    // A minus sign and too many digits fail here, both out of range.
    if (std::from_chars(from.text.data(), end, number).ec != std::errc{})
        return names_.fail(
            from.where, path,
            range.max ? wanted : "must be 0 to 18446744073709551615, not " + in_quotes(from.text));
    const auto as_double = static_cast<double>(number);
    if ((range.min && as_double < *range.min) || (range.max && as_double > *range.max))
        return names_.fail(from.where, path, wanted);
    return value{number};
}

result<value> tree_reader::read_float(const node& from, target to, const std::string& path) const {
    double number = 0;
    const char* end = from.text.data() + from.text.size();
    const auto parsed = std::from_chars(from.text.data(), end, number);
    if (from.what != node::kind::scalar || from.quoted ||
        parsed.ec == std::errc::invalid_argument || parsed.ptr != end || std::isnan(number) ||
        std::isinf(number))
        return wrong_kind(from, path, "a number");
    number_range range = range_of(to.rules, to.type);
    const double largest = to.type.isFloat32() ? double{std::numeric_limits<float>::max()}
                                               : std::numeric_limits<double>::max();
    if (to.type.isFloat32() || parsed.ec != std::errc{})
        range = {std::max(range.min.value_or(-largest), -largest),
                 std::min(range.max.value_or(largest), largest)};
    if (parsed.ec != std::errc{} || (range.min && number < *range.min) ||
        (range.max && number > *range.max))
        return names_.fail(from.where, path,
                           "must be " + range_text(range) + ", not " + in_quotes(from.text));
    return value{number};
}

result<value> tree_reader::read_text(const node& from, target to, const std::string& path,
                                     std::string& storage) const {
    if (from.what != node::kind::scalar)
        return wrong_kind(from, path, "a text");
    if (from.text.empty())
        return names_.fail(from.where, path, "must not be empty");
    storage = from.text;
    if (to.rules.is_path) {
        auto whole = with_home(storage, names_.home);
        if (!whole)
            return names_.fail(from.where, path, whole.failure().message());
        storage = std::move(*whole);
    }
    if (to.rules.is_path && from.where.setting < 0 && std::filesystem::path{storage}.is_relative())
        storage = (std::filesystem::path{names_.files[static_cast<std::size_t>(from.where.file)]}
                       .parent_path() /
                   storage)
                      .lexically_normal()
                      .string();
    if (storage.size() > limits::path_bytes_max)
        return names_.fail(from.where, path,
                           "longer than " + std::to_string(limits::path_bytes_max) + " bytes");
    if (!is_one_line(from.text))
        return names_.fail(from.where, path,
                           "must not contain line breaks or other control characters");
    return value{capnp::Text::Reader{storage.c_str(), storage.size()}};
}

result<value> tree_reader::read_enum(const node& from, target to, const std::string& path) const {
    std::vector<std::string> keys;
    for (const word& w : words_of(to.type.asEnum())) {
        if (from.what == node::kind::scalar && from.text == w.key)
            return value{capnp::DynamicEnum{w.enumerant}};
        keys.push_back(w.key);
    }
    if (from.what != node::kind::scalar)
        return wrong_kind(from, path, alternatives(keys));
    return names_.fail(from.where, path,
                       "unknown word " + in_quotes(from.text) + "; " +
                           hint(words_, from.text, keys));
}

} // namespace troupe::app_file
