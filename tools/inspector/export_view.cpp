// export: the traces of all nodes as one file for Chrome's and Perfetto's viewers.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include <unistd.h>

#include "tools/inspector/chrome_trace.hpp"
#include "tools/inspector/printable.hpp"
#include "tools/inspector/records.hpp"
#include "tools/inspector/views.hpp"

namespace troupe::inspector {

namespace {

constexpr duration poll = std::chrono::milliseconds{20};
constexpr std::uint64_t large_file_bytes = 200'000'000; // more than viewers read with ease

// The error of a call on the file `name`; errno has the reason.
error failed(const std::string& name, const char* what) {
    return {errc::io, printable(name, 512) + " " + what + ": " + std::strerror(errno)};
}

// A file that appears under its name when it is whole, or not at all.
class whole_file {
  public:
    explicit whole_file(std::string name) : name_{std::move(name)}, part_{name_ + ".part"} {}
    whole_file(const whole_file&) = delete;
    whole_file& operator=(const whole_file&) = delete;
    ~whole_file() {
        stream_.close();
        if (opened_ && !kept_)
            std::remove(part_.c_str());
    }

    result<void> open() {
        if (auto replaceable = check_trace_file(name_); !replaceable)
            return replaceable;
        stream_.open(part_, std::ios::binary | std::ios::trunc);
        opened_ = stream_.is_open();
        return opened_ ? result<void>{} : failed(name_, "cannot be written");
    }

    result<void> keep() {
        stream_.close();
        if (stream_.fail())
            return error{errc::io,
                         printable(name_, 512) + " could not be written whole; is the disk full?"};
        kept_ = std::rename(part_.c_str(), name_.c_str()) == 0;
        return kept_ ? result<void>{} : failed(name_, "cannot be put in its place");
    }

    std::ostream& stream() { return stream_; }

  private:
    std::string name_;
    std::string part_;
    std::ofstream stream_;
    bool opened_ = false;
    bool kept_ = false;
};

using page_list = std::vector<std::pair<node_id, trace_page>>;

class exporter {
  public:
    explicit exporter(view_context& view)
        : view_{view}, nodes_{view.cluster.nodes()}, reader_{view.cluster, {}},
          file_{view.options.file} {}

    result<void> run() {
        if (auto opened = file_.open(); !opened)
            return opened;
        auto recorded = view_.options.seconds > duration{} ? record_live() : record_held();
        if (!recorded)
            return recorded;
        const chrome_counts counts = trace_->finish();
        if (auto kept = file_.keep(); !kept)
            return kept;
        report(counts);
        return {};
    }

  private:
    // Records the events that the nodes hold at this moment.
    result<void> record_held() {
        page_list held;
        std::int64_t began = std::numeric_limits<std::int64_t>::max();
        const time_point now = view_.cluster.view().time().now();
        const auto read = reader_.read([&](const linked_node& node, const trace_page& page) {
            for (const trace_event& e : page.events)
                began = std::min(began, e.started_ns - node.clock.offset_ns);
            held.emplace_back(node.id, page);
        });
        if (!read)
            return read.failure();
        begin(held.empty() ? 0 : began);
        trace_->stop_at(now.ns);
        for (const auto& [node, page] : held)
            add(node, page);
        return check_stream();
    }

    // Records the events from now on.
    result<void> record_live() {
        const auto skip = [](const linked_node&, const trace_page&) {};
        if (auto read = reader_.read(skip); !read)
            return read;
        const observer& view = view_.cluster.view();
        const time_point start = view.time().now();
        begin(start.ns);
        for (bool last = false; !last;) {
            last = !view_.cluster.view().rest(poll) ||
                   view.time().now() - start >= view_.options.seconds;
            if (last)
                trace_->stop_at(view.time().now().ns);
            const auto read = reader_.read(
                [&](const linked_node& node, const trace_page& page) { add(node.id, page); });
            if (!read && read.failure().code() != errc::cancelled)
                return read; // the cluster was lost; a part of a trace is not what was asked for
            if (auto written = check_stream(); !written)
                return written;
            last = last || !read;
        }
        return {};
    }

    // The nodes come first: the clock of each is needed for the messages that it sent to the others.
    void begin(std::int64_t began_ns) {
        trace_.emplace(file_.stream(), began_ns);
        for (const linked_node& node : nodes_)
            trace_->add_node(node.id, node.name, node.clock);
    }

    void add(node_id node, const trace_page& page) {
        trace_->add(node, page, view_.cluster.names());
    }

    result<void> check_stream() {
        if (file_.stream().good())
            return {};
        return error{errc::io, printable(view_.options.file, 512) +
                                   " could not be written; is the disk full?"};
    }

    void report(const chrome_counts& counts) {
        const std::string file = printable(view_.options.file, 512);
        if (view_.options.json)
            view_.out << export_record(view_.options.file, trace_->bytes_written(), counts)
                      << std::endl;
        else
            view_.out << file << ": " << count_text(counts.slices, "slice", "slices") << ", "
                      << count_text(counts.arrows, "arrow", "arrows") << ", "
                      << bytes_text(trace_->bytes_written())
                      << "; open it in https://ui.perfetto.dev or chrome://tracing" << std::endl;
        if (counts.lost > 0)
            view_.note(count_text(counts.lost, "event was", "events were") +
                       " overwritten before they could be read, and are missing");
        if (counts.without_sender > 0)
            view_.note(count_text(counts.without_sender, "arrow", "arrows") +
                       " left out: the sending handler is not in the trace");
        if (counts.backwards > 0)
            view_.note(count_text(counts.backwards, "arrow", "arrows") +
                       " left out: the clocks of the nodes do not agree well enough");
        if (counts.invalid > 0)
            view_.note(count_text(counts.invalid, "event", "events") +
                       " left out: their times make no sense");
        if (trace_->bytes_written() > large_file_bytes)
            view_.note("the file is larger than viewers read with ease; a shorter --seconds makes "
                       "a smaller one");
    }

    view_context& view_;
    const std::vector<linked_node> nodes_;
    trace_reader reader_;
    whole_file file_;
    std::optional<chrome_trace> trace_;
};

} // namespace

result<void> check_trace_file(const std::string& name) {
    std::error_code ignored;
    const auto folder = std::filesystem::absolute(name, ignored).parent_path();
    if (::access(folder.c_str(), W_OK) != 0)
        return failed(name, "cannot be written");
    const auto there = std::filesystem::status(name, ignored);
    if (!std::filesystem::exists(there))
        return {};
    if (!std::filesystem::is_regular_file(there))
        return error{errc::io, printable(name, 512) + " is no ordinary file"};
    std::ifstream old{name, std::ios::binary};
    std::string begins(trace_begins.size(), '\0');
    old.read(begins.data(), static_cast<std::streamsize>(begins.size()));
    if (old.gcount() > 0 && begins != trace_begins)
        return error{errc::io, printable(name, 512) +
                                   " is there and is no trace; give another name, or delete it"};
    return {};
}

result<void> export_trace(view_context& view) {
    return exporter{view}.run();
}

} // namespace troupe::inspector
