#include "passes/conservative.h"

#include <algorithm>

namespace cpsched {

ConservativePass::ConservativePass(PassContext &context)
    : context_(context), profile_(context.nodes), search_(profile_, context.placer),
      bounds_(context.nodes) {}

std::vector<Time> ConservativePass::run(Span<const Row> rows, std::int64_t depth, bool full,
                                        const std::function<void()> &check_signals) {
    const Time now = context_.now.now;
    std::vector<Time> planned(rows.size(), -1);
    // Before the first reservation, what fits now fits for as long as it likes.
    const std::size_t first = start_first(rows);
    std::fill_n(planned.begin(), first, now);
    std::size_t end = full ? rows.size() : end_of_candidates(rows, first, rows.size());
    if (first == end)
        return planned;
    follow_ends();
    bounds_.clear();
    std::int64_t num_reserved = 0;
    for (std::size_t at = first; at < end; ++at) {
        const Request request = context_.request_of(rows[at]);
        // Without a reservation to give, only a start now matters.
        const bool now_only = !full && num_reserved >= depth;
        const Time earliest = bounds_.earliest(request, now);
        if (now_only && (earliest > now || !context_.free.may_fit(request)))
            continue;
        check_signals();
        const Window window = window_of(request, earliest, now_only);
        bounds_.note(request, window.start);
        if (!window.exists)
            continue;
        planned[at] = window.start;
        const bool starts_now = window.segment == 0;
        if (!starts_now && num_reserved >= depth)
            continue;
        reserve(request, window.segment);
        if (starts_now) {
            start(rows[at], request);
            if (!full)
                end = end_of_candidates(rows, at + 1, end);
        } else {
            ++num_reserved;
        }
    }
    return planned;
}

std::size_t ConservativePass::start_first(Span<const Row> rows) {
    std::size_t count = 0;
    while (count < rows.size() && start_now(context_, rows[count]))
        ++count;
    return count;
}

std::size_t ConservativePass::end_of_candidates(Span<const Row> rows, std::size_t first,
                                                std::size_t end) const {
    while (end > first && !context_.free.may_fit(context_.request_of(rows[end - 1])))
        --end;
    return end;
}

namespace {

/// A second at which a job that starts now ends.
struct EndOfStart {
    Time second;
    const Starts::Start *start;
};

/// Return the jobs that start now by the second in which they end.
std::vector<EndOfStart> ends_of_starts(const PassContext &context) {
    std::vector<EndOfStart> ends;
    for (const Starts::Start &start : context.starts.starts) {
        const Time duration = std::max<Time>(context.now.jobs[start.row].runtime_estimate, 1);
        ends.push_back({context.now.now + duration, &start});
    }
    std::stable_sort(ends.begin(), ends.end(), [](const EndOfStart &one, const EndOfStart &other) {
        return one.second < other.second;
    });
    return ends;
}

} // namespace

void ConservativePass::follow_ends() {
    const Snapshot &now = context_.now;
    profile_.begin(context_.free, now, now.running.size(), context_.starts);
    const std::vector<EndOfStart> ends = ends_of_starts(context_);
    const auto end_of_running = [&](std::size_t at) {
        return std::max(now.jobs[now.running[at]].expected_end, now.now + 1);
    };
    std::size_t running = 0;
    std::size_t start = 0;
    while (running < now.running.size() || start < ends.size()) {
        Time second = kFar;
        if (running < now.running.size())
            second = end_of_running(running);
        if (start < ends.size())
            second = std::min(second, ends[start].second);
        const std::size_t row = profile_.append(second);
        for (; running < now.running.size() && end_of_running(running) == second; ++running)
            profile_.give_back(row, now.jobs[now.running[running]], now);
        for (; start < ends.size() && ends[start].second == second; ++start) {
            const Starts::Start &ended = *ends[start].start;
            const RequestClass what = context_.nodes.requests[now.jobs[ended.row].request_id];
            profile_.give_back(row, what, context_.starts.spans_of(ended));
        }
    }
}

ConservativePass::Window ConservativePass::window_of(const Request &request, Time earliest,
                                                     bool now_only) {
    const std::vector<Time> &times = profile_.times();
    const std::size_t begin =
        std::lower_bound(times.begin(), times.end(), earliest) - times.begin();
    const std::size_t end = now_only ? 1 : times.size();
    const auto segment =
        search_.find(request, begin, end, bounds_.most_fitting(request, profile_), pieces_);
    if (segment)
        return {true, *segment, times[*segment]};
    return {false, 0, end < times.size() ? times[end] : kFar};
}

void ConservativePass::reserve(const Request &request, std::size_t segment) {
    profile_.split(pieces_);
    profile_.occupy(segment, profile_.time(segment) + request.duration, request.what, pieces_);
}

void ConservativePass::start(Row row, const Request &request) {
    spans_of(pieces_, profile_.ranges(), placement_);
    context_.starts.add(row, placement_);
    context_.free.take(request.what, placement_);
}

} // namespace cpsched
