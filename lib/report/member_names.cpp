// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "report/member_names.hpp"

#include <algorithm>

namespace ib::report {
namespace {

class NameSink final : public Sink {
 public:
  void begin_object(std::string_view key) override { open(key, "."); }
  void end_object() override { prefixes_.pop_back(); }
  void begin_array(std::string_view key) override {
    add(key);
    open(key, "[].");
  }
  void end_array() override { prefixes_.pop_back(); }
  void literal(std::string_view key, std::string_view /*value*/, const Measure& /*measure*/) override { add(key); }
  void text(std::string_view key, std::string_view /*value*/) override { add(key); }
  void null_object(std::string_view key, const std::function<void(Sink&)>& unknown_members) override {
    begin_object(key);
    unknown_members(*this);
    end_object();
  }
  void unwind() override { prefixes_.clear(); }

  std::vector<std::string> names;

 private:
  /// An element of a list has no key.
  void open(std::string_view key, std::string_view behind) {
    const std::string prefix = prefixes_.empty() ? std::string() : prefixes_.back();
    prefixes_.push_back(key.empty() ? prefix : prefix + std::string(key) + std::string(behind));
  }
  void add(std::string_view key) {
    if (key.empty()) return;  // an element of a list of values
    std::string name = (prefixes_.empty() ? std::string() : prefixes_.back()) + std::string(key);
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }

  std::vector<std::string> prefixes_;
};

}  // namespace

std::vector<std::string> member_names(const std::function<void(Sink&)>& visit) {
  NameSink sink;
  visit(sink);
  return std::move(sink.names);
}

}  // namespace ib::report
