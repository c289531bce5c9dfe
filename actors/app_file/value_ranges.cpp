#include "actors/app_file/value_ranges.hpp"

#include "actors/app_file/app_file.hpp"
#include "actors/app_file/open_union.hpp"
#include "actors/app_file/tree.hpp"

namespace troupe {

result<void> check_ranges(capnp::DynamicStruct::Reader value, app_members members) {
    const app_file::struct_rules all = app_file::rules_of(value.getSchema(), members);
    if (all.is_open && all.find(active_key(value)) == nullptr)
        return error{errc::protocol,
                     "this build knows no " + app_file::in_quotes(active_key(value))};
    for (const app_file::field_rules& rules : all.fields) {
        if (!app_file::has(value, rules))
            continue;
        const auto field = app_file::get(value, rules);
        if (rules.type().isStruct()) {
            if (auto fits = check_ranges(field.as<capnp::DynamicStruct>(), members); !fits)
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
