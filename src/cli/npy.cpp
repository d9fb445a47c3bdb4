#include "cli/npy.h"

#include <charconv>
#include <cstring>
#include <fstream>

#include "base/file.h"
#include "base/utf8.h"
#include "cli/zip.h"

namespace aoe {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);

// The value of 'key' in the Python dict of the header: up to a comma outside of parentheses.
std::string_view header_entry(std::string_view header, std::string_view key) {
  const size_t at = header.find(fmt::format("'{}'", key));
  require(at != std::string_view::npos, "its header has no '{}'", key);
  size_t first = header.find(':', at);
  require(first != std::string_view::npos, "its header is damaged");
  first = header.find_first_not_of(' ', first + 1);
  require(first != std::string_view::npos, "its header is damaged");
  size_t last = first;
  for (int depth = 0; last < header.size(); ++last) {
    const char c = header[last];
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (depth == 0 && (c == ',' || c == '}')) break;
  }
  const std::string_view entry = header.substr(first, last - first);
  return entry.substr(0, entry.find_last_not_of(' ') + 1);
}

Shape shape_in(std::string_view text) {
  require(text.size() >= 2 && text.front() == '(' && text.find(')') != std::string_view::npos,
          "its header has the shape {}", text);
  Shape shape;
  const char* at = text.data() + 1;
  const char* const end = text.data() + text.find(')');
  while (at < end) {
    if (*at == ' ' || *at == ',') {
      ++at;
      continue;
    }
    int64_t extent = 0;
    const auto [rest, error] = std::from_chars(at, end, extent);
    require(error == std::errc{} && extent >= 0, "its header has the shape {}", text);
    shape.push_back(extent);
    at = rest;
  }
  element_count(shape);
  return shape;
}

// numpy's code for an element type, without the byte order: "f4".
std::string code_of(DType dtype) {
  const DTypeInfo& type = info(dtype);
  const bool known = dtype <= DType::boolean && dtype != DType::bf16;
  const char kind = !known                             ? 'V'
                    : type.kind == DKind::floating     ? 'f'
                    : type.kind == DKind::signed_int   ? 'i'
                    : type.kind == DKind::unsigned_int ? 'u'
                                                       : 'b';
  return fmt::format("{}{}", kind, type.bytes);
}

DType dtype_in(std::string_view code, std::optional<DType> expected) {
  for (int i = 0; i <= static_cast<int>(DType::boolean); ++i) {
    const auto dtype = static_cast<DType>(i);
    if (code == code_of(dtype) && dtype != DType::bf16) return dtype;
  }
  require(!code.starts_with('O'), "it holds Python objects, not numbers");
  if (expected && code.starts_with('V') && code == code_of(*expected)) return *expected;
  fail("its element type '{}' is not supported", code);
}

bool is_unicode(char32_t character) {
  const bool is_surrogate = character >= 0xd800 && character <= 0xdfff;
  return character <= 0x10ffff && !is_surrogate;
}

// Fixed-width text, four bytes a character ("U") or one ("S"), padded with zeros.
Tensor strings_from(Shape shape, std::string_view code, std::string_view data) {
  int64_t width = 0;
  const auto parsed = std::from_chars(code.data() + 1, code.data() + code.size(), width);
  require(parsed.ec == std::errc{} && width >= 0, "its element type '{}' is not supported", code);
  // Texts of width 0 need no bytes in the file, so that its size does not bound their number.
  bytes_within_limit({DType::string, shape});
  const bool wide = code.starts_with('U');
  const int64_t each = checked_mul(width, wide ? 4 : 1);
  const int64_t count = element_count(shape);
  require(checked_mul(count, each) == static_cast<int64_t>(data.size()),
          "it has {} bytes of text where {} are expected", data.size(), count * each);
  std::vector<std::string> texts(static_cast<size_t>(count));
  for (size_t i = 0; i < texts.size(); ++i) {
    std::string_view field = data.substr(i * static_cast<size_t>(each), static_cast<size_t>(each));
    if (!wide) {
      texts[i] = field.substr(0, field.find_last_not_of('\0') + 1);
      continue;
    }
    std::u32string characters;
    for (; field.size() >= 4; field.remove_prefix(4)) {
      char32_t character = 0;
      std::memcpy(&character, field.data(), sizeof character);
      if (character == 0) break;
      require(is_unicode(character), "it has a character {:x} that Unicode does not have",
              static_cast<uint32_t>(character));
      characters += character;
    }
    texts[i] = utf8_encoded(characters);
  }
  return Tensor::strings(std::move(shape), std::move(texts));
}

// Converts a tensor from column-major to row-major order.
Tensor from_fortran(const Tensor& tensor) {
  Tensor result(tensor.type());
  const auto width = static_cast<size_t>(info(tensor.dtype()).bytes);
  const Shape& shape = tensor.shape();
  Shape at(shape.size());
  for (int64_t i = 0; i < tensor.count(); ++i) {
    int64_t from = 0;
    for (size_t axis = shape.size(); axis-- > 0;) from = from * shape[axis] + at[axis];
    if (tensor.dtype() == DType::string) {
      result.data<std::string>()[i] = tensor.data<std::string>()[from];
    } else {
      std::memcpy(result.raw() + static_cast<size_t>(i) * width,
                  tensor.raw() + static_cast<size_t>(from) * width, width);
    }
    for (size_t axis = shape.size(); axis-- > 0;) {
      if (++at[axis] < shape[axis]) break;
      at[axis] = 0;
    }
  }
  return result;
}

Tensor parse(std::string_view file, std::optional<DType> expected) {
  require(file.starts_with(kMagic) && file.size() >= 12, "it is not a numpy array");
  const auto version = static_cast<unsigned char>(file[6]);
  require(version >= 1 && version <= 3, "version {} of numpy's format is not known", version);
  const bool first_version = version == 1;
  uint32_t length = 0;
  std::memcpy(&length, file.data() + 8, first_version ? 2 : 4);
  const size_t start = first_version ? 10 : 12;
  require(length <= file.size() - start, "it is truncated");
  const std::string_view header = file.substr(start, length);
  const std::string_view data = file.substr(start + length);
  Shape shape = shape_in(header_entry(header, "shape"));
  std::string_view descr = header_entry(header, "descr");
  require(descr.size() >= 3 && descr.front() == '\'' && descr.back() == '\'',
          "its element type {} is not supported", descr);
  descr = descr.substr(1, descr.size() - 2);
  const std::string_view code = descr.substr(1);
  require(descr[0] != '>', "its elements are big-endian; save it as little-endian");
  const std::string_view order = header_entry(header, "fortran_order");
  require(order == "True" || order == "False",
          "its header has the fortran_order {}; True or False is expected", order);
  const bool fortran = order == "True";
  if (code.starts_with('U') || code.starts_with('S')) {
    const Tensor strings = strings_from(std::move(shape), code, data);
    return fortran ? from_fortran(strings) : strings;
  }
  const TensorType type{dtype_in(code, expected), std::move(shape)};
  const int64_t bytes = bytes_of(type);
  require(bytes == static_cast<int64_t>(data.size()), "{} needs {} bytes, {} are there",
          to_string(type), bytes, data.size());
  Tensor tensor(type);
  std::memcpy(tensor.raw(), data.data(), data.size());
  return fortran ? from_fortran(tensor) : tensor;
}

std::string npy_bytes(const Tensor& tensor) {
  std::string shape;
  for (const int64_t extent : tensor.shape()) shape += fmt::format("{},", extent);
  std::string code = "|V1";
  std::string data;
  if (tensor.dtype() == DType::string) {
    // numpy's type "S" stores the UTF-8 bytes unchanged.
    const std::string* texts = tensor.data<std::string>();
    size_t width = 1;
    for (int64_t i = 0; i < tensor.count(); ++i) width = std::max(width, texts[i].size());
    code = fmt::format("|S{}", width);
    for (int64_t i = 0; i < tensor.count(); ++i) {
      data += texts[i];
      data.append(width - texts[i].size(), '\0');
    }
  } else {
    code =
        fmt::format("{}{}", info(tensor.dtype()).bytes == 1 ? '|' : '<', code_of(tensor.dtype()));
    data.assign(reinterpret_cast<const char*>(tensor.raw()), static_cast<size_t>(tensor.bytes()));
  }
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", code, shape);
  // numpy aligns the data to 64 bytes.
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  const auto length = static_cast<uint16_t>(header.size());
  std::string bytes(kMagic);
  bytes += {'\1', '\0', static_cast<char>(length & 255), static_cast<char>(length >> 8)};
  return bytes + header + data;
}

}  // namespace

Tensor read_npy(const std::filesystem::path& file, std::optional<DType> expected) {
  try {
    require_file(file);
    std::ifstream stream(file, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
    require(stream.good() || stream.eof(), "it cannot be read");
    return parse(bytes, expected);
  } catch (const Error& error) {
    throw error.within(fmt::format("array '{}'", file.string()));
  }
}

std::map<std::string, Tensor> read_npz(const std::filesystem::path& file,
                                       const std::map<std::string, DType>& expected) {
  std::map<std::string, Tensor> arrays;
  for (const auto& [entry, bytes] : read_zip(file)) {
    const std::string name = entry.ends_with(".npy") ? entry.substr(0, entry.size() - 4) : entry;
    const auto known = expected.find(name);
    try {
      arrays[name] =
          parse(bytes, known == expected.end() ? std::nullopt : std::optional(known->second));
    } catch (const Error& error) {
      throw error.within(fmt::format("array '{}' in '{}'", name, file.string()));
    }
  }
  return arrays;
}

void write_npz(const std::filesystem::path& file, const std::map<std::string, Tensor>& arrays) {
  std::map<std::string, std::string> entries;
  for (const auto& [name, tensor] : arrays) entries[name + ".npy"] = npy_bytes(tensor);
  try {
    replace_file(file, [&](const File& temporary) { write_zip(temporary, entries); });
  } catch (const Error& error) {
    throw error.within(fmt::format("'{}'", file.string()));
  }
}

}  // namespace aoe
