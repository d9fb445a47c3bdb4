#include <algorithm>
#include <array>

#include "regex/regex_parser.h"

namespace aoe {
namespace {

constexpr char32_t kLast = 0x10ffff;

struct NamedSet {
  std::string_view name;
  std::string_view ranges;  // pairs of first and last character
};

constexpr std::array kPosix{
    NamedSet{"alnum", "09AZaz"}, NamedSet{"alpha", "AZaz"},     NamedSet{"blank", "\t\t  "},
    NamedSet{"digit", "09"},     NamedSet{"graph", "!~"},       NamedSet{"lower", "az"},
    NamedSet{"print", " ~"},     NamedSet{"punct", "!/:@[`{~"}, NamedSet{"space", "\t\r  "},
    NamedSet{"upper", "AZ"},     NamedSet{"word", "09AZaz__"},  NamedSet{"xdigit", "09AFaf"},
};

Regex::Set from_pairs(std::string_view pairs) {
  Regex::Set set;
  for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
    set.emplace_back(static_cast<unsigned char>(pairs[i]),
                     static_cast<unsigned char>(pairs[i + 1]));
  }
  return normalized(std::move(set));
}

}  // namespace

Regex::Set perl_class(char32_t letter) {
  switch (letter) {
    case 'd': return from_pairs("09");
    case 'w': return from_pairs("09AZaz__");
    case 's': return from_pairs("\t\n\f\r  ");
    case 'D':
    case 'W':
    case 'S': return complement(perl_class(letter + ('a' - 'A')));
    default: return {};
  }
}

Regex::Set posix_class(std::string_view name) {
  if (name.starts_with('^')) {
    const Regex::Set inverse = posix_class(name.substr(1));
    return inverse.empty() ? inverse : complement(inverse);
  }
  if (name == "ascii") return {{0, 0x7f}};
  if (name == "cntrl") return {{0, 0x1f}, {0x7f, 0x7f}};
  for (const NamedSet& known : kPosix) {
    if (known.name == name) return from_pairs(known.ranges);
  }
  return {};
}

Regex::Set normalized(Regex::Set set) {
  std::sort(set.begin(), set.end());
  Regex::Set result;
  for (const auto& [first, last] : set) {
    if (!result.empty() && first <= result.back().second + 1) {
      result.back().second = std::max(result.back().second, last);
    } else {
      result.emplace_back(first, last);
    }
  }
  return result;
}

Regex::Set complement(const Regex::Set& set) {
  Regex::Set result;
  char32_t next = 0;
  for (const auto& [first, last] : set) {
    if (next < first) result.emplace_back(next, first - 1);
    next = last + 1;
  }
  if (next <= kLast) result.emplace_back(next, kLast);
  return result;
}

Regex::Set both_cases(Regex::Set set) {
  constexpr char32_t kDistance = 'a' - 'A';
  const Regex::Set given = set;
  const auto shifted = [&](char32_t from, char32_t to, bool up) {
    for (const auto& [first, last] : given) {
      const char32_t low = std::max(first, from);
      const char32_t high = std::min(last, to);
      if (low > high) continue;
      set.emplace_back(up ? low - kDistance : low + kDistance,
                       up ? high - kDistance : high + kDistance);
    }
  };
  shifted('a', 'z', true);
  shifted('A', 'Z', false);
  return normalized(std::move(set));
}

}  // namespace aoe
