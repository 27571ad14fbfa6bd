// Lines of numbers between blanks, as columns: the Standard Workload Format.
//
// Only lines of whole numbers within their bounds become rows. Every other line that is not blank
// (a comment, a number with a fraction or out of its bounds, another number of words, a byte that
// is not ASCII) is handed back, to be read or rejected by somebody who says what is wrong.
//
// Cost: O(bytes).
#pragma once

#include "types.h"

#include <string_view>

namespace cpsched {

/// One field of a line.
struct NumberField {
    /// The largest value; the smallest is 0, and -1 stands for an unknown value.
    std::int64_t max_value;
    /// Whether a fraction may follow.
    bool may_have_fraction;
    /// Whether it becomes a column.
    bool is_column;
};

/// A line that is no row: its number from 0, and the bytes [begin, end) without the newline.
struct OtherLine {
    std::int64_t number;
    std::int64_t begin;
    std::int64_t end;
};

struct NumberLines {
    /// The columns of all rows.
    std::vector<std::vector<std::int64_t>> columns;
    /// The number of each row's line, from 0.
    std::vector<std::int64_t> number;
    std::vector<OtherLine> others;
};

/// Read lines, each of which ends in a newline; a row has `width` words, no fewer than fields, of
/// which those behind the fields are not read.
NumberLines read_number_lines(std::string_view text, std::size_t width,
                              const std::vector<NumberField> &fields);

} // namespace cpsched
