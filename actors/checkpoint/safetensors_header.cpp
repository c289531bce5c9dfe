#include "actors/checkpoint/safetensors_header.hpp"

#include <set>

#include "schemas/base/json.hpp"
#include "schemas/base/limits.hpp"

namespace troupe {

namespace {

constexpr std::string_view metadata_key = "__metadata__";

std::string_view type_name(data_type type) {
    switch (type) {
    case data_type::float32:
        return "F32";
    case data_type::uint8:
        return "U8";
    case data_type::int32:
        return "I32";
    case data_type::float64:
        return "F64";
    case data_type::int64:
        return "I64";
    }
    TROUPE_CHECK(false, "every element type has a name in files");
}

// Processes the JSON event by event and stops at the first one that the format does not allow, so that hostile JSON costs
// neither memory nor stack depth.
class header_reader final : public json_reader {
  public:
    parsed_header header;
    std::string refusal;

    bool key(const std::string& name) override {
        if (where_ == place::names)
            return begin_entry(name);
        if (where_ == place::metadata) {
            key_ = name;
            return !header.metadata.contains(name) || refuse("a repeated metadata key");
        }
        key_ = name;
        if (name != "dtype" && name != "shape" && name != "data_offsets")
            return refuse("a tensor with a key other than dtype, shape and data_offsets");
        return seen_.insert(name).second || refuse("a tensor with a repeated key");
    }

    bool text(const std::string& value) override {
        if (where_ == place::metadata) {
            header.metadata.emplace(key_, value);
            return true;
        }
        if (where_ != place::entry || key_ != "dtype")
            return refuse("a text where none belongs");
        header.entries.back().type = value;
        return true;
    }

    bool count(std::uint64_t number) override {
        if (where_ == place::shape &&
            header.entries.back().shape.size() <= limits::tensor_rank_max) {
            header.entries.back().shape.push_back(number);
            return true;
        }
        if (where_ != place::offsets || offsets_ == 2)
            return refuse("a number where none belongs");
        (offsets_++ == 0 ? header.entries.back().begin : header.entries.back().end) = number;
        return true;
    }

    bool begin_object() override {
        switch (where_) {
        case place::start:
            where_ = place::names;
            return true;
        case place::entry_value:
            where_ = place::entry;
            return true;
        case place::metadata_value:
            where_ = place::metadata;
            return true;
        default:
            return refuse("a map where none belongs");
        }
    }
    bool end_object() override {
        if (where_ == place::names) {
            where_ = place::end;
            return true;
        }
        if (where_ == place::entry && seen_.size() != 3)
            return refuse("a tensor without dtype, shape or data_offsets");
        where_ = place::names;
        return true;
    }

    bool begin_array() override {
        if (where_ != place::entry || key_ == "dtype")
            return refuse("a list where none belongs");
        where_ = key_ == "shape" ? place::shape : place::offsets;
        return true;
    }
    bool end_array() override {
        if (where_ == place::offsets && offsets_ != 2)
            return refuse("data_offsets that are not two numbers");
        where_ = place::entry;
        return true;
    }

    bool null() override { return refuse("a null"); }
    bool boolean(bool) override { return refuse("true or false where none belongs"); }
    bool negative(std::int64_t) override { return refuse("a negative number"); }
    bool real(double) override { return refuse("a number that is not whole or too large"); }
    void malformed(std::size_t byte) override {
        refuse("JSON that is malformed at byte " + std::to_string(byte));
    }

  private:
    enum class place {
        start,
        names,
        entry_value,
        entry,
        shape,
        offsets,
        metadata_value,
        metadata,
        end
    };

    bool refuse(std::string sentence) {
        refusal = "its header has " + std::move(sentence);
        return false;
    }

    bool begin_entry(const std::string& name) {
        if (!names_.insert(name).second)
            return refuse("a repeated name");
        if (name == metadata_key) {
            where_ = place::metadata_value;
            return true;
        }
        if (name.empty() || name.size() > limits::path_bytes_max)
            return refuse("a name that is empty or too long");
        where_ = place::entry_value;
        header.entries.emplace_back().name = name;
        seen_.clear();
        offsets_ = 0;
        return true;
    }

    place where_ = place::start;
    std::string key_;
    std::set<std::string> names_;
    std::set<std::string> seen_; // keys of the tensor being read
    int offsets_ = 0;            // numbers read so far of its data_offsets
};

} // namespace

result<parsed_header> parse_header(std::string_view text) {
    header_reader reader;
    if (!text.starts_with('{'))
        return error{errc::data, "its header is not a JSON map"};
    if (!read_json(text, reader))
        return error{errc::data, reader.refusal};
    return std::move(reader.header);
}

std::string header_json(std::span<const named_tensor> tensors, const tensor_metadata& metadata,
                        std::span<const named_count> counts) {
    json header = json::object();
    if (!metadata.empty())
        header[metadata_key] = metadata;
    std::uint64_t offset = 0;
    const auto add = [&](const std::string& name, std::string_view type,
                         std::span<const std::size_t> shape, std::size_t bytes) {
        TROUPE_CHECK(name != metadata_key && !header.contains(name),
                     "tensors have names of their own");
        header[name] = {{"dtype", type},
                        {"shape", std::vector<std::size_t>{shape.begin(), shape.end()}},
                        {"data_offsets", json::array({offset, offset + bytes})}};
        offset += bytes;
    };
    for (const named_count& c : counts)
        add(c.name, "I64", {}, sizeof c.value);
    for (const named_tensor& t : tensors) {
        TROUPE_CHECK(t.bytes.size() == t.shape.elements() * size_of(t.type),
                     "a tensor has the bytes of its shape");
        add(t.name, type_name(t.type), t.shape.dimensions(), t.bytes.size());
    }
    return header.dump();
}

} // namespace troupe
