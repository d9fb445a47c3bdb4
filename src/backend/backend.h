#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "base/tensor.h"
#include "device/device.h"
#include "program/program.h"

namespace aoe {

// A function that a backend compiled for a nest or a tile of a Program.
struct CompiledFunction {
  const void* entry = nullptr;  // programs with the same function share its code
  size_t bytes = 0;             // of machine code
  // Instructions in innermost loops that store a vector register to the stack or reload one.
  int spills = 0;
  double compile_ms = 0;  // in this process; 0 if the code came from a cache on disk
};

// A Program compiled for a device. Immutable: any number of threads may run it at once.
class CompiledProgram {
 public:
  virtual ~CompiledProgram() = default;

  virtual const Program& program() const = 0;

  // Size of the work memory of a run, for all threads together. Values are not part of it.
  virtual int64_t work_bytes() const = 0;
  // Runs the program. `values` has the address of every value that the program uses; `work` has
  // work_bytes(). Returns false if a loaded index was out of range; the outputs are then undefined.
  virtual bool run(void* const* values, std::byte* work, bool flush_denormals) const = 0;

  // The compiled functions; none if the backend generates no code.
  virtual std::vector<CompiledFunction> functions() const { return {}; }
  // The functions as readable text; empty if the backend generates no code.
  enum class Listing : uint8_t { llvm, assembly };
  virtual std::string listing(Listing /*form*/) const { return {}; }
};

// Alignment of work memory and of each thread's part of it, in bytes: a cache line, so that no two
// threads write to the same one.
inline constexpr int64_t kWorkAlignment = 64;
inline int64_t aligned_work(int64_t bytes) {
  return (bytes + kWorkAlignment - 1) / kWorkAlignment * kWorkAlignment;
}

// A Backend is the interface to a device: it describes the device, allocates its memory, compiles
// Programs that then run on it, and measures their time. Immutable and shared by everything that
// makes kernels for the device; any thread may call it.
//
// Implementations: `cpu_backend` (codegen/cpu_backend.h) generates machine code;
// `interpreter_backend` (backend/interpreter.h) generates none and is the test oracle that tells
// errors of Programs from those of code generation. The defaults of `allocate` and `time_ns` are
// the host's memory and clock.
class Backend {
 public:
  explicit Backend(Device device) : device_(std::move(device)) {}
  virtual ~Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  const Device& device() const { return device_; }
  // The same backend for another description of its device, such as one with narrower vectors.
  virtual std::shared_ptr<const Backend> with(Device device) const = 0;

  // Aligned for the widest vectors, uninitialized; null if there is no memory left.
  virtual std::shared_ptr<void> allocate(int64_t bytes) const;

  // `packed_weights`: the contents of Program::weights, in their order.
  virtual std::unique_ptr<const CompiledProgram> compile(
      Program program, std::vector<Tensor> packed_weights) const = 0;

  // Returns the time in nanoseconds for which `run`, which runs compiled programs, uses the device.
  virtual double time_ns(FunctionRef<void()> run) const;

 private:
  const Device device_;
};

// The backend for the vectors that an option `kernels` names: "" is `host` itself, "sse2", "avx2"
// and "avx512" are the same with no wider vectors, "reference" is null (no kernels: the reference
// evaluator runs workloads). Throws Error for other names and for vectors that the device lacks.
std::shared_ptr<const Backend> backend_for(const std::shared_ptr<const Backend>& host,
                                           const std::string& kernels);

}  // namespace aoe
