#include "actors/app_file/open_union.hpp"

#include "actors/app_file/app_file.hpp"

namespace troupe {

namespace app_file {

namespace {

std::string_view name_in(capnp::DynamicStruct::Reader open) {
    const auto name = open.get("name").as<capnp::Text>();
    return {name.begin(), name.size()};
}

} // namespace

bool is_active(capnp::DynamicStruct::Reader from, const field_rules& member) {
    if (member.settings)
        return name_in(from) == member.key;
    KJ_IF_MAYBE (active, from.which()) {
        return *active == member.field;
    }
    return false;
}

bool has(capnp::DynamicStruct::Reader from, const field_rules& field) {
    return field.settings ? is_active(from, field) : from.has(field.field);
}

capnp::DynamicValue::Reader get(capnp::DynamicStruct::Reader from, const field_rules& field) {
    const auto value = from.get(field.field);
    if (!field.settings)
        return value;
    return value.as<capnp::AnyPointer>().getAs<capnp::DynamicStruct>(*field.settings);
}

capnp::DynamicStruct::Builder init_struct(capnp::DynamicStruct::Builder into,
                                          const field_rules& field) {
    if (!field.settings)
        return into.init(field.field).as<capnp::DynamicStruct>();
    into.set("name", capnp::Text::Reader{field.key.c_str(), field.key.size()});
    return into.get(field.field)
        .as<capnp::AnyPointer>()
        .initAs<capnp::DynamicStruct>(*field.settings);
}

} // namespace app_file

std::string active_key(capnp::DynamicStruct::Reader of) {
    if (app_file::is_open(of.getSchema()))
        return std::string{app_file::name_in(of)};
    KJ_IF_MAYBE (active, of.which()) {
        return app_file::snake_case(active->getProto().getName().cStr());
    }
    TROUPE_CHECK(false, "the struct has a union, with a member that this build knows");
}

capnp::DynamicStruct::Reader open_settings(capnp::DynamicStruct::Reader of, app_members members) {
    const app_file::struct_rules rules = app_file::rules_of(of.getSchema(), members);
    const app_file::field_rules* const member = rules.find(active_key(of));
    TROUPE_CHECK(rules.is_open && member != nullptr, "the open union has one of these members");
    return app_file::get(of, *member).as<capnp::DynamicStruct>();
}

} // namespace troupe
