#include "tests/support/saved_weights.hpp"

#include <boost/test/unit_test.hpp>

#include <cstring>
#include <string>

#include "actors/checkpoint/checkpoint_store.hpp"
#include "kernels/graph/stage_program.hpp"

namespace troupe::test {

void check_weights(const std::filesystem::path& folder, std::span<const weights_ptr> expected,
                   const std::vector<std::size_t>& layers, proto::Model::Reader model) {
    const auto infos = list_checkpoints(folder).value();
    BOOST_REQUIRE(!infos.empty());
    const loaded_checkpoint saved = load_checkpoint(infos.back()).value();
    std::size_t first = 0;
    for (std::size_t s = 0; s < layers.size(); ++s) {
        const auto program = stage_program::create(model, {first, layers[s]}).value();
        first += layers[s];
        const auto check = [&](const std::string& name, const tensor& e) {
            const named_tensor* t = saved.find(name);
            BOOST_REQUIRE_MESSAGE(t != nullptr, name << " is not saved");
            BOOST_REQUIRE(t->bytes.size() == e.bytes());
            BOOST_TEST(std::memcmp(t->bytes.data(), e.data(), e.bytes()) == 0,
                       name << " differs from the sequential program's");
        };
        for (std::size_t p = 0; p < program.parameters().size(); ++p)
            check(program.parameters()[p].name, expected[s]->parameters[p]);
        for (std::size_t a = 0; a < program.averages().size(); ++a)
            check(program.averages()[a].name, expected[s]->averages[a]);
    }
}

} // namespace troupe::test
