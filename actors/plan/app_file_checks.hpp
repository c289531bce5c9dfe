// What an app file must satisfy beyond its schema. Internal to the app file loader.
#pragma once

#include "actors/plan/app_file.hpp"
#include "schemas/base/quantities.hpp"

namespace troupe::app_file {

result<void> check_meaning(const app_definition& definition);

// How replicas agree.
result<void> check_sync(const app_definition& definition);
result<void> check_peers(const app_definition& definition); // of that what is said of peers
// How many `stages: auto` come to is known on the devices.
bool may_have_several_stages(proto::Topology::Reader topology);

// As app_definition::check_training.
result<void> check_training(const app_definition& definition,
                            std::optional<std::uint64_t> train_samples);

// As app_definition::check_causal.
result<void> check_causal(const app_definition& definition);

// A key whose value changes nothing beside the others, or is hardly meant.
struct doubtful_key {
    std::string path;
    std::string why;
};
std::vector<doubtful_key> doubtful_keys(proto::App::Reader app,
                                        std::optional<std::uint64_t> train_samples);

} // namespace troupe::app_file
