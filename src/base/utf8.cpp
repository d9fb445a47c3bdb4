#include "base/utf8.h"

#include <fmt/format.h>

#include <array>

namespace aoe {
namespace {

constexpr char32_t kReplacement = 0xfffd;

// Number of bytes of the sequence that starts with `lead`; 0 if it is not a valid lead byte.
size_t sequence_length(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xc2) return 0;
  if (lead < 0xe0) return 2;
  if (lead < 0xf0) return 3;
  return lead < 0xf5 ? 4 : 0;
}

}  // namespace

std::u32string utf8_decoded(std::string_view text) {
  // Smallest character by length of its sequence; a smaller one would be overlong, so invalid.
  constexpr std::array<char32_t, 5> kSmallest{0, 0, 0x80, 0x800, 0x10000};
  std::u32string result;
  for (size_t at = 0; at < text.size();) {
    const auto lead = static_cast<unsigned char>(text[at]);
    const size_t length = sequence_length(lead);
    bool valid = length > 0 && at + length <= text.size();
    char32_t value = length > 1 ? lead & (0x7fU >> length) : lead;
    for (size_t i = 1; valid && i < length; ++i) {
      const auto byte = static_cast<unsigned char>(text[at + i]);
      valid = (byte & 0xc0) == 0x80;
      value = (value << 6) | (byte & 0x3f);
    }
    valid = valid && value >= kSmallest[length] && value <= 0x10ffff &&
            (value < 0xd800 || value > 0xdfff);
    result.push_back(valid ? value : kReplacement);
    at += valid ? length : 1;
  }
  return result;
}

bool is_utf8(std::string_view text) { return utf8_encoded(utf8_decoded(text)) == text; }

std::string utf8_encoded(std::u32string_view characters) {
  constexpr std::array<char32_t, 4> kLeads{0, 0xc0, 0xe0, 0xf0};
  std::string result;
  const auto add = [&](char32_t byte) { result.push_back(static_cast<char>(byte)); };
  for (const char32_t c : characters) {
    if (c < 0x80) {
      add(c);
      continue;
    }
    const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    add(kLeads[static_cast<size_t>(more)] | c >> (6 * more));
    for (int i = more; i-- > 0;) add(0x80 | (c >> (6 * i) & 0x3f));
  }
  return result;
}

std::string printable(std::string_view text) {
  std::u32string shown;
  for (const char32_t c : utf8_decoded(text)) {
    const bool is_control = c < 0x20 || (c >= 0x7f && c < 0xa0);
    // Line and paragraph separators; bidirectional formatting characters.
    const bool is_separator_or_bidi =
        c == 0x2028 || c == 0x2029 || (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
    if (!is_control && !is_separator_or_bidi) {
      shown += c;
      continue;
    }
    const std::string escaped = c == '\n'   ? "\\n"
                                : c == '\t' ? "\\t"
                                : is_separator_or_bidi
                                    ? fmt::format("\\u{:04x}", static_cast<uint32_t>(c))
                                    : fmt::format("\\x{:02x}", static_cast<uint32_t>(c));
    shown.append(escaped.begin(), escaped.end());
  }
  return utf8_encoded(shown);
}

}  // namespace aoe
