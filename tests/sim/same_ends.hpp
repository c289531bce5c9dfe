// Runs of a program on simulated nodes that end as a run which nothing befalls: with the same files and the same numbers of
// all sweeps.
//
//     const same_ends<lasso_shape> runs{{sim_shape, settings_of, {"coefficients.npy", "path.csv"}}};
//     losses += runs.check(seed, shape, true) > 0;
//
// `Shape` is what the runs of a test differ by, in an order.
#pragma once

#include <boost/test/unit_test.hpp>

#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "schemas/base/random.hpp"
#include "tests/sim/program_sim.hpp"
#include "tests/support/temporary_folder.hpp"

namespace troupe::test {

struct end_of_run {
    std::string files; // one behind the other
    std::vector<double> milestones;
    std::uint64_t messages = 0; // that a run needs
};

inline end_of_run end_of(program_sim& run, const temporary_folder& folder,
                         const std::vector<std::string>& files) {
    const run_finished& outcome = run.to_the_end();
    BOOST_REQUIRE_MESSAGE(!outcome.failure, (outcome.failure ? outcome.failure->message() : ""));
    end_of_run end;
    for (const std::string& name : files) {
        std::ifstream in{folder.path() / name, std::ios::binary};
        end.files.append(std::istreambuf_iterator<char>{in}, {});
    }
    BOOST_REQUIRE(!end.files.empty());
    for (const run_milestone& m : run.news().milestones)
        for (const named_number& n : m.numbers)
            end.milestones.push_back(n.value);
    return end;
}

template <class Shape>
class same_ends {
  public:
    struct options {
        std::function<program_sim_shape(const Shape&, const temporary_folder& result)> shape;
        std::function<std::function<void(proto::ProgramApp::Builder)>(const Shape&)> settings;
        std::vector<std::string> files; // of the result
    };
    explicit same_ends(options of) : of_{std::move(of)} {}

    // Of a run in a storm, in which a node is killed at a random message if `with_loss`. The number of notes on losses.
    std::size_t check(std::uint64_t seed, const Shape& s, bool with_loss) {
        const end_of_run& expected = undisturbed(s);
        const temporary_folder folder;
        program_sim run{seed, of_.shape(s, folder), of_.settings(s)};
        if (with_loss) {
            random_stream random{seed};
            const std::uint64_t until =
                run.sim().messages_handled() + random.below(expected.messages);
            run.sim().run_until(
                [&] {
                    return run.sim().messages_handled() >= until || run.news().outcome.has_value();
                },
                std::chrono::minutes{60});
            run.kill(seed % run.nodes());
        }
        const end_of_run end = end_of(run, folder, of_.files);
        BOOST_TEST((end.files == expected.files));
        BOOST_TEST(end.milestones == expected.milestones, boost::test_tools::per_element());
        return run.news().notes.size();
    }

  private:
    const end_of_run& undisturbed(const Shape& s) {
        end_of_run& end = known_[s];
        if (end.files.empty()) {
            const temporary_folder folder;
            program_sim_shape shape = of_.shape(s, folder);
            shape.is_stormy = false;
            program_sim run{1, std::move(shape), of_.settings(s)};
            const std::uint64_t before = run.sim().messages_handled();
            end = end_of(run, folder, of_.files);
            end.messages = run.sim().messages_handled() - before;
        }
        return end;
    }

    const options of_;
    std::map<Shape, end_of_run> known_;
};

} // namespace troupe::test
