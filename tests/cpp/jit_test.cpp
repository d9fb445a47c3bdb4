#include "codegen/jit/compiler.h"

#include <gtest/gtest.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <array>
#include <atomic>
#include <barrier>
#include <cmath>
#include <fstream>
#include <thread>

#include "base/error.h"
#include "codegen/emit/function_builder.h"
#include "tests/cpp/error_message.h"
#include "tests/cpp/temporary_folder.h"

namespace aoe {
namespace {

using Adds = int64_t(int64_t);

// Emits x + n as a loop of n steps.
EmitModule adds(int64_t n) {
  return [n](llvm::Module& module) {
    llvm::Type* const number = llvm::Type::getInt64Ty(module.getContext());
    FunctionBuilder function(module, number, {number});
    std::vector<llvm::Value*> sum{function.parameter(0)};
    function.loop(n, 1, sum, [&](llvm::Value*) {
      sum[0] = function.ir().CreateAdd(sum[0], function.index(1));
    });
    function.ir().CreateRet(sum[0]);
  };
}

// Adds vectors to `count` accumulators that are live throughout one loop.
EmitModule accumulates(const Device& device, int count) {
  return [&device, count](llvm::Module& module) {
    llvm::LLVMContext& context = module.getContext();
    llvm::Type* const data = llvm::PointerType::get(context, 0);
    llvm::Type* const number = llvm::Type::getInt64Ty(context);
    FunctionBuilder function(module, llvm::Type::getVoidTy(context), {data, number});
    llvm::IRBuilder<>& ir = function.ir();
    auto* const vector =
        llvm::FixedVectorType::get(ir.getFloatTy(), static_cast<unsigned>(device.vector_bytes) / 4);
    const auto at = [&](llvm::Value* i) {
      return function.element(function.parameter(0), i, device.vector_bytes);
    };
    std::vector<llvm::Value*> sums;
    for (int i = 0; i < count; ++i) {
      sums.push_back(ir.CreateAlignedLoad(vector, at(function.index(i)), llvm::Align(4)));
    }
    function.loop(function.index(0), function.parameter(1), 1, sums, [&](llvm::Value* i) {
      llvm::Value* const loaded = ir.CreateAlignedLoad(vector, at(i), llvm::Align(4));
      for (llvm::Value*& sum : sums) sum = ir.CreateFAdd(sum, loaded);
    });
    for (int i = 0; i < count; ++i) {
      ir.CreateAlignedStore(sums[static_cast<size_t>(i)], at(function.index(i)), llvm::Align(4));
    }
    ir.CreateRetVoid();
  };
}

bool is_mapped(const void* address) {
  std::ifstream maps("/proc/self/maps");
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  for (std::string line; std::getline(maps, line);) {
    uintptr_t first = 0;
    uintptr_t last = 0;
    if (sscanf(line.c_str(), "%zx-%zx", &first, &last) == 2 && first <= wanted && wanted < last) {
      return true;
    }
  }
  return false;
}

std::shared_ptr<const Code> code_without_object() {
  return std::make_shared<Code>(LoadedObject{}, 0, 0, 0.0);
}

// --- code in memory ---------------------------------------------------------------------------

TEST(CodeCache, HoldsTheLatestAndKnowsWhatOthersHold) {
  CodeCache known(2);
  int made = 0;
  const auto get = [&](const std::string& key) {
    return known.get(key, [&] { return ++made, code_without_object(); });
  };
  const auto held = get("held");
  std::weak_ptr<const Code> first = get("first");
  get("second");
  EXPECT_FALSE(first.expired());
  get("first");
  get("third");
  EXPECT_FALSE(first.expired()) << "it was used after the second";
  EXPECT_EQ(made, 4);
  get("fourth");
  EXPECT_TRUE(first.expired());
  EXPECT_EQ(get("held"), held);
  EXPECT_EQ(made, 5);
}

TEST(CodeCache, DoesNotGrowWithKeysThatNobodyHolds) {
  CodeCache known(10);
  for (int i = 0; i < 10000; ++i) known.get(std::to_string(i), code_without_object);
  EXPECT_LE(known.size(), 20U);
  for (int i = 0; i < 10000; ++i) {
    EXPECT_THROW(known.get(std::to_string(i), []() -> CodeCache::CodePtr { fail("no"); }), Error);
  }
  EXPECT_LE(known.size(), 20U);
}

TEST(CodeCache, RemembersErrorsButNotAccidents) {
  CodeCache known(10);
  int tries = 0;
  const auto fails = [&]() -> CodeCache::CodePtr {
    ++tries;
    fail("the nest is too deep");
  };
  const auto runs_out = [&]() -> CodeCache::CodePtr {
    ++tries;
    throw std::bad_alloc();
  };
  for (int i = 0; i < 3; ++i) EXPECT_THROW(known.get("deep", fails), Error);
  EXPECT_EQ(tries, 1);
  for (int i = 0; i < 3; ++i) EXPECT_THROW(known.get("large", runs_out), std::bad_alloc);
  EXPECT_EQ(tries, 4);
}

// --- machine code -----------------------------------------------------------------------------

TEST(Compiler, TakesWhatAnotherProcessMade) {
  const TemporaryFolder root;
  const ObjectCache disk(root.path() / "objects");
  const Device& device = host_device();
  const auto made = Compiler(disk).compile("forty", device, accumulates(device, 40));
  EXPECT_GT(made->compile_ms(), 0);
  const auto found = Compiler(disk).compile("forty", device, [](llvm::Module&) { FAIL(); });
  EXPECT_EQ(found->compile_ms(), 0);
  EXPECT_EQ(found->spills(), made->spills());
  EXPECT_EQ(found->bytes(), made->bytes());

  Device other = device;
  other.features.set(Feature::fma, !other.has(Feature::fma));
  const auto another = Compiler(disk).compile("forty", other, accumulates(other, 40));
  EXPECT_GT(another->compile_ms(), 0) << "another device's code is not found";
}

TEST(Compiler, CodeFromDiskCallsTheLibraryOfThisProcess) {
  const TemporaryFolder root;
  const ObjectCache disk(root.path() / "objects");
  const auto emit = [](llvm::Module& module) {
    llvm::Type* const number = llvm::Type::getDoubleTy(module.getContext());
    FunctionBuilder function(module, number, {number});
    const auto sine = module.getOrInsertFunction("aoe_sin", number, number);
    function.ir().CreateRet(function.ir().CreateCall(sine, {function.parameter(0)}));
  };
  for (const bool kept : {false, true}) {
    const auto code = Compiler(disk).compile("sine", host_device(), emit);
    EXPECT_EQ(code->compile_ms() == 0, kept);
    EXPECT_EQ(code->as<double(double)>()(0.5), std::sin(0.5));
  }
}

TEST(Compiler, MakesAgainWhatDoesNotLoad) {
  const TemporaryFolder root;
  const ObjectCache disk(root.path() / "objects");
  const std::string key = assembler_text(host_device()) + "five";
  disk.keep(key, {{'n', 'o', ' ', 'o', 'b', 'j', 'e', 'c', 't'}, 0});
  for (const bool kept : {false, true}) {
    const auto code = Compiler(disk).compile("five", host_device(), adds(5));
    EXPECT_EQ(code->compile_ms() == 0, kept);
    EXPECT_EQ(code->as<Adds>()(1), 6);
  }
}

TEST(Compiler, ErrorsAreSentences) {
  Compiler compiler{ObjectCache("")};
  const Device& device = host_device();
  const auto unknown = [](llvm::Module& module) {
    llvm::Type* const nothing = llvm::Type::getVoidTy(module.getContext());
    FunctionBuilder function(module, nothing, {});
    function.ir().CreateCall(module.getOrInsertFunction("of_no_library", nothing));
    function.ir().CreateRetVoid();
  };
  const auto reports = [](llvm::Module& module) {
    adds(1)(module);
    module.getContext().emitError("what it asks for is not there");
  };
  const auto large = [](llvm::Module& module) {
    llvm::LLVMContext& context = module.getContext();
    const std::string text(1 << 20, 'x');
    llvm::Constant* const bytes = llvm::ConstantDataArray::getString(context, text);
    auto* const global = new llvm::GlobalVariable(
        module, bytes->getType(), true, llvm::GlobalValue::InternalLinkage, bytes, "bytes");
    FunctionBuilder function(module, llvm::PointerType::get(context, 0), {});
    function.ir().CreateRet(global);
  };
  struct Case {
    std::string key;
    EmitModule emit;
    std::string message;
  };
  const std::vector<Case> cases{
      {"unknown", unknown, "of_no_library"},
      {"reports", reports, "what it asks for is not there"},
      {"large", large, "bytes of machine code, more than 1048576"},
  };
  for (const Case& c : cases) {
    for (int i = 0; i < 2; ++i) {
      const std::string message =
          message_of([&] { compiler.compile(c.key, device, i == 0 ? c.emit : adds(1)); });
      EXPECT_NE(message.find(c.message), message.npos) << c.key << ": " << message;
    }
  }
}

TEST(Compiler, CountsSpillsInLoops) {
  for (const Feature set : host_device().vector_features()) {
    const Device device = narrowed(host_device(), set);
    EXPECT_EQ(assembled(device, accumulates(device, 8)).spills, 0) << name(set);
    // Each accumulator without a register is reloaded and stored once per iteration.
    const int without = 40 - device.vector_registers;
    const int spills = assembled(device, accumulates(device, 40)).spills;
    EXPECT_GE(spills, without) << name(set);
    EXPECT_LE(spills, 4 * without + 8) << name(set);
  }
}

TEST(Compiler, UnloadsCodeThatNobodyHolds) {
  Compiler compiler(ObjectCache(""), /*recent=*/1);
  auto held = compiler.compile("held", host_device(), adds(7));
  auto* const entry = held->as<Adds>();
  for (int i = 0; i < 10; ++i) compiler.compile(std::to_string(i), host_device(), adds(i));
  EXPECT_EQ(entry(1), 8);
  EXPECT_TRUE(is_mapped(reinterpret_cast<void*>(entry)));
  held.reset();
  EXPECT_FALSE(is_mapped(reinterpret_cast<void*>(entry)));
}

TEST(Compiler, ManyThreadsMakeEachKernelOnce) {
  constexpr int kThreads = 8;
  constexpr int kKernels = 20;
  const TemporaryFolder root;
  Compiler compiler(ObjectCache(root.path() / "objects"), /*recent=*/kKernels / 2);
  std::vector<std::shared_ptr<const Code>> held[kThreads];
  std::array<std::atomic<int>, kKernels> made{};
  std::barrier start(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      host_device();
      start.arrive_and_wait();
      for (int k = 0; k < kKernels; ++k) {
        const auto emit = [&](llvm::Module& module) {
          ++made[static_cast<size_t>(k)];
          adds(k)(module);
        };
        held[t].push_back(compiler.compile(std::to_string(k), host_device(), emit));
        EXPECT_EQ(held[t].back()->as<Adds>()(t), t + k);
        // And a kernel that no other thread requests.
        const int own = 1000 + t * 100 + k;
        EXPECT_EQ(compiler.compile(std::to_string(own), host_device(), adds(own))->as<Adds>()(1),
                  own + 1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int k = 0; k < kKernels; ++k) {
    EXPECT_EQ(made[static_cast<size_t>(k)], 1);
    for (const auto& codes : held) {
      EXPECT_EQ(codes[static_cast<size_t>(k)], held[0][static_cast<size_t>(k)]);
    }
  }
}

}  // namespace
}  // namespace aoe
