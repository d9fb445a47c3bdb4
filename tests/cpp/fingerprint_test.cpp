#include "device/fingerprint.h"

#include <gtest/gtest.h>

namespace aoe {
namespace {

const std::array<Cache, 3> kCaches{Cache{32 << 10}, Cache{1 << 20}, Cache{32 << 20}};

TEST(Fingerprint, NamesWhatMayDiffer) {
  const char* const cpuinfo =
      "processor\t: 0\nmodel name\t: Some Processor @ 2.60GHz\nmicrocode\t: 0xa101148\n"
      "cpu MHz\t\t: 3241.7\n\nprocessor\t: 1\nmicrocode\t: 0xa101149\n";
  EXPECT_EQ(fingerprint(cpuinfo, "", kCaches), "microcode 0xa101148, 2.60 GHz, caches 32K 1M 32M");
  EXPECT_EQ(fingerprint(cpuinfo, "3100000", kCaches),
            "microcode 0xa101148, 3.10 GHz, caches 32K 1M 32M");
}

TEST(Fingerprint, LeavesOutWhatIsNotKnown) {
  EXPECT_EQ(fingerprint("", "", {}), "");
  EXPECT_EQ(fingerprint("model name : AMD EPYC\n", "?", {kCaches[0]}), "caches 32K");
}

TEST(Fingerprint, OfTheHostStaysTheSame) {
  EXPECT_EQ(host_device().fingerprint, host_fingerprint(host_device().caches));
}

}  // namespace
}  // namespace aoe
