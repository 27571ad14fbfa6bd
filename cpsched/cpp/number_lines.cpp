#include "number_lines.h"

#include <charconv>

namespace cpsched {

namespace {

/// Longer numbers are beyond all bounds, or begin with zeros.
constexpr int kMaxDigits = 18;

bool is_blank(char character) {
    return character == ' ' || (character >= '\t' && character <= '\r' && character != '\n');
}

bool is_digit(char character) {
    return character >= '0' && character <= '9';
}

/// Reads the words of one line after another.
class LineReader {
  public:
    LineReader(const std::vector<NumberField> &fields, std::size_t width)
        : fields_(fields), width_(width), values_(fields.size()) {}

    /// Read a line; false if it is no row.
    bool read(const char *at, const char *end) {
        for (std::size_t field = 0; field < fields_.size(); ++field) {
            at = behind_blanks(at, end);
            at = read_number(at, end, fields_[field], values_[field]);
            if (at == nullptr)
                return false;
        }
        return count_words(at, end) + fields_.size() == width_;
    }

    const std::vector<std::int64_t> &values() const { return values_; }

    static const char *behind_blanks(const char *at, const char *end) {
        while (at != end && is_blank(*at))
            ++at;
        return at;
    }

  private:
    /// Return the end of a number, nullptr where there is none that the field may have.
    static const char *read_number(const char *at, const char *end, const NumberField &field,
                                   std::int64_t &value) {
        const bool has_sign = at != end && *at == '-';
        const auto [behind, error] = std::from_chars(at, end, value);
        if (error != std::errc() || behind - at > kMaxDigits || value < -1 ||
            value > field.max_value)
            return nullptr;
        at = behind;
        if (field.may_have_fraction && !has_sign && at != end && *at == '.')
            do
                ++at;
            while (at != end && is_digit(*at));
        return at == end || is_blank(*at) ? at : nullptr;
    }

    /// Return the number of further words; one too many where a byte is not ASCII text.
    std::size_t count_words(const char *at, const char *end) const {
        std::size_t count = 0;
        while ((at = behind_blanks(at, end)) != end) {
            ++count;
            for (; at != end && !is_blank(*at); ++at)
                if (*at <= 0)
                    return width_ + 1;
        }
        return count;
    }

    const std::vector<NumberField> &fields_;
    std::size_t width_;
    std::vector<std::int64_t> values_;
};

} // namespace

NumberLines read_number_lines(std::string_view text, std::size_t width,
                              const std::vector<NumberField> &fields) {
    NumberLines lines;
    lines.columns.resize(fields.size());
    LineReader reader(fields, width);
    std::int64_t number = 0;
    for (std::size_t begin = 0; begin < text.size(); ++number) {
        const std::size_t newline = text.find('\n', begin);
        const std::size_t stop = newline == std::string_view::npos ? text.size() : newline;
        const char *const first = text.data() + begin;
        const char *const end = text.data() + stop;
        if (reader.read(first, end)) {
            lines.number.push_back(number);
            for (std::size_t field = 0; field < fields.size(); ++field)
                if (fields[field].is_column)
                    lines.columns[field].push_back(reader.values()[field]);
        } else if (LineReader::behind_blanks(first, end) != end) {
            lines.others.push_back(
                {number, static_cast<std::int64_t>(begin), static_cast<std::int64_t>(stop)});
        }
        begin = stop + 1;
    }
    return lines;
}

} // namespace cpsched
