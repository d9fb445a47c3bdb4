#include "codegen/jit.h"

#include <chrono>

#include "base/error.h"

namespace aoe {
namespace {

using Clock = std::chrono::steady_clock;

std::shared_ptr<const Code> found(const ObjectCache& disk, const std::string& key) {
  const std::optional<MachineObject> object = disk.find(key);
  if (!object) return nullptr;
  try {
    return std::make_shared<Code>(load(*object), object->bytes.size(), object->spills, 0);
  } catch (const Error&) {
    return nullptr;  // it is made again, and replaced
  }
}

}  // namespace

std::shared_ptr<const Code> Compiler::compile(const std::string& key, const Device& device,
                                              const EmitModule& emit) {
  const std::string whole = assembler_text(device) + key;
  return known_.get(whole, [&] {
    if (auto code = found(disk_, whole)) return code;
    const auto start = Clock::now();
    const MachineObject object = assembled(device, emit);
    const LoadedObject at = load(object);
    const double ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    disk_.keep(whole, object);
    return std::make_shared<const Code>(at, object.bytes.size(), object.spills, ms);
  });
}

std::shared_ptr<const Code> compile(const std::string& key, const Device& device,
                                    const EmitModule& emit) {
  // Never destroyed: kernels may be made until the very end.
  static Compiler& compiler = *new Compiler(ObjectCache(object_folder()));
  return compiler.compile(key, device, emit);
}

}  // namespace aoe
