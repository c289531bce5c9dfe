#include "actors/app_file/value_ranges.hpp"

#include "actors/app_file/schema.hpp"

namespace troupe {

result<void> check_ranges(capnp::DynamicStruct::Reader value) {
    for (const app_file::field_rules& rules : app_file::rules_of(value.getSchema()).fields) {
        if (!value.has(rules.field))
            continue;
        const auto field = value.get(rules.field);
        if (rules.type().isStruct()) {
            if (auto fits = check_ranges(field.as<capnp::DynamicStruct>()); !fits)
                return fits.failure().in(rules.key);
        } else if (app_file::is_number(rules.type())) {
            const auto range = app_file::range_of(rules, rules.type());
            const auto number = field.as<double>();
            // Written so that a NaN is out of every range.
            if (!(number >= range.min.value_or(number)) || !(number <= range.max.value_or(number)))
                return error{errc::protocol, rules.key + " must be " + app_file::range_text(range) +
                                                 ", not " + app_file::number_text(number)};
        }
    }
    return {};
}

} // namespace troupe
