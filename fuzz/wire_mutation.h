#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace aoe {

// Mutates protocol buffers field by field. Mutating bytes instead breaks the enclosing lengths, and
// the parser rejects most results at once.
class WireMutation {
 public:
  explicit WireMutation(unsigned seed) : random_(seed) {}

  // Returns `message` with one field changed, removed, duplicated, moved or replaced by another.
  std::string changed(const std::string& message) {
    auto fields = parsed(message, 0);
    if (!fields || fields->empty()) return message;
    std::vector<Place> places;
    collect(*fields, places);
    const Place at = places[pick(places.size())];
    Field& field = (*at.fields)[at.index];
    const Field other = [&] {
      const Place from = places[pick(places.size())];
      return (*from.fields)[from.index];
    }();
    const auto here = at.fields->begin() + static_cast<std::ptrdiff_t>(at.index);
    switch (pick(8)) {
      case 0: at.fields->erase(here); break;
      case 1: at.fields->insert(here, Field(field)); break;
      case 2: std::swap(field, (*at.fields)[pick(at.fields->size())]); break;
      case 3: field = other; break;
      case 4: at.fields->insert(here, other); break;
      default: change(field); break;
    }
    return written(*fields);
  }

 private:
  struct Field {
    uint64_t tag = 0;  // field number and wire type
    uint64_t number = 0;
    std::string bytes;
    std::optional<std::vector<Field>> inner;  // if the bytes parse as a message
  };
  struct Place {
    std::vector<Field>* fields;
    size_t index;
  };
  enum Wire { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

  size_t pick(size_t count) { return random_() % count; }

  void change(Field& field) {
    if ((field.tag & 7) == kBytes) {
      field.inner.reset();
      std::vector<uint8_t> bytes(field.bytes.begin(), field.bytes.end());
      bytes.resize(field.bytes.size() + 64);
      bytes.resize(LLVMFuzzerMutate(bytes.data(), field.bytes.size(), bytes.size()));
      field.bytes.assign(bytes.begin(), bytes.end());
      return;
    }
    // Near the old number, or at a boundary of an integer type.
    const uint64_t candidates[] = {0,
                                   1,
                                   2,
                                   field.number + 1,
                                   field.number - 1,
                                   field.number * 2,
                                   field.number ^ (uint64_t{1} << pick(64)),
                                   UINT64_MAX,
                                   INT64_MAX,
                                   INT32_MAX,
                                   UINT32_MAX,
                                   random_() % 64};
    field.number = candidates[pick(std::size(candidates))];
  }

  static void collect(std::vector<Field>& fields, std::vector<Place>& places) {
    for (size_t i = 0; i < fields.size(); ++i) {
      places.push_back({&fields, i});
      if (fields[i].inner) collect(*fields[i].inner, places);
    }
  }

  static std::optional<uint64_t> varint(std::string_view& text) {
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && !text.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(text.front());
      text.remove_prefix(1);
      value |= uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return value;
    }
    return std::nullopt;
  }

  static std::optional<std::vector<Field>> parsed(std::string_view text, int depth) {
    constexpr int kDeepest = 300;
    std::vector<Field> fields;
    while (!text.empty()) {
      Field field;
      const auto tag = varint(text);
      if (!tag || *tag < 8 || depth > kDeepest) return std::nullopt;
      field.tag = *tag;
      const uint64_t wire = *tag & 7;
      if (wire == kVarint) {
        const auto value = varint(text);
        if (!value) return std::nullopt;
        field.number = *value;
      } else if (wire == kFixed64 || wire == kFixed32) {
        const size_t size = wire == kFixed64 ? 8 : 4;
        if (text.size() < size) return std::nullopt;
        for (size_t i = size; i-- > 0;) {
          field.number = field.number << 8 | static_cast<unsigned char>(text[i]);
        }
        text.remove_prefix(size);
      } else if (wire == kBytes) {
        const auto size = varint(text);
        if (!size || *size > text.size()) return std::nullopt;
        field.bytes = text.substr(0, *size);
        text.remove_prefix(*size);
        field.inner = parsed(field.bytes, depth + 1);
      } else {
        return std::nullopt;
      }
      fields.push_back(std::move(field));
    }
    return fields;
  }

  static void add_varint(std::string& text, uint64_t value) {
    for (; value >= 0x80; value >>= 7) text.push_back(static_cast<char>(value | 0x80));
    text.push_back(static_cast<char>(value));
  }

  static std::string written(const std::vector<Field>& fields) {
    std::string text;
    for (const Field& field : fields) {
      add_varint(text, field.tag);
      const uint64_t wire = field.tag & 7;
      if (wire == kVarint) {
        add_varint(text, field.number);
      } else if (wire == kBytes) {
        const std::string bytes = field.inner ? written(*field.inner) : field.bytes;
        add_varint(text, bytes.size());
        text += bytes;
      } else {
        for (int i = 0; i < (wire == kFixed64 ? 8 : 4); ++i) {
          text.push_back(static_cast<char>(field.number >> (8 * i)));
        }
      }
    }
    return text;
  }

  std::mt19937_64 random_;
};

}  // namespace aoe
