#include "codegen/emit/math_functions.h"

#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

#include <array>
#include <functional>
#include <optional>
#include <vector>

// All coefficients are minimax fits. Their rounding to f32 was chosen to minimize the largest error
// found.

namespace aoe {
namespace {

using Value = llvm::Value*;
namespace Intrinsic = llvm::Intrinsic;

// x + kRounder has the integer nearest to a small x in its low bits.
constexpr double kRounder = 0x1.8p23;

// Applies an instruction of constant width to vectors of any length: `body` gets parts of `width`
// lanes, the last one filled up with anything.
Value in_parts(const VectorIr& ir, int width, const std::vector<Value>& operands,
               const std::function<Value(const std::vector<Value>&)>& body) {
  llvm::IRBuilder<>& b = ir.b;
  const int lanes = lanes_of(operands[0]);
  if (lanes == width) return body(operands);
  std::vector<Value> parts;
  for (int first = 0; first < lanes; first += width) {
    const int count = std::min(width, lanes - first);
    const auto chosen = llvm::createSequentialMask(first, count, width - count);
    std::vector<Value> part;
    for (Value operand : operands) {
      if (lanes == 1) {
        Value any = llvm::PoisonValue::get(with_lanes(operand->getType(), width));
        part.push_back(b.CreateInsertElement(any, operand, uint64_t{0}));
      } else {
        part.push_back(b.CreateShuffleVector(operand, chosen));
      }
    }
    parts.push_back(body(part));
  }
  if (lanes == 1) return b.CreateExtractElement(parts[0], uint64_t{0});
  Value all = llvm::concatenateVectors(b, parts);
  if (lanes_of(all) == lanes) return all;
  return b.CreateShuffleVector(all, llvm::createSequentialMask(0, lanes, 0));
}

// f32 lanes of the registers that hold a vector of `lanes`: 16 or 8.
int register_lanes(const VectorIr& ir, int lanes) {
  const bool wide = ir.device.has(Feature::avx512) && ir.device.vector_bytes == 64;
  return wide && lanes > 8 ? 16 : 8;
}

// Applies an AVX-512 instruction to two operands and, optionally, an immediate operand `how`. Its
// intrinsic also takes the values of masked-off lanes, a mask (here of all lanes), and in 512 bits
// a rounding mode (the current one).
Value masked(const VectorIr& ir, llvm::Intrinsic::ID on_8, llvm::Intrinsic::ID on_16, Value x,
             Value y, std::optional<uint32_t> how) {
  llvm::IRBuilder<>& b = ir.b;
  const int width = register_lanes(ir, lanes_of(x));
  return in_parts(ir, width, {x, y}, [&](std::vector<Value> operands) {
    if (how) operands.push_back(b.getInt32(*how));
    operands.push_back(operands[0]);
    operands.push_back(llvm::Constant::getAllOnesValue(b.getIntNTy(width)));
    if (width == 16) operands.push_back(b.getInt32(VectorIr::kCurrentRounding));
    return b.CreateIntrinsic(width == 16 ? on_16 : on_8, {}, operands);
  });
}

// x * 2^floor(n), for n of any magnitude.
Value scaled(const VectorIr& ir, Value x, Value n) {
  return masked(ir, Intrinsic::x86_avx512_mask_scalef_ps_256,
                Intrinsic::x86_avx512_mask_scalef_ps_512, x, n, std::nullopt);
}

// x clamped to [-bound, bound], also if it is NaN. One instruction.
Value within(const VectorIr& ir, Value x, double bound) {
  constexpr uint32_t kNearest = 2;  // the smaller magnitude, with the sign of the first operand
  return masked(ir, Intrinsic::x86_avx512_mask_range_ps_256,
                Intrinsic::x86_avx512_mask_range_ps_512, x, ir.number(x, bound), kNearest);
}

// table[index] in each lane; only the low bits of `index` count.
Value looked_up(const VectorIr& ir, llvm::ArrayRef<float> table, Value index) {
  llvm::IRBuilder<>& b = ir.b;
  llvm::LLVMContext& context = b.getContext();
  const int width = static_cast<int>(table.size());
  if (ir.device.has(Feature::avx2)) {
    llvm::Constant* const entries = llvm::ConstantDataVector::get(context, table);
    return in_parts(ir, width, {index}, [&](const std::vector<Value>& part) -> Value {
      const auto id =
          width == 16 ? Intrinsic::x86_avx512_permvar_sf_512 : Intrinsic::x86_avx2_permps;
      return b.CreateIntrinsic(id, {}, {entries, part[0]});
    });
  }
  llvm::Constant* const entries = llvm::ConstantDataArray::get(context, table);
  auto* const memory =
      new llvm::GlobalVariable(*b.GetInsertBlock()->getModule(), entries->getType(), true,
                               llvm::GlobalValue::PrivateLinkage, entries);
  Value position = b.CreateAnd(index, ir.integer(index, width - 1));
  return ir.each_lane({position}, [&](const std::vector<Value>& which) {
    return b.CreateLoad(b.getFloatTy(), b.CreateGEP(b.getFloatTy(), memory, which[0]));
  });
}

// Piecewise polynomials for erf. Piece i is centred at i * width; its coefficients, highest power
// first, are for the distance from there. Piece 0 has no constant term, and the others are fitted
// to erf(x) / x.
template <size_t Places, size_t Powers>
struct ErfTable {
  double width;
  double end;  // arguments are clamped to this, where the result is 1
  std::array<std::array<float, Places>, Powers> coefficients;
};

constexpr ErfTable<8, 7> kErf8{
    547.0 / 1024,
    4.004,
    {{
        {-0.020687798f, -0.0473882705f, 0.0101124188f, 0.015252158f, -0.0017531988f,
         -0.00202951417f, -0.000336647674f, -2.24686064e-05f},
        {0.118930511f, -0.00180445705f, -0.0643725172f, -0.00488312962f, 0.0121411663f,
         0.00371334003f, 0.000417927775f, 2.18858222e-05f},
        {-0.000833649654f, 0.183433652f, 0.0460886732f, -0.0493621118f, -0.0256437007f,
         -0.00451491075f, -0.000364824285f, -1.476127e-05f},
        {-0.376074642f, -0.121422291f, 0.154040158f, 0.119319722f, 0.0318267681f, 0.00397803029f,
         0.00025322428f, 8.50539345e-06f},
        {-1.1776898e-06f, -0.453124285f, -0.385011584f, -0.138655975f, -0.0250841007f,
         -0.00240429002f, -0.000125036895f, -3.57375802e-06f},
        {1.12837923f, 0.84826231f, 0.360375702f, 0.0865224004f, 0.0117395613f, 0.000900206156f,
         3.9016184e-05f, 9.55998985e-07f},
        {0.f, 0.550017476f, 0.869183123f, 0.976568937f, 0.997487068f, 0.999841392f, 0.999994159f,
         0.999999881f},
    }}};

constexpr ErfTable<16, 6> kErf16{
    65.0 / 256,
    3.925,
    {{
        {0.111030675f, 0.0799046308f, 0.00585085619f, -0.0542974323f, -0.0682317913f, -0.044611346f,
         -0.012387407f, 0.00780827319f, 0.0130171711f, 0.0100167813f, 0.00549923303f,
         0.00237286394f, 0.000837266562f, 0.000246645679f, 6.14197634e-05f, 1.34158545e-05f},
        {0.000270600314f, 0.127554655f, 0.182121322f, 0.146900252f, 0.0639468953f, -0.010119997f,
         -0.0457363613f, -0.046910502f, -0.032401301f, -0.0173378531f, -0.00755433226f,
         -0.00274578389f, -0.000844135473f, -0.000221433205f, -4.98598529e-05f, -9.64857281e-06f},
        {-0.376140416f, -0.307196289f, -0.14075397f, 0.0337688588f, 0.142520696f, 0.166877806f,
         0.134496048f, 0.084951058f, 0.0440461487f, 0.019170247f, 0.00709270826f, 0.00224853889f,
         0.000614050368f, 0.00014499684f, 2.9687124e-05f, 5.27580914e-06f},
        {2.4235996e-07f, -0.268609107f, -0.442749709f, -0.481129497f, -0.408523619f, -0.285855591f,
         -0.168790966f, -0.0851760432f, -0.0370108709f, -0.0139154689f, -0.00454218872f,
         -0.00129020482f, -0.000319474289f, -6.90511952e-05f, -1.30409626e-05f, -2.15412115e-06f},
        {1.12837923f, 1.05792975f, 0.871890664f, 0.631641567f, 0.402237773f, 0.225163743f,
         0.110794336f, 0.0479225703f, 0.0182207469f, 0.00608969713f, 0.00178907625f,
         0.000462025171f, 0.000104883278f, 2.09291138e-05f, 3.67112921e-06f, 5.66062795e-07f},
        {0.f, 0.28046301f, 0.527338445f, 0.718623817f, 0.849086046f, 0.927408159f, 0.968796372f,
         0.988047481f, 0.995929182f, 0.998769462f, 0.999670327f, 0.999921799f, 0.999983609f,
         0.99999696f, 0.999999523f, 0.99999994f},
    }}};

template <size_t Places, size_t Powers>
Value erf_by(const VectorIr& ir, const ErfTable<Places, Powers>& table, Value x) {
  llvm::IRBuilder<>& b = ir.b;
  Value size = ir.at_most(ir.absolute(x), table.end);
  Value shifted = ir.multiply_add(size, ir.number(x, 1 / table.width), kRounder);
  Value place = b.CreateFSub(shifted, ir.number(x, kRounder));
  Value distance = ir.multiply_add(place, ir.number(x, -table.width), size);
  Value index = ir.bits_of(shifted);
  Value sum = nullptr;
  for (const auto& coefficients : table.coefficients) {
    Value coefficient = looked_up(ir, coefficients, index);
    sum = sum == nullptr ? coefficient : ir.multiply_add(sum, distance, coefficient);
  }
  Value bits = ir.bits_of(x);
  Value sign = b.CreateAnd(bits, ir.integer(bits, 0x80000000));
  return ir.floats_of(b.CreateOr(ir.bits_of(sum), sign));
}

// Table of 2^(i / Places), and the polynomial 1 + r + second r^2 + third r^3 for e^r of the
// remainder r.
template <size_t Places>
struct ExpTable {
  double second;
  double third;
  std::array<float, Places> powers;
};

constexpr ExpTable<8> kExp8{0.5000647306442261,
                            0.1666685938835144,
                            {1.f, 1.09050775f, 1.18920708f, 1.29683959f, 1.41421354f, 1.54221082f,
                             1.68179286f, 1.8340081f}};

constexpr ExpTable<16> kExp16{0.5000162124633789,
                              0.16666719317436218,
                              {1.f, 1.04427373f, 1.09050775f, 1.13878858f, 1.18920708f, 1.24185777f,
                               1.29683959f, 1.35425556f, 1.41421354f, 1.47682619f, 1.54221082f,
                               1.61049032f, 1.68179286f, 1.75625217f, 1.8340081f, 1.91520655f}};

// ln 2 = kLn2 + kLn2Rest (Cody and Waite): the product of kLn2 and a short integer is exact.
constexpr double kLn2 = 0.693359375;
constexpr double kLn2Rest = -2.12194440e-4;
constexpr double kLog2E = 1.44269504;

// The integer part of x / ln 2 is the exponent of the result, the first bits of its fraction are an
// index into the table.
template <size_t Places>
Value exponential_by(const VectorIr& ir, const ExpTable<Places>& table, Value x) {
  llvm::IRBuilder<>& b = ir.b;
  constexpr double kPlaceRounder = kRounder / Places;
  Value shifted = ir.multiply_add(x, ir.number(x, kLog2E), kPlaceRounder);
  Value n = b.CreateFSub(shifted, ir.number(x, kPlaceRounder));
  Value rest = ir.multiply_add(n, ir.number(x, -kLn2), x);
  rest = ir.multiply_add(n, ir.number(x, -kLn2Rest), rest);
  // For x so large that no digit of `rest` is correct, n alone determines the result.
  rest = within(ir, rest, 0.5 / Places);
  Value power = looked_up(ir, table.powers, ir.bits_of(shifted));
  Value series = ir.polynomial(rest, {table.third, table.second, 1});
  return scaled(ir, ir.multiply_add(b.CreateFMul(power, rest), series, power), n);
}

}  // namespace

llvm::Value* exponential(const VectorIr& ir, Value x) {
  llvm::IRBuilder<>& b = ir.b;
  if (ir.device.has(Feature::avx512)) {
    return register_lanes(ir, lanes_of(x)) == 16 ? exponential_by(ir, kExp16, x)
                                                 : exponential_by(ir, kExp8, x);
  }
  // At these bounds the result is infinity or zero; beyond them the arithmetic would overflow.
  x = ir.at_least(ir.at_most(x, 89), -87.6);
  Value shifted = ir.multiply_add(x, ir.number(x, kLog2E), kRounder);
  Value n = b.CreateFSub(shifted, ir.number(x, kRounder));
  Value rest = ir.multiply_add(n, ir.number(x, -kLn2), x);
  rest = ir.multiply_add(n, ir.number(x, -kLn2Rest), rest);
  // Computes 2 e^rest, times 2^(n - 1) below: n reaches 128, and 2^128 is no f32.
  Value power = ir.polynomial(
      rest, {2 * 0.001381454017909721, 2 * 0.008368745108871561, 2 * 0.04166839078349953,
             2 * 0.16666520399043294, 2 * 0.49999993432129536, 2, 2});
  // The low bits of `shifted` become the exponent n - 1; n = -126 has the pattern of zero.
  Value exponent = b.CreateShl(ir.bits_of(shifted), 23);
  exponent = b.CreateAdd(exponent, ir.integer(exponent, int64_t{126} << 23));
  return b.CreateFMul(power, ir.floats_of(exponent));
}

llvm::Value* logarithm(const VectorIr& ir, Value x) {
  llvm::IRBuilder<>& b = ir.b;
  llvm::Type* const type = x->getType();
  // Denormals, unless they are flushed: scaled up, since their exponent is not in the bits.
  Value tiny = b.CreateFCmpOLT(x, ir.number(x, 0x1p-126));
  Value normal = b.CreateSelect(tiny, b.CreateFMul(x, ir.number(x, 0x1p23)), x);
  // x = 2^exponent (1 + f) with 1 + f between the square roots of 1/2 and of 2.
  Value bits = ir.bits_of(normal);
  Value exponent = b.CreateAShr(b.CreateSub(bits, ir.integer(bits, 0x3f3504f3)), 23);
  Value f =
      b.CreateFSub(ir.floats_of(b.CreateSub(bits, b.CreateShl(exponent, 23))), ir.number(x, 1));
  Value n = b.CreateFAdd(b.CreateSIToFP(exponent, type),
                         b.CreateSelect(tiny, ir.number(x, -23), ir.number(x, 0)));
  Value series = ir.polynomial(
      f, {0.08700452744960785, -0.14267490804195404, 0.1491476446390152, -0.1657758355140686,
          0.19963064789772034, -0.2500133812427521, 0.3333390951156616, -0.5});
  Value rest = ir.multiply_add(n, ir.number(x, kLn2Rest), b.CreateFMul(b.CreateFMul(f, f), series));
  Value result = ir.multiply_add(n, ir.number(x, kLn2), b.CreateFAdd(f, rest));
  Value infinity = llvm::ConstantFP::getInfinity(type);
  result = b.CreateSelect(b.CreateFCmpOEQ(x, infinity), infinity, result);
  Value zero = b.CreateFCmpOEQ(x, ir.number(x, 0));
  Value below = b.CreateSelect(zero, llvm::ConstantFP::getInfinity(type, true),
                               llvm::ConstantFP::getNaN(type));
  return b.CreateSelect(b.CreateFCmpOGT(x, ir.number(x, 0)), result, below);
}

llvm::Value* hyperbolic_tangent(const VectorIr& ir, Value x) {
  llvm::IRBuilder<>& b = ir.b;
  // From 8.851 on, tanh is 1 or the float next to it; at 8.851 the formula below gives 1.
  x = ir.at_least(ir.at_most(x, 8.851), -8.851);
  // tanh(x / 2) = n / d with an odd n and an even d, so that tanh(x) = 2 n d / (n^2 + d^2). Near 1,
  // where n and d are close, this depends on their errors only in second order.
  Value square = b.CreateFMul(x, x);
  // Both are scaled by 1.8125. The constant term of d would otherwise be 1, and small x would give
  // a d just above a power of two, where rounding is twice as coarse as just below one.
  Value n = b.CreateFMul(
      x, ir.polynomial(square, {0.00010313414531992748, 0.026963351294398308, 0.90625}));
  Value d = ir.polynomial(
      square, {2.2106462438387098e-06, 0.0021828743629157543, 0.20496827363967896, 1.8125});
  Value product = b.CreateFMul(n, d);
  Value twice = b.CreateFAdd(product, product);
  Value result = b.CreateFDiv(twice, ir.multiply_add(n, n, b.CreateFMul(d, d)));
  // Without fma, the products are rounded separately, and the result may exceed 1.
  return ir.has_fma() ? result : ir.at_least(ir.at_most(result, 1), -1);
}

llvm::Value* error_function(const VectorIr& ir, Value x) {
  // The table has as many pieces as a permutation of one register can look up.
  return register_lanes(ir, lanes_of(x)) == 16 ? erf_by(ir, kErf16, x) : erf_by(ir, kErf8, x);
}

}  // namespace aoe
