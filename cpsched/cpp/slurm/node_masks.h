// Sets of nodes, and reservations of them.
#pragma once

#include "../types.h"

#include <algorithm>

namespace cpsched::slurm {

/// Some sets of nodes, as masks one after the other.
struct NodeMasks {
    std::int64_t count = 0;
    std::int64_t num_nodes = 0;
    std::vector<std::uint8_t> masks;

    bool has(std::int64_t set, std::int64_t node) const {
        return masks[static_cast<std::size_t>(set * num_nodes + node)] != 0;
    }
};

/// Nodes that are kept for some jobs, each set from a second until another.
///
/// Jobs that ask for a reservation run only in it, from its beginning on, if they end by its end;
/// all other jobs cannot use its nodes then.
struct Reservations {
    std::vector<Time> from;
    std::vector<Time> until;
    NodeMasks nodes;

    std::size_t size() const { return from.size(); }
    /// Whether a reservation has yet to begin; `number` -1 is none.
    bool is_later(std::int64_t number, Time now) const {
        return number >= 0 && from[static_cast<std::size_t>(number)] > now;
    }
    /// Return the first second after one at which a reservation begins or ends, kFar if none does.
    Time next_change(Time after) const {
        Time found = kFar;
        for (const std::vector<Time> *times : {&from, &until})
            for (const Time time : *times)
                if (time > after)
                    found = std::min(found, time);
        return found;
    }
};

} // namespace cpsched::slurm
