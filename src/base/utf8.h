#pragma once

#include <string>
#include <string_view>

namespace aoe {

// The characters of a UTF-8 text; what is no UTF-8 becomes U+FFFD, a byte at a time.
std::u32string utf8_decoded(std::string_view text);
bool is_utf8(std::string_view text);
std::string utf8_encoded(std::u32string_view characters);

// For terminals, on one line: control characters as \\n, \\t or \\x1b, what is no UTF-8 replaced.
// The same once more changes nothing.
std::string printable(std::string_view text);

}  // namespace aoe
