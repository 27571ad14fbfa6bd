#include "list.h"

namespace cpsched {

void ListPass::run(Span<const Row> rows, bool stop) {
    for (const Row row : rows) {
        if (context_.free.is_full())
            return;
        if (!start_now(context_, row) && stop)
            return;
    }
}

void ListPass::candidates(Span<const Row> queue, bool by_age, std::vector<Row> &found) {
    FreeNodes &free = context_.free;
    const std::int64_t pass = free.pass();
    found.clear();
    for (const Row row : queue) {
        JobClass &job_class = context_.classes[context_.classes.class_of(context_.now.jobs, row)];
        if (job_class.refused_in == pass)
            continue;
        if (job_class.counted_in != pass) {
            job_class.counted_in = pass;
            const bool fits = free.may_fit(context_.request_of(row));
            job_class.left = fits ? free.num_fitting(job_class.request_id) / job_class.tasks : 0;
        }
        if (job_class.left == 0) {
            job_class.refused_in = pass;
            continue;
        }
        if (by_age)
            --job_class.left;
        found.push_back(row);
    }
}

void ListPass::fits_now(Span<const Row> rows, bool *fits) {
    for (const Row row : rows) {
        const Job &job = context_.now.jobs[row];
        *fits++ = context_.free.num_fitting(job.request_id) >= job.tasks;
    }
}

} // namespace cpsched
