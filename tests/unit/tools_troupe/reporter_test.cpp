#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <sstream>

#include "actors/training/plan/plan.hpp"
#include "actors/training/training_report.hpp"
#include "tools/troupe/number_words.hpp"
#include "tools/troupe/reporter.hpp"

using namespace troupe;
using namespace troupe::cli;

namespace {

class given_time final : public time_source {
  public:
    time_point now() const noexcept override { return now_; }
    void pass(duration d) { now_ = now_ + d; }

  private:
    time_point now_{1'000'000'000'000};
};

struct printed {
    explicit printed(bool json, std::size_t columns)
        : shown{{.json = json,
                 .columns =
                     columns > 0 ? [columns] { return columns; } : std::function<std::size_t()>{},
                 .time = &time},
                out,
                talk} {
        shown.started({.milestone = "epoch", .milestones = 2, .plan_json = "{}"});
        print();
    }

    void print() {
        while (shown.print_next()) {
        }
    }

    // An epoch of `seconds` whose minibatches are done every half a second, without its end.
    void train(int seconds) {
        for (int half = 1; half <= 2 * seconds; ++half) {
            time.pass(std::chrono::milliseconds{500});
            shown.progressed(
                news_of(training_progress{.epoch = 0,
                                          .samples_done = static_cast<std::uint64_t>(half),
                                          .samples = 1000,
                                          .counted = static_cast<std::uint64_t>(half),
                                          .loss_sum = 1.0 * half,
                                          .correct = 0,
                                          .elapsed = std::chrono::milliseconds{500 * half}}));
            print();
        }
    }
    long lines() const { return std::ranges::count(talk.str(), '\n'); }

    given_time time;
    std::ostringstream out;
    std::ostringstream talk;
    reporter shown;
};

} // namespace

BOOST_AUTO_TEST_SUITE(reporting)

BOOST_AUTO_TEST_CASE(a_log_gets_a_line_of_progress_every_ten_seconds) {
    printed log{false, 0};
    log.train(35);
    BOOST_TEST(log.lines() == 3);
    BOOST_TEST(log.talk.str().starts_with(
        "epoch 1/2    2%  loss 1.0000  accuracy 0.0%  2 samples/s  990 s left\n"));
    BOOST_TEST((log.talk.str().find_first_of("\r\x1b") == std::string::npos));
}

BOOST_AUTO_TEST_CASE(a_log_gets_no_progress_beside_the_lines_of_short_epochs) {
    printed log{false, 0};
    for (std::uint32_t epoch = 0; epoch < 8; ++epoch) {
        log.train(6);
        log.shown.reached({.milestone = epoch});
        log.print();
    }
    BOOST_TEST(log.lines() == 0);
}

BOOST_AUTO_TEST_CASE(a_terminal_has_one_line_that_is_written_over_and_cleared) {
    printed terminal{false, 80};
    terminal.train(5);
    BOOST_TEST(terminal.lines() == 0);
    BOOST_TEST(std::ranges::count(terminal.talk.str(), '\r') == 10);
    terminal.shown.reached({});
    terminal.print();
    BOOST_TEST(terminal.talk.str().ends_with("\r\x1b[K"));
}

BOOST_AUTO_TEST_CASE(a_line_of_progress_is_cut_to_less_than_the_terminals_width) {
    for (const std::size_t columns : {1u, 20u, 40u, 200u}) {
        printed terminal{false, columns};
        terminal.train(5);
        const std::string last =
            terminal.talk.str().substr(terminal.talk.str().rfind("\x1b[K") + 3);
        BOOST_TEST(last.size() < columns);
        BOOST_TEST(last.ends_with("left") == (columns == 200));
    }
}

BOOST_AUTO_TEST_CASE(the_end_says_where_it_ran_and_what_was_saved) {
    given_time time;
    std::ostringstream out;
    reporter alone{{.transport = "in-process", .time = &time}, out, out};
    alone.finished(news_of(
        run_report{.epochs = {{.test_accuracy = 0.5}}, .checkpoint = "saved/epoch-0002"}, 0));
    BOOST_TEST(alone.print_next());
    BOOST_TEST(out.str() ==
               "done: in this process, test accuracy 50.00%, checkpoint saved/epoch-0002\n");
}

BOOST_AUTO_TEST_CASE(the_end_says_how_many_nodes_are_left) {
    const auto end = [](std::uint32_t at_end, bool is_json) {
        printed run{is_json, 0};
        run.shown.started({.nodes = 3, .milestone = "sweep"});
        run.shown.finished(
            {.json = at_end > 0 ? "{\"nodes\": " + std::to_string(at_end) + "}" : ""});
        run.print();
        const std::string all = run.out.str();
        return all.substr(all.rfind(is_json ? "{" : "done", all.size() - 2));
    };
    BOOST_TEST(end(0, false).starts_with("done: 3 nodes\n"));
    BOOST_TEST(end(3, false).starts_with("done: 3 nodes\n"));
    BOOST_TEST(end(2, false).starts_with("done: 2 of 3 nodes\n"));
    BOOST_TEST(end(2, true).find("\"nodes\":2") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(replicas_that_were_lost_are_counted_at_the_end_and_say_no_figures) {
    run_report report;
    for (const std::uint32_t replica : {0u, 1u, 2u})
        report.stages.push_back({.replica = replica, .stage = 0, .lags = {7}, .lost = replica > 0});
    printed run{false, 0};
    run.shown.finished(news_of(report, 0));
    run.print();
    const std::string words = run.out.str();
    BOOST_TEST(words.find(", 2 replicas lost on the way\n") != std::string::npos, words);
    BOOST_TEST(words.find("  stage 0 of replica 1: lost\n") != std::string::npos, words);
    BOOST_TEST(words.find("stage 0 of replica 0: busy 0%, minibatches late in weight versions: "
                          "none of 7;") != std::string::npos,
               words);
    printed objects{true, 0};
    objects.shown.finished(news_of(report, 0));
    objects.print();
    const std::string json = objects.out.str();
    BOOST_TEST(json.find("\"replica\":0,\"lost\":false") != std::string::npos, json);
    BOOST_TEST(json.find("\"replica\":2,\"lost\":true") != std::string::npos, json);
}

BOOST_AUTO_TEST_CASE(a_loss_that_has_not_fallen_is_noted_at_the_end) {
    const auto noted = [](std::vector<epoch_report> epochs, bool json = false) {
        std::ostringstream out;
        std::ostringstream talk;
        reporter shown{{.json = json}, out, talk};
        shown.finished(news_of(run_report{.epochs = std::move(epochs)}, 10));
        while (shown.print_next()) {
        }
        return talk.str();
    };
    const epoch_report good{.train_loss = 0.5, .test_loss = 0.6};
    const epoch_report worse{.epoch = 3, .train_loss = 0.7, .test_loss = 0.8};
    const epoch_report guess{.epoch = 3, .train_loss = 2.31, .test_loss = 2.304};
    BOOST_TEST(noted({}) == "");
    BOOST_TEST(noted({good}) == "");
    BOOST_TEST(noted({worse, good}) == "");
    BOOST_TEST(noted({{.train_loss = 2.4, .test_loss = 0.6}}) == "");
    BOOST_TEST(noted({{.train_loss = 0.1, .test_loss = 2.4}}) == "");
    BOOST_TEST(
        noted({good, worse}) ==
        "troupe: note: the training loss has not fallen: 0.5000 in epoch 1, 0.7000 in epoch "
        "4; try another learning_rate (train.optimizer), most often a lower one, or more epochs\n");
    BOOST_TEST(noted({guess}).starts_with("troupe: note: the loss ends at 2.3040, no better than a "
                                          "guess among 10 classes (2.3026); "));
    BOOST_TEST(noted({good, guess}).find("a guess among") != std::string::npos);
    BOOST_TEST(noted({guess}, true) == "");
    // A loss of nothing does not fall.
    BOOST_TEST(noted({{.train_loss = 1e-5, .test_loss = 0}, {.epoch = 1, .train_loss = 2e-5}}) ==
               "");
}

BOOST_AUTO_TEST_CASE(a_start_has_the_notes_of_a_plan_behind_those_before_it) {
    const plan_device gpu{.device = "cuda:0", .memory_bytes = 9};
    planned_stage stage;
    stage.where = {gpu};
    stage.needs.weight_bytes = 10;
    plan p;
    p.stages = {stage};
    const auto started = [&](bool json) {
        std::ostringstream out, talk;
        given_time time;
        reporter shown{{.json = json, .notes = {"\xff and more"}, .time = &time}, out, talk};
        shown.started(news_of(p, 1, {}, true));
        while (shown.print_next()) {
        }
        return std::pair{out.str(), talk.str()};
    };
    const std::string note = "/cuda:0 may not hold what its stages keep: 10 B of weights and "
                             "gradients, 0 B of activations; its bound is 9 B: use a larger bound "
                             "(troupe node --gpu-memory-mb)";
    const auto [json, nothing] = started(true);
    BOOST_TEST(json.ends_with(",\"notes\":[\"\xef\xbf\xbd and more\",\"" + note + "\"]}\n"), json);
    BOOST_TEST(nothing == "");
    const auto [text, talk] = started(false);
    BOOST_TEST(text.find("note") == std::string::npos, text);
    BOOST_TEST(talk == "troupe: note: " + note + "\n");
}

BOOST_AUTO_TEST_CASE(a_run_of_which_nothing_comes_is_noted_once_and_by_its_own_pace) {
    printed log{false, 0};
    const auto notes_after = [&](int seconds) {
        for (int second = 0; second < seconds; ++second) {
            log.time.pass(std::chrono::seconds{1});
            log.shown.notice_silence();
        }
        log.print();
        const std::string all = log.talk.str();
        std::size_t count = 0;
        for (std::size_t at = 0; (at = all.find("nothing has been done for", at)) != all.npos; ++at)
            ++count;
        return count;
    };
    BOOST_TEST(notes_after(9) == 0u);
    BOOST_TEST(notes_after(1) == 1u);
    BOOST_TEST(notes_after(4) == 1u);
    log.shown.progressed({.done = 1, .pieces = 2, .piece = "samples"}); // after 14 s
    BOOST_TEST(notes_after(69) == 1u);
    BOOST_TEST(notes_after(1) == 2u);
    BOOST_TEST(log.talk.str().find("nothing has been done for 70 s; see what it waits for with: "
                                   "troupe inspect ") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_process_that_was_stopped_notes_no_silence) {
    printed log{false, 0};
    log.shown.notice_silence();
    log.time.pass(std::chrono::hours{8});
    log.shown.notice_silence();
    log.time.pass(std::chrono::hours{8});
    log.shown.progressed(
        {.done = 1, .pieces = 2, .piece = "samples"}); // heard before anybody looks
    log.print();
    BOOST_TEST(log.talk.str().find("note") == std::string::npos, log.talk.str());
    for (int second = 0; second < 12; ++second) {
        log.time.pass(std::chrono::seconds{1});
        log.shown.notice_silence();
    }
    log.print();
    BOOST_TEST(log.talk.str().find("nothing has been done for 10 s") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(names_have_blanks_for_people_and_none_in_json) {
    const std::vector<named_number> numbers{{"training rmse", 0.5, proto::NumberStyle::PRECISE},
                                            {"log_loss", 2, proto::NumberStyle::PRECISE}};
    BOOST_TEST(words_of(numbers[0], "%f") == "training rmse 0.5");
    BOOST_TEST(words_of(numbers[1], "%f") == "log loss 2");
    json line;
    add_numbers(line, numbers);
    BOOST_TEST(line.dump() == R"({"training_rmse":0.5,"log_loss":2.0})");
}

BOOST_AUTO_TEST_CASE(json_has_objects_for_start_epoch_and_done_alone) {
    printed json{true, 0};
    json.train(60);
    json.shown.reached({});
    json.shown.finished({});
    json.print();
    BOOST_TEST(json.talk.str().empty());
    BOOST_TEST(std::ranges::count(json.out.str(), '\n') == 3);
}

BOOST_AUTO_TEST_CASE(a_line_ends_the_wait_for_news_once) {
    printed run{true, 0};
    const auto waited = [&](duration patience) {
        const auto begin = std::chrono::steady_clock::now();
        BOOST_TEST(!run.shown.wait_for_news(patience).has_value());
        return std::chrono::steady_clock::now() - begin;
    };
    constexpr duration long_time = std::chrono::seconds{60},
                       short_time = std::chrono::milliseconds{20};
    BOOST_TEST((waited(long_time) < long_time)); // that of the start
    run.shown.reached({.milestone = 0});
    BOOST_TEST((waited(long_time) < long_time));
    BOOST_TEST((waited(short_time) >= short_time)); // although nobody has printed it
}

BOOST_AUTO_TEST_CASE(who_reports_prints_nothing_and_the_owner_all_of_it_in_order_and_once) {
    printed run{true, 0};
    const std::string started = run.out.str();
    for (std::uint32_t epoch = 0; epoch < 3; ++epoch)
        run.shown.reached({.milestone = epoch});
    run.shown.finished({.failure = error{errc::lost, "node b is lost"}});
    BOOST_TEST(run.out.str() == started);
    BOOST_TEST(run.shown.wait_for_news({}).has_value());
    run.print();
    std::istringstream lines{run.out.str().substr(started.size())};
    for (const char* part : {"\"epoch\":1", "\"epoch\":2", "\"epoch\":3", "node b is lost"}) {
        std::string line;
        std::getline(lines, line);
        BOOST_TEST(line.find(part) != std::string::npos, line << " has " << part);
    }
    BOOST_TEST(lines.peek() == std::istringstream::traits_type::eof());
}

BOOST_AUTO_TEST_CASE(progress_that_nobody_has_seen_gives_way_to_newer) {
    printed log{false, 0};
    for (std::uint64_t done : {10, 20, 30}) {
        log.time.pass(std::chrono::seconds{11});
        log.shown.progressed({.done = done, .pieces = 100, .piece = "samples"});
    }
    log.print();
    BOOST_TEST(log.lines() == 1);
    BOOST_TEST(log.talk.str().starts_with("epoch 1/2   30%"));
}

BOOST_AUTO_TEST_SUITE_END()
