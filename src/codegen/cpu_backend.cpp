#include "codegen/cpu_backend.h"

#include "backend/executor.h"
#include "codegen/emit/nest_emitter.h"
#include "codegen/emit/tile_emitter.h"
#include "codegen/jit/compiler.h"

// The CPU implementation of Backend. In reading order:
//   CpuProgram   an Executor whose nests and tiles are machine code, which it keeps loaded
//   CpuBackend   compile: a function for each nest and tile of a Program
//   cpu_backend, host_backend
//
// The text of a nest or tile is the key of its code. LLVM IR is emitted only if neither the code
// cache nor the object cache has that key (codegen/jit/compiler.cpp).
//
// Invariant: function i of a kind belongs to nest i or tile i of the Program, and is valid as long
// as the CpuProgram holds its Code.

namespace aoe {
namespace {

using Codes = std::vector<std::shared_ptr<const Code>>;

class CpuProgram : public Executor {
 public:
  CpuProgram(Program program, ProgramFunctions functions, Device device, Codes codes)
      : Executor(std::move(program), std::move(functions), device.vector_bytes),
        device_(std::move(device)),
        codes_(std::move(codes)) {}

  std::vector<CompiledFunction> functions() const override {
    std::vector<CompiledFunction> functions;
    for (const auto& code : codes_) {
      functions.push_back({code->entry(), code->bytes(), code->spills(), code->compile_ms()});
    }
    return functions;
  }

  // Emits all functions again: only their machine code is kept.
  std::string listing(Listing form) const override {
    const auto text = form == Listing::llvm ? llvm_text : assembly_text;
    std::string listing;
    for (const Nest& nest : program().nests) listing += text(device_, emit_nest(nest, device_));
    for (const Tile& tile : program().tiles) listing += text(device_, emit_tile(tile, device_));
    return listing;
  }

 private:
  Device device_;
  Codes codes_;
};

class CpuBackend : public Backend {
 public:
  using Backend::Backend;

  std::shared_ptr<const Backend> with(Device device) const override {
    return cpu_backend(std::move(device));
  }

  std::unique_ptr<const CompiledProgram> compile(
      Program program, std::vector<Tensor> packed_weights) const override {
    Codes codes;
    ProgramFunctions functions;
    const auto code_for = [&](const std::string& key, const EmitModule& emit) -> const Code& {
      return *codes.emplace_back(aoe::compile(key, device(), emit));
    };
    for (size_t i = 0; i < program.nests.size(); ++i) {
      const EmitModule emit = emit_nest(program.nests[i], device());
      functions.nests.emplace_back(code_for(program.nest_texts[i], emit).as<NestCode>());
    }
    for (size_t i = 0; i < program.tiles.size(); ++i) {
      const EmitModule emit = emit_tile(program.tiles[i], device());
      functions.tiles.emplace_back(code_for(program.tile_texts[i], emit).as<TileCode>());
    }
    functions.weights = std::move(packed_weights);
    return std::make_unique<CpuProgram>(std::move(program), std::move(functions), device(),
                                        std::move(codes));
  }
};

}  // namespace

std::shared_ptr<const Backend> cpu_backend(Device device) {
  return std::make_shared<const CpuBackend>(std::move(device));
}

std::shared_ptr<const Backend> host_backend() {
  static const std::shared_ptr<const Backend> backend = cpu_backend(host_device());
  return backend;
}

}  // namespace aoe
