#include <gtest/gtest.h>

#include "graph/simplify.h"
#include "plan/plan.h"
#include "tests/cpp/onnx_builder.h"

namespace aoe {
namespace {

// The plan of a model, as text without the keys of workloads.
std::string plan_text(const OnnxBuilder& builder) {
  Graph graph = builder.parse();
  simplify(graph);
  Plan plan = plan_of(graph, Device{});
  std::string text;
  for (size_t at = 0; const PlanStep& step : plan.steps) {
    text += fmt::format("{} {}", at++, graph.nodes[static_cast<size_t>(step.last_node())].name);
    text += step.kind == PlanStep::Kind::in_place ? " in place:" : ":";
    for (const int id : values_made(step, graph)) {
      const BufferAssignment& assignment = plan.assignments[static_cast<size_t>(id)];
      constexpr const char* kWhere[] = {"nothing", "constant", "input",
                                        "output",  "buffer",   "apart"};
      text +=
          fmt::format(" {} {}", graph.value(id).name, kWhere[static_cast<int>(assignment.storage)]);
      if (assignment.index >= 0) text += fmt::format(" {}", assignment.index);
      if (assignment.offset != 0) text += fmt::format(" + {}", assignment.offset);
    }
    for (const PlanStep::Copy& copy : step.copies) {
      text += fmt::format(", {} bytes of {} to {} + {}", copy.bytes, graph.value(copy.from).name,
                          graph.value(copy.to).name, copy.to_offset);
    }
    text += "\n";
  }
  for (const int output : plan.copied_outputs) text += fmt::format("output {} copied\n", output);
  for (const Lifetime& b : plan.buffers) {
    text += fmt::format("{} bytes, {} to {}\n", b.bytes, b.first, b.last);
  }
  return text;
}

void set_axis(onnx::NodeProto& node, int64_t axis) {
  auto* attribute = node.add_attribute();
  attribute->set_name("axis");
  attribute->set_type(2);
  attribute->set_i(axis);
}

TEST(BufferAssignment, AreInTheArenaWhileSomebodyNeedsThem) {
  OnnxBuilder b;
  b.input("x", {4, 4});
  b.node("Softmax", {"x"}, {"a"});
  b.node("Softmax", {"a"}, {"b"});
  b.node("MatMul", {"a", "b"}, {"c"});
  b.node("Softmax", {"c"}, {"y"});
  b.output("y");
  EXPECT_EQ(plan_text(b),
            "0 Softmax_a: a buffer 0\n"
            "1 Softmax_b: b buffer 1\n"
            "2 MatMul_c: c buffer 2\n"
            "3 Softmax_y: y output 0\n"
            "64 bytes, 0 to 2\n"
            "64 bytes, 1 to 2\n"
            "64 bytes, 2 to 3\n");
}

TEST(BufferAssignment, AreThoseOfWhatTheyAreShapesOrSlicesOf) {
  OnnxBuilder b;
  b.input("x", {4, 6});
  b.node("Softmax", {"x"}, {"a"});
  b.ints("columns", {6, 4});
  b.node("Reshape", {"a", "columns"}, {"b"});
  b.node("Softmax", {"b"}, {"c"});
  b.ints("parts", {1, 5});
  set_axis(b.node("Split", {"c", "parts"}, {"d", "e"}), 0);
  b.node("MatMul", {"e", "m"}, {"y"});
  b.node("MatMul", {"d", "m"}, {"z"});
  b.floats("m", {4, 1}, {1, 2, 3, 4});
  b.output("y");
  b.output("z");
  EXPECT_EQ(plan_text(b),
            "0 Softmax_a: a buffer 0\n"
            "1 Reshape_b in place: b buffer 0\n"
            "2 Softmax_c: c buffer 1\n"
            "3 Split_d in place: d buffer 1 e buffer 1 + 16\n"
            "4 MatMul_y: y output 0\n"
            "5 MatMul_z: z output 1\n"
            "96 bytes, 0 to 2\n"
            "96 bytes, 2 to 5\n");
}

TEST(BufferAssignment, AreInsideWhatTheyAreJoinedTo) {
  OnnxBuilder b;
  b.input("x", {1, 2, 4});
  b.node("Softmax", {"x"}, {"a"});
  b.node("Softmax", {"a"}, {"b"});
  set_axis(b.node("Concat", {"a", "b"}, {"ab"}), 1);
  b.node("Softmax", {"ab"}, {"c"});
  // Parts: a concatenation, a value that is already inside another, and the caller's input.
  set_axis(b.node("Concat", {"ab", "c", "a", "x"}, {"all"}), 1);
  b.node("Softmax", {"all"}, {"y"});
  b.output("y");
  EXPECT_EQ(plan_text(b),
            "0 Softmax_a: a buffer 0\n"
            "1 Softmax_b: b buffer 0 + 32\n"
            "2 Concat_ab in place: ab buffer 0\n"
            "3 Softmax_c: c buffer 0 + 64\n"
            "4 Concat_all in place: all buffer 0, 32 bytes of a to all + 128, 32 bytes of x to all "
            "+ 160\n"
            "5 Softmax_y: y output 0\n"
            "192 bytes, 0 to 5\n");
}

TEST(BufferAssignment, AreTheCallersForOutputs) {
  OnnxBuilder b;
  b.input("x", {1, 4});
  b.node("Softmax", {"x"}, {"a"});
  b.ints("column", {4, 1});
  b.node("Reshape", {"a", "column"}, {"y"});
  b.node("Softmax", {"a"}, {"c"});
  b.node("Softmax", {"c"}, {"d"});
  set_axis(b.node("Concat", {"c", "d"}, {"z"}), 0);
  b.node("Identity", {"x"}, {"w"});
  // Outputs: `a` reshaped, a concatenation, one of its parts, and the input.
  for (const char* name : {"y", "z", "d", "w"}) b.output(name);
  EXPECT_EQ(plan_text(b),
            "0 Softmax_a: a output 0\n"
            "1 Reshape_y in place: y output 0\n"
            "2 Softmax_c: c output 1\n"
            "3 Softmax_d: d output 1 + 16\n"
            "4 Concat_z in place: z output 1\n"
            "5 Identity_w in place: w input 0\n"
            "output 2 copied\n"
            "output 3 copied\n");
}

TEST(BufferAssignment, AreApartForHostKernels) {
  OnnxBuilder b;
  b.input("x", {1, 4});
  b.input("flag", {4}, 9);
  b.node("Softmax", {"x"}, {"a"});
  b.ints("flat", {4});
  b.node("Reshape", {"a", "flat"}, {"b"});
  b.node("NonZero", {"b"}, {"c"});
  b.node("Not", {"flag"}, {"d"});
  // After one (TopK), if the size is known.
  b.ints("two", {2});
  b.node("TopK", {"x", "two"}, {"e", "i"});
  b.ints("column", {2, 1});
  b.node("Reshape", {"e", "column"}, {"f"});
  b.node("Softmax", {"f"}, {"g"});
  b.output("c");
  b.output("d");
  b.output("g");
  EXPECT_EQ(plan_text(b),
            "0 Softmax_a: a apart\n"
            "1 Reshape_b in place: b apart, 16 bytes of a to b + 0\n"
            "2 NonZero_c: c apart\n"
            "3 Not_d: d output 1\n"
            "4 TopK_e: e apart i apart\n"
            "5 Reshape_f in place: f apart, 8 bytes of e to f + 0\n"
            "6 Softmax_g: g output 2\n"
            "4 bytes, 0 to 3\n");
}

}  // namespace
}  // namespace aoe
