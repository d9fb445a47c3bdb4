#pragma once

#include <string>
#include <string_view>

namespace aoe {

// Decodes UTF-8; each byte that is not part of a valid sequence becomes U+FFFD.
std::u32string utf8_decoded(std::string_view text);
bool is_utf8(std::string_view text);
std::string utf8_encoded(std::u32string_view characters);

// Makes a text safe for one line of a terminal: control characters are escaped as \\n, \\t or
// \\x1b, line separators and bidirectional controls as \\u2028, invalid UTF-8 is replaced.
// Idempotent.
std::string printable(std::string_view text);

}  // namespace aoe
