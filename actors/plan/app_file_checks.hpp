// What an app file must satisfy beyond its schema. Internal to the app file loader.
#pragma once

#include "actors/plan/app_file.hpp"

namespace troupe::app_file {

result<void> check_meaning(const app_definition& definition);

} // namespace troupe::app_file
