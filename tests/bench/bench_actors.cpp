// What a message between two actors of one node costs, building the message included.
//
//     bench_actors [MESSAGES] [REPETITIONS] [THREADS]      defaults: 1000000 5 1
//
// Prints nanoseconds per message, by the clock and as processor time: one way (a sender that keeps at most 256 messages
// ahead of the receiver) and ping-pong (one message at a time), each with tracing on and off; and one way between a pair
// of actors per thread, while nobody looks (pairs) and while an inspector looks into every message for a field that none
// has (tailed). Processor time is the figure to look at on a machine that does other things too; with more than one thread
// it contains idle workers.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <future>
#include <vector>

#include "actors/runtime/actor.hpp"
#include "actors/runtime/inspector_agent.hpp"
#include "schemas/probe.capnp.h"
#include "schemas/trace.capnp.h"

using namespace troupe;

namespace {

frame_builder<proto::Probe> probe(std::uint64_t number) {
    frame_builder<proto::Probe> b;
    b.body().setNumber(number);
    b.envelope().setWork(number);
    return b;
}

// Answers every message, or only every `window`th.
class echo_actor final : public actor {
  public:
    echo_actor(actor_context& context, std::uint64_t window) : actor{context}, window_{window} {
        on<proto::Probe>(&echo_actor::take);
    }

  private:
    void take(proto::Probe::Reader body, const frame& f) {
        if (++taken_ % window_ == 0)
            send(f.from(), probe(body.getNumber()));
    }
    std::uint64_t window_;
    std::uint64_t taken_ = 0;
};

// Sends `messages`, half a window whenever the echo has answered for one.
class source_actor final : public actor {
  public:
    source_actor(actor_context& context, actor_address echo, std::uint64_t messages,
                 std::uint64_t window, std::promise<void>& done)
        : actor{context}, echo_{echo}, messages_{messages}, burst_{window}, done_{done} {
        on<proto::Probe>(&source_actor::take);
    }

  private:
    void on_start() override {
        burst();
        if (burst_ > 1)
            burst();
    }
    void take(proto::Probe::Reader, const frame&) {
        if (sent_ < messages_)
            burst();
        else if (++answers_after_end_ == (burst_ > 1 ? 2u : 1u))
            done_.set_value();
    }
    void burst() {
        for (std::uint64_t i = 0; i < burst_; ++i)
            send(echo_, probe(sent_++));
    }

    actor_address echo_;
    std::uint64_t messages_, burst_, sent_ = 0, answers_after_end_ = 0;
    std::promise<void>& done_;
};

// Opens a tail that nothing matches, though every message has to be looked into.
class tail_actor final : public actor {
  public:
    tail_actor(actor_context& context, std::promise<void>& opened)
        : actor{context}, opened_{opened} {
        on<proto::TailOpened>(&tail_actor::take);
    }

  private:
    void on_start() override {
        frame_builder<proto::OpenTail> open;
        auto field = open.body().initFilter().initFields(1)[0];
        field.setPath("number");
        field.setValue("none");
        send({self().node, well_known::inspector}, std::move(open));
    }
    void take(proto::TailOpened::Reader, const frame&) { opened_.set_value(); }
    std::promise<void>& opened_;
};

struct figure {
    double elapsed_ns = 0;
    double processor_ns = 0;
};

struct workload {
    const char* name;
    std::uint64_t messages;
    std::uint64_t window;
    std::size_t threads;
    bool tracing;
    std::size_t pairs = 1; // of sender and receiver; `messages` each
    bool tailed = false;
};

// Per message handled: one way counts the stream, ping-pong both directions.
figure measure(const workload& w) {
    const monotonic_time time;
    thread_timers timers;
    std::vector<std::promise<void>> done(w.pairs);
    node_runtime node{{.node = node_id{1},
                       .name = "bench",
                       .time = &time,
                       .timers = &timers,
                       .threads = w.threads,
                       .tracing = w.tracing}};
    if (w.tailed) {
        std::promise<void> opened;
        node.spawn_as<inspector_agent>(well_known::inspector, "inspector");
        node.spawn<tail_actor>("tail", opened);
        opened.get_future().wait();
    }
    std::vector<actor_address> echoes;
    for (std::size_t i = 0; i < w.pairs; ++i)
        echoes.push_back(node.spawn<echo_actor>("echo", w.window));
    const time_point start = time.now();
    const std::clock_t processor_start = std::clock();
    for (std::size_t i = 0; i < w.pairs; ++i)
        node.spawn<source_actor>("source", echoes[i], w.messages, w.window, done[i]);
    for (auto& d : done)
        d.get_future().wait();
    const double processor_ns =
        1e9 * static_cast<double>(std::clock() - processor_start) / CLOCKS_PER_SEC;
    const auto elapsed_ns = static_cast<double>((time.now() - start).count());
    node.stop();
    const auto handled =
        static_cast<double>((w.window > 1 ? w.messages : 2 * w.messages) * w.pairs);
    return {elapsed_ns / handled, processor_ns / handled};
}

void print(const char* what, std::vector<double> values) {
    std::sort(values.begin(), values.end());
    std::printf("  %s: best %.0f median %.0f worst %.0f", what, values.front(),
                values[values.size() / 2], values.back());
}

void report(const workload& w, int repetitions) {
    std::vector<double> elapsed, processor;
    for (int i = 0; i < repetitions; ++i) {
        const figure f = measure(w);
        elapsed.push_back(f.elapsed_ns);
        processor.push_back(f.processor_ns);
    }
    std::printf("%-10s tracing %-3s", w.name, w.tracing ? "on" : "off");
    print("clock", elapsed);
    print("processor", processor);
    std::printf("\n");
    std::fflush(stdout);
}

} // namespace

int main(int argc, char** argv) {
    const std::uint64_t messages = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1000000;
    const int repetitions = argc > 2 ? std::atoi(argv[2]) : 5;
    const std::size_t threads = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
    std::printf("nanoseconds per message, building it included; %llu messages, %d repetitions, %zu "
                "threads\n",
                static_cast<unsigned long long>(messages), repetitions, threads);
    for (const bool tracing : {true, false}) {
        report({"one way", messages, 128, threads, tracing}, repetitions);
        report({"ping-pong", messages / 2, 1, threads, tracing}, repetitions);
    }
    for (const bool tailed : {false, true})
        report(
            {tailed ? "tailed" : "pairs", messages / threads, 128, threads, true, threads, tailed},
            repetitions);
}
