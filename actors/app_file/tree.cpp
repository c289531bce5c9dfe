#include "actors/app_file/tree.hpp"

#include <algorithm>
#include <optional>
#include <sstream>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "schemas/base/limits.hpp"
#include "schemas/base/printable.hpp"

namespace troupe::app_file {

namespace {

// Leaves yaml-cpp, which knows no other way to stop its parser.
struct refused {
    place where;
    std::string sentence;
};

class tree_builder final : public YAML::EventHandler {
  public:
    explicit tree_builder(const place& start) : start_{start} { root_.where = start; }

    node take() { return std::move(root_); }

    void OnDocumentStart(const YAML::Mark& mark) override {
        if (++documents_ > 1)
            throw refused{at(mark),
                          "a second YAML document starts here; an app file is one document"};
    }
    void OnDocumentEnd() override {}

    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        refuse_extras(mark, anchor, "?");
        add(mark, node::kind::null);
    }
    void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
        throw refused{at(mark), "aliases (*name) are not allowed; write the value out"};
    }
    void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  const std::string& value) override {
        refuse_extras(mark, anchor, tag);
        if (is_key()) {
            key_ = entry{value, at(mark), {}};
            return;
        }
        node& n = add(mark, node::kind::scalar);
        n.text = value;
        n.quoted = tag == "!";
    }
    void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                         YAML::EmitterStyle::value) override {
        open(mark, tag, anchor, node::kind::list);
    }
    void OnSequenceEnd() override { open_.pop_back(); }
    void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                    YAML::EmitterStyle::value) override {
        open(mark, tag, anchor, node::kind::map);
    }
    void OnMapEnd() override { open_.pop_back(); }

  private:
    place at(const YAML::Mark& mark) const {
        return {start_.setting, mark.line + 1, mark.column + 1, start_.file};
    }

    bool is_key() const {
        return !open_.empty() && open_.back()->what == node::kind::map && !key_.has_value();
    }

    void refuse_extras(const YAML::Mark& mark, YAML::anchor_t anchor,
                       const std::string& tag) const {
        if (anchor != 0)
            throw refused{at(mark), "anchors (&name) are not allowed; write the value out"};
        if (tag != "?" && tag != "!" && !tag.empty())
            throw refused{at(mark), "tags (!name) are not allowed"};
    }

    void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
              node::kind what) {
        refuse_extras(mark, anchor, tag);
        if (open_.size() == limits::app_file_depth_max)
            throw refused{at(mark), "more than " + std::to_string(limits::app_file_depth_max) +
                                        " lists and maps inside each other, which is deeper than "
                                        "blocks of layers may stand in blocks"};
        // A parent's vector does not grow while a child is open, so the pointers on the stack stay valid.
        open_.push_back(&add(mark, what));
    }

    // A new value in the place that is next: the root, an item of a list or the value of a key.
    node& add(const YAML::Mark& mark, node::kind what) {
        if (is_key())
            throw refused{at(mark), "a key must be a word"};
        node* target = &root_;
        if (!open_.empty() && open_.back()->what == node::kind::list) {
            target = &open_.back()->items.emplace_back();
        } else if (!open_.empty()) {
            target = &open_.back()->entries.emplace_back(std::move(*key_)).value;
            key_.reset();
        }
        target->what = what;
        target->where = at(mark);
        return *target;
    }

    place start_;
    node root_;
    std::vector<node*> open_;
    std::optional<entry> key_; // read, and waiting for its value
    int documents_ = 0;
};

// The first byte that is no part of printable UTF-8 text, as a place; nothing if all is well. yaml-cpp replaces such
// bytes silently.
std::optional<place> find_bad_byte(std::string_view text, const place& start) {
    place p{start.setting, 1, 1};
    for (std::size_t i = 0; i < text.size(); ++p.column) {
        const auto lead = static_cast<unsigned char>(text[i]);
        const std::size_t length = lead < 0x80   ? 1
                                   : lead < 0xc2 ? 0
                                   : lead < 0xe0 ? 2
                                   : lead < 0xf0 ? 3
                                   : lead < 0xf5 ? 4
                                                 : 0;
        if (length == 0 || i + length > text.size() || lead == 0x7f ||
            (lead < 0x20 && lead != '\n' && lead != '\r' && lead != '\t'))
            return p;
        for (std::size_t k = 1; k < length; ++k)
            if ((static_cast<unsigned char>(text[i + k]) & 0xc0) != 0x80)
                return p;
        if (lead == '\n') {
            ++p.line;
            p.column = 0;
        }
        i += length;
    }
    return std::nullopt;
}

} // namespace

std::string sources::name(const place& where) const {
    if (where.setting >= 0)
        return "--set " + setting_keys[static_cast<std::size_t>(where.setting)];
    const std::string& file = files[static_cast<std::size_t>(where.file)];
    if (where.line == 0)
        return file;
    return file + ":" + std::to_string(where.line) + ":" + std::to_string(where.column);
}

error sources::fail_repeated(const place& where, std::string_view path, const place& first) const {
    return fail(where, path, "repeated key; it stands at " + name(first) + " already");
}

error sources::fail(const place& where, std::string_view path, std::string_view sentence) const {
    std::string message = name(where) + ": ";
    const bool is_named =
        where.setting >= 0 && path == setting_keys[static_cast<std::size_t>(where.setting)];
    if (!path.empty() && !is_named)
        message.append(path).append(": ");
    return {errc::usage, message.append(sentence)};
}

result<node> parse_tree(std::string_view text, const place& start, const sources& names) {
    if (text.size() > limits::app_file_bytes_max)
        return names.fail(start, "",
                          "larger than " + std::to_string(limits::app_file_bytes_max) + " bytes");
    if (const auto bad = find_bad_byte(text, start))
        return names.fail(*bad, "", "not text: a byte that is no printable UTF-8");
    tree_builder builder{start};
    try {
        std::istringstream in{std::string{text}};
        YAML::Parser parser{in};
        while (parser.HandleNextDocument(builder)) {
        }
    } catch (const refused& r) {
        return names.fail(r.where, "", r.sentence);
    } catch (const YAML::Exception& e) {
        return names.fail({start.setting, e.mark.line + 1, e.mark.column + 1}, "",
                          "not valid YAML: " + e.msg);
    }
    return builder.take();
}

bool is_one_line(std::string_view text) {
    return text.empty() || is_printable_name(text, text.size());
}

std::string printable(std::string_view text) {
    return troupe::printable(text, 60);
}

std::string in_quotes(std::string_view text) {
    return "\"" + printable(text) + "\"";
}

std::string describe(const node& value) {
    switch (value.what) {
    case node::kind::null:
        return "nothing";
    case node::kind::list:
        return "a list";
    case node::kind::map:
        return "a map";
    case node::kind::scalar:
        break;
    }
    return (value.quoted ? "the text " : "") + in_quotes(value.text);
}

} // namespace troupe::app_file
