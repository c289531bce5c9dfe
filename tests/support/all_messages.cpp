#include "tests/support/all_messages.hpp"

#include "actors/collective/collective_messages.hpp"
#include "actors/params/params_messages.hpp"
#include "actors/peers/peers_messages.hpp"
#include "actors/pipeline/pipeline_messages.hpp"
#include "actors/run/run_messages.hpp"
#include "actors/scheduled/scheduled_messages.hpp"
#include "actors/training/training_messages.hpp"

namespace troupe::test {

std::shared_ptr<const message_catalog> all_messages() {
    static const auto all =
        catalog_of(collective_messages{}, params_messages{}, peers_messages{}, pipeline_messages{},
                   run_messages{}, scheduled::scheduled_messages{}, training_control_messages{});
    return all;
}

} // namespace troupe::test
