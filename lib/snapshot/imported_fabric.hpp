// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A fabric in memory, which was read from a file of another program.
#pragma once

#include <utility>

#include "formats/fabric_file.hpp"
#include "snapshot/stored_fabric.hpp"

namespace ib::snapshot {

class ImportedFabric final : public StoredFabric {
 public:
  /// Reads `content`, which is that of `file`. `format` must outlive this object. Throws UsageError with a sentence.
  ImportedFabric(std::string file, const formats::FabricFormat& format, Bytes content);

  std::string_view format() const override { return format_.name; }
  sys::DeviceList devices() override;
  unsigned port_number() override;
  bool has_part(std::string_view name) override;
  subnet::SweptSubnet read_fabric(const sys::EndPort* end_port) override;
  subnet::SweptSubnet take_fabric(const sys::EndPort*) override { return std::move(content_.fabric); }
  std::shared_ptr<const formats::NetdiscCache> netdisc() const override { return content_.netdisc; }
  std::optional<StoredAnswer> find(const AnswerKey& key) override;

 private:
  const formats::FabricFormat& format_;
  formats::FabricFile content_;
};

}  // namespace ib::snapshot
