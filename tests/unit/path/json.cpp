// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A path in JSON: the same members whatever its kind, null where it has no such thing.
#include "path/path.hpp"

#include "iba/text.hpp"
#include "report/json.hpp"
#include "support/catch.hpp"

namespace path_json_tests {

using namespace ib;

namespace {

std::string json_of(const path::Path& path) {
  std::string out;
  report::JsonSink sink(out, report::JsonStyle::lines);
  sink.begin_object();
  path::visit(sink, "path", path);
  sink.end_object();
  return out;
}

}  // namespace

TEST_CASE("a LID-routed path in JSON") {
  path::IbPath ib;
  ib.dlid = Lid{18};
  ib.dqpn = Qpn{1};
  CHECK(json_of(ib) ==
        R"({"path":{"kind":"lid","end_port":null,"slid":null,"dlid":18,"sl":0,"pkey":65535,"dqpn":1,"sgid":null,"dgid":null,)"
        R"("hop_limit":null,"traffic_class":null,"flow_label":null,"route":null,"dr_slid":null,"dr_dlid":null}})"
        "\n");
  ib.has_grh = true;
  ib.dgid = *parse_gid("fe80::1");
  ib.hop_limit = 64;
  CHECK(json_of(ib) == R"({"path":{"kind":"gid","end_port":null,"slid":null,"dlid":18,"sl":0,"pkey":65535,"dqpn":1,"sgid":null,)"
                       R"("dgid":"fe80::1","hop_limit":64,"traffic_class":0,"flow_label":0,"route":null,"dr_slid":null,"dr_dlid":null}})"
                       "\n");
}

TEST_CASE("a directed path in JSON, the empty one too") {
  sys::Device device;
  device.name = "mlx5_0";
  sys::EndPort port;
  port.device = &device;
  port.number = 1;
  path::IbDrPath directed(&port);
  CHECK(
      json_of(directed) ==
      R"({"path":{"kind":"directed","end_port":"mlx5_0/1","slid":65535,"dlid":65535,"sl":0,"pkey":65535,"dqpn":0,"sgid":null,"dgid":null,)"
      R"("hop_limit":null,"traffic_class":null,"flow_label":null,"route":[],"dr_slid":65535,"dr_dlid":65535}})"
      "\n");
  const path::Path further = *directed.advance(7);
  CHECK(json_of(further).find(R"("route":[7])") != std::string::npos);
}

}  // namespace path_json_tests
