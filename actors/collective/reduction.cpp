#include "actors/collective/reduction.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/host_sums.hpp"

namespace troupe {

namespace {

bool overlap(index_range a, index_range b) {
    return a.first < b.first + b.count && b.first < a.first + a.count;
}

bool contains(index_range a, index_range b) {
    return a.first <= b.first && b.first + b.count <= a.first + a.count;
}

} // namespace

// ---- the plan of all reductions of a rank ---------------------------------------------------------------------------

reduction_plan reduction_plan::make(std::vector<tensor_shape> shapes,
                                    proto::AllReduceAlgorithm algorithm, std::uint32_t rank,
                                    const rank_nodes& ranks, std::size_t message_elements,
                                    std::size_t late, part_numbers numbers) {
    reduction_plan p;
    p.shapes = std::move(shapes);
    p.numbers = numbers;
    p.begins.push_back(0);
    for (const tensor_shape& shape : p.shapes)
        p.begins.push_back(p.begins.back() + shape.elements());
    p.segments = segments_of(algorithm, ranks);
    p.transfers = list_transfers(algorithm, rank, ranks);
    for (auto t = p.transfers.begin(); t != p.transfers.end(); ++t)
        p.is_last.push_back(
            std::none_of(t + 1, p.transfers.end(), [&](const reduce_transfer& later) {
                return overlap(later.receives, t->receives);
            }));
    p.late = late;
    const std::size_t late_elements = p.begins[late];
    const auto cut = [&](std::size_t elements) {
        return cut_into_slices(elements, p.segments, p.segments * message_elements);
    };
    p.slices = cut(p.elements() - late_elements);
    for (index_range& slice : p.slices)
        slice.first += late_elements;
    p.early_slices = p.slices.size();
    std::ranges::copy(cut(late_elements), std::back_inserter(p.slices));
    return p;
}

index_range reduction_plan::elements_of(std::size_t slice, index_range list) const {
    if (list.count == 0)
        return {};
    const index_range all = slices[slice];
    const index_range front = troupe::elements_of(list.first, segments, all.count);
    const index_range back = troupe::elements_of(list.first + list.count - 1, segments, all.count);
    return {all.first + front.first, back.first + back.count - front.first};
}

index_range reduction_plan::tensors_of(index_range elements) const {
    const auto number_of = [&](std::size_t element) {
        return static_cast<std::size_t>(std::ranges::upper_bound(begins, element) -
                                        begins.begin()) -
               1;
    };
    const std::size_t first = number_of(elements.first);
    return {first, number_of(elements.first + elements.count - 1) + 1 - first};
}

// ---- one reduction --------------------------------------------------------------------------------------------------

reduction::reduction(const reduction_plan& plan, memory_pool& memory, float scale)
    : plan_{plan}, memory_{memory}, scale_{scale}, submitted_from_{plan.shapes.size()},
      inputs_(plan.shapes.size()), results_(plan.shapes.size()), slices_(plan.slices.size()) {
    for (slice_state& s : slices_)
        s.is_done.resize(plan.segments);
}

void reduction::submit(std::size_t first, std::vector<tensor> inputs) {
    for (std::size_t i = 0; i < inputs.size(); ++i)
        inputs_[first + i] = inputs[i].reshaped({inputs[i].elements()});
    submitted_from_ = first;
}

result<void> reduction::submit_zeros() {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
        auto row = plan_.numbers_of_tensor(i).new_row(memory_, plan_.shapes[i].elements());
        if (!row)
            return row.failure();
        std::memset(row->mutable_data(), 0, row->bytes());
        inputs_[i] = std::move(*row);
    }
    submitted_from_ = 0;
    return {};
}

bool reduction::can_start(std::size_t slice) const {
    return plan_.tensors_of(plan_.slices[slice]).first >= submitted_from_;
}

const reduce_transfer* reduction::next(std::size_t slice) const {
    const std::size_t next = slices_[slice].next;
    return next < plan_.transfers.size() ? &plan_.transfers[next] : nullptr;
}

void reduction::step(std::size_t slice) {
    ++slices_[slice].next;
    slices_[slice].has_sent = false;
}

std::vector<reduction::piece> reduction::pieces_of(index_range elements) const {
    std::vector<piece> list;
    const index_range tensors = plan_.tensors_of(elements);
    for (std::size_t t = tensors.first; t < tensors.first + tensors.count; ++t) {
        const std::size_t first = std::max(elements.first, plan_.begins[t]);
        const std::size_t end = std::min(elements.first + elements.count, plan_.begins[t + 1]);
        if (first < end)
            list.push_back({t, {first - plan_.begins[t], end - first}, first - elements.first});
    }
    return list;
}

result<tensor> reduction::part_to_send(std::size_t slice) {
    slice_state& s = slices_[slice];
    const reduce_transfer& t = plan_.transfers[s.next];
    s.has_sent = true;
    const index_range elements = plan_.elements_of(slice, t.sends);
    if (t.to == nobody || elements.count == 0)
        return tensor{};
    const part_numbers numbers = plan_.numbers_of(slice);
    const bool are_results = s.is_done[t.sends.first];
    if (s.partial && contains(s.partial_of, elements) && !are_results)
        return numbers.cut(s.partial, {elements.first - s.partial_of.first, elements.count});
    const auto pieces = pieces_of(elements);
    if (pieces.size() > 1 || (are_results && numbers.is_half()))
        return row_of(slice, elements.count, pieces, are_results);
    return numbers.cut((are_results ? results_ : inputs_)[pieces[0].tensor], pieces[0].within);
}

result<tensor> reduction::row_of(std::size_t slice, std::size_t elements,
                                 std::span<const piece> pieces, bool are_results) const {
    const part_numbers numbers = plan_.numbers_of(slice);
    auto row = numbers.new_row(memory_, elements);
    if (!row)
        return row;
    for (const piece& p : pieces) {
        std::byte* const to = row->mutable_data() + numbers.bytes(p.offset);
        if (are_results)
            numbers.write(results_[p.tensor].values<float>().data() + p.within.first, to,
                          p.within.count);
        else
            std::memcpy(to, numbers.at(inputs_[p.tensor], p.within.first),
                        numbers.bytes(p.within.count));
    }
    return row;
}

// The first number of the piece in this rank's partial sum, or in its input.
const std::byte* reduction::begin_of(std::size_t slice, index_range elements,
                                     const piece& p) const {
    const slice_state& s = slices_[slice];
    const part_numbers numbers = plan_.numbers_of(slice);
    if (s.partial && contains(s.partial_of, elements))
        return numbers.at(s.partial, elements.first - s.partial_of.first + p.offset);
    return numbers.at(inputs_[p.tensor], p.within.first);
}

result<float*> reduction::result_of(const piece& p) {
    if (!results_[p.tensor]) {
        auto made = part_numbers{}.new_row(memory_, plan_.shapes[p.tensor].elements());
        if (!made)
            return made.failure();
        results_[p.tensor] = std::move(*made);
    }
    return results_[p.tensor].mutable_values<float>().data() + p.within.first;
}

result<tensor> reduction::place_of(std::size_t slice, const reduce_transfer& t) {
    const index_range elements = plan_.elements_of(slice, t.receives);
    if (t.adds || elements.count == 0 || plan_.numbers_of(slice).is_half())
        return tensor{};
    const auto pieces = pieces_of(elements);
    if (pieces.size() > 1)
        return tensor{};
    if (const auto to = result_of(pieces[0]); !to)
        return to.failure();
    return part_numbers{}.cut(results_[pieces[0].tensor], pieces[0].within);
}

result<void> reduction::accept(std::size_t slice, const tensor& received) {
    slice_state& s = slices_[slice];
    const reduce_transfer& t = plan_.transfers[s.next];
    const index_range elements = plan_.elements_of(slice, t.receives);
    if (!plan_.is_last[s.next])
        return add_partial(slice, elements, received);
    const part_numbers numbers = plan_.numbers_of(slice);
    for (const piece& p : pieces_of(elements)) {
        const auto to = result_of(p);
        if (!to)
            return to.failure();
        if (t.adds)
            numbers.add(begin_of(slice, elements, p), numbers.at(received, p.offset), scale_, *to,
                        p.within.count);
        else if (received.data() != reinterpret_cast<const std::byte*>(*to))
            numbers.read(numbers.at(received, p.offset), *to, p.within.count);
    }
    for (std::size_t i = t.receives.first; i < t.receives.first + t.receives.count; ++i)
        s.is_done[i] = true;
    return {};
}

result<void> reduction::add_partial(std::size_t slice, index_range elements,
                                    const tensor& received) {
    slice_state& s = slices_[slice];
    const part_numbers numbers = plan_.numbers_of(slice);
    auto sum = numbers.new_row(memory_, elements.count);
    if (!sum)
        return sum.failure();
    for (const piece& p : pieces_of(elements))
        numbers.add(begin_of(slice, elements, p), numbers.at(received, p.offset),
                    sum->mutable_data() + numbers.bytes(p.offset), p.within.count);
    s.partial = std::move(*sum);
    s.partial_of = elements;
    return {};
}

result<tensor> reduction::sum(std::size_t number) {
    if (!results_[number]) { // there is only one rank
        auto made = part_numbers{}.new_row(memory_, plan_.shapes[number].elements());
        if (!made)
            return made.failure();
        float* const sum = made->mutable_values<float>().data();
        plan_.numbers_of_tensor(number).read(inputs_[number].data(), sum, made->elements());
        scale_on_host(sum, scale_, sum, made->elements());
        results_[number] = std::move(*made);
    }
    return results_[number].reshaped(plan_.shapes[number]);
}

result<std::vector<tensor>> reduction::sums() && {
    std::vector<tensor> list;
    for (std::size_t i = 0; i < results_.size(); ++i) {
        auto one = sum(i);
        if (!one)
            return one.failure();
        list.push_back(std::move(*one));
    }
    return list;
}

} // namespace troupe
