// The checks of an app file beyond its schema. Internal to training_app.
#pragma once

#include "actors/training/plan/training_app.hpp"
#include "schemas/base/quantities.hpp"

namespace troupe::app_file {

result<void> check_meaning(const training_app& definition);

// Checks of topology.sync, the way in which replicas agree.
result<void> check_sync(const training_app& definition);
result<void> check_peers(const training_app& definition); // the part for peers
// Returns true for `stages: auto`, too, whose number depends on the devices.
bool may_have_several_stages(proto::Topology::Reader topology);

// The same as training_app::check_training.
result<void> check_training(const training_app& definition,
                            std::optional<std::uint64_t> train_samples);

// The same as training_app::check_causal.
result<void> check_causal(const training_app& definition);

// A key whose value has no effect beside the other keys, or is hardly intended.
struct doubtful_key {
    std::string path;
    std::string why;
};
// Notes on what elastic averaging needs to be stable, and to be more than replicas on their own.
void add_doubtful_elastic(proto::App::Reader app, std::uint64_t train_samples,
                          std::vector<doubtful_key>& keys);
std::vector<doubtful_key> doubtful_keys(proto::App::Reader app,
                                        std::optional<std::uint64_t> train_samples);

} // namespace troupe::app_file
