#include "queue.h"

#include <algorithm>

namespace cpsched::slurm {

void Queue::insert(std::size_t record, std::int64_t key) {
    const Place place = {key, record};
    places_.insert(std::lower_bound(places_.begin(), places_.end(), place), place);
}

void Queue::remove(std::size_t record, std::int64_t key) {
    const auto found = std::lower_bound(places_.begin(), places_.end(), Place{key, record});
    if (found != places_.end() && found->record == record)
        places_.erase(found);
}

bool Queue::sort_by(const std::vector<Record> &records) {
    for (Place &place : places_)
        place.key = records[place.record].key;
    if (std::is_sorted(places_.begin(), places_.end()))
        return false;
    std::sort(places_.begin(), places_.end());
    return true;
}

} // namespace cpsched::slurm
