#include "measure/host/roofline.h"

namespace aoe {

Roofline roofline_of(double operations, double bytes, double ns, const Rates& rates) {
  const bool by_operations = operations * rates.copy_gbps > bytes * rates.fma_gflops;
  const double rate = (by_operations ? operations : bytes) / ns;
  return {by_operations, rate, rate / (by_operations ? rates.fma_gflops : rates.copy_gbps)};
}

}  // namespace aoe
