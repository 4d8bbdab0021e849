// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// smpquery of infiniband-diags: one attribute of subnet management of one node. What an operation prints stands in
// smpquery_ops.cpp; this is the command line.
#include <fmt/format.h>

#include "diags/console.hpp"
#include "diags/legacy.hpp"
#include "diags/smpquery_ops.hpp"
#include "diags/tools.hpp"

namespace ib::diags {
namespace {

constexpr int node_name_map_letter = 1;

constexpr Option options[]{
    {"combined", 'c', nullptr, "use Combined route address argument"},
    {"node-name-map", node_name_map_letter, "<file>", "node name map file"},
    {"extended", 'x', nullptr, "use extended speeds"},
};
constexpr const char* examples[]{
    "portinfo 3 1\t\t\t\t# portinfo by lid, with port modifier",
    "-G switchinfo 0x2C9000100D051 1\t# switchinfo by guid",
    "-D nodeinfo 0\t\t\t\t# nodeinfo by direct route",
    "-c nodeinfo 6 0,12\t\t\t# nodeinfo by combined route",
};
constexpr Tool smpquery_tool{"smpquery",
                             "<op> <dest dr_path|lid|guid> [op params]\n"
                             "\nSupported ops (and aliases, case insensitive):\n"
                             "  NodeInfo (NI) <addr>\n"
                             "  NodeDesc (ND) <addr>\n"
                             "  PortInfo (PI) <addr> [<portnum>]\n"
                             "  PortInfoExtended (PIE) <addr> [<portnum>]\n"
                             "  SwitchInfo (SI) <addr>\n"
                             "  PKeyTable (PKeys) <addr> [<portnum>]\n"
                             "  SL2VLTable (SL2VL) <addr> [<portnum>]\n"
                             "  VLArbitration (VLArb) <addr> [<portnum>]\n"
                             "  GUIDInfo (GI) <addr>\n"
                             "  MlnxExtPortInfo (MEPI) <addr> [<portnum>]\n",
                             "", options, examples};

class Smpquery : public Legacy {
 public:
  const Tool& tool() const override { return smpquery_tool; }

  void option(int letter, const char* value, Settings& settings) override {
    if (letter == 'c') settings.destination = Destination::combined;
    if (letter == 'x') extended_ = true;
    if (letter == node_name_map_letter) map_file_ = value;
  }

  async::Task<> run(Context& context) override {
    const auto& arguments = context.arguments;
    if (arguments.size() < 2) throw Stop{2, usage_text(smpquery_tool)};
    const Operation* operation = find_operation(arguments[0]);
    if (operation == nullptr) throw Failure("main", fmt::format("operation '{}' not supported", arguments[0]));
    Fabric fabric(context);
    const subnet::NodeNameMap names = read_node_names(map_file_);
    std::string address = arguments[1];
    std::optional<Target> target;
    const bool combined = context.settings.destination == Destination::combined;
    if (combined) {
      address += " " + (arguments.size() > 2 ? arguments[2] : "(null)");
      target = fabric.combined(address);
    } else {
      target = co_await fabric.resolve(address);
    }
    if (!target) throw Failure("main", fmt::format("can't resolve destination port {}", address));
    Query query{
        fabric, *target, context.out, arguments[0], static_cast<int>(context.number(combined ? 3 : 2)), extended_, context.settings.keys,
        names};
    co_await operation->run(query);
  }

 private:
  bool extended_ = false;
  std::string map_file_;
};

}  // namespace

int smpquery(std::span<char* const> words) { return run_legacy<Smpquery>(words); }

}  // namespace ib::diags
