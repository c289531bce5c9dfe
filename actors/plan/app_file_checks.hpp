// What an app file must satisfy beyond its schema. Internal to the app file loader.
#pragma once

#include "actors/plan/app_file.hpp"

namespace troupe::app_file {

result<void> check_meaning(const app_definition& definition);

// A key whose value changes nothing beside the others.
struct idle_key {
    std::string path;
    std::string why;
};
std::vector<idle_key> idle_keys(proto::App::Reader app);

} // namespace troupe::app_file
