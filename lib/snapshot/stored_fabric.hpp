// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A fabric in a file, and the one door to it. What kind of file it is, only open_fabric() looks at: a snapshot, which is read as far as it
// is needed, or a file of another program, which a room of formats/ reads as a whole. A file that does not hold something says so: it is
// never taken for zero.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/netdisc_cache.hpp"
#include "snapshot/answer_key.hpp"
#include "subnet/model/failures.hpp"
#include "sys/device.hpp"

namespace ib::snapshot {

/// The outcome of a request when the fabric was stored.
struct StoredAnswer {
  std::int64_t status{};              ///< see format.hpp
  std::vector<std::uint8_t> payload;  ///< the attribute without the zeros at its end; for the SA the whole reply
  bool hides_key{};                   ///< a key in it is zero, because the snapshot was taken without keys
};

class StoredFabric {
 public:
  virtual ~StoredFabric() = default;
  StoredFabric(const StoredFabric&) = delete;
  StoredFabric& operator=(const StoredFabric&) = delete;

  const std::string& file() const { return file_; }
  /// What a file of another program is: "topology text". Empty for a snapshot.
  virtual std::string_view format() const { return {}; }
  /// The subject of a sentence: "the snapshot", "topology text".
  std::string_view subject() const { return format().empty() ? "the snapshot" : format(); }
  /// That the file does not hold `what`, as a sentence without its end: "'F' is topology text: it has no counters".
  std::string lack(std::string_view what) const;
  /// Where to find what it lacks, which is in the part `name` of snapshots, as the end of that sentence. `they` stands for what it lacks.
  std::string remedy(std::string_view name, std::string_view they = "it") const;
  /// Both in one line, of things in the plural: "'F' is topology text: it has no counters; `ibtool snapshot` keeps them". Empty if the file
  /// has the part `name`.
  std::string why_without(std::string_view name, std::string_view what);

  /// The device by which the fabric was read. A file of another program does not name it: it is made of the node where the fabric begins.
  virtual sys::DeviceList devices() = 0;
  /// The number of the port of that device.
  virtual unsigned port_number() = 0;
  /// That port. It lives as long as this object.
  const sys::EndPort& end_port();
  /// Whether keys were stored.
  virtual bool has_keys() const { return true; }
  /// Whether the part `name` of `ibtool snapshot` was read.
  virtual bool has_part(std::string_view name) = 0;
  /// When all was read, in milliseconds since 1970. Nothing if the file does not say it.
  virtual std::optional<std::int64_t> ended() { return std::nullopt; }
  /// The whole fabric, and what its sweep could not read. Paths of failures begin at `end_port`. Throws UsageError for a damaged file.
  virtual subnet::SweptSubnet read_fabric(const sys::EndPort* end_port) = 0;
  /// The last call: nothing else may be read after it.
  virtual subnet::SweptSubnet take_fabric(const sys::EndPort* end_port) { return read_fabric(end_port); }
  /// The content of a cache of libibnetdisc, which has more than the model; null if the file is none.
  virtual std::shared_ptr<const formats::NetdiscCache> netdisc() const { return nullptr; }

  // Answers to single requests. All throw UsageError for a damaged file.
  /// The stored answer to a request, or nothing if the request was not sent.
  virtual std::optional<StoredAnswer> find(const AnswerKey& key) = 0;
  /// The stored answer to the same request by another port of the node.
  virtual std::optional<StoredAnswer> find_at_other_port(const AnswerKey&) { return std::nullopt; }
  /// The stored failure which shows that the agent lacks the attribute, for any port or block: it refused the request, or did not answer.
  virtual std::optional<StoredAnswer> find_lack(const AnswerKey&) { return std::nullopt; }
  /// A request to the same agent that was not answered, if the agent answered nothing that every agent of its class has. An SMA is never
  /// silent here: it answered the sweep.
  virtual std::optional<StoredAnswer> find_silence(const AnswerKey&) { return std::nullopt; }
  /// The key of a request to the same agent that was not answered.
  virtual std::optional<AnswerKey> find_unanswered(const AnswerKey&) { return std::nullopt; }

 protected:
  explicit StoredFabric(std::string file) : file_(std::move(file)) {}

 private:
  const std::string file_;
  std::optional<sys::DeviceList> devices_;
};

/// Opens the fabric in `file`, whatever its kind. Throws UsageError with one line if the file holds none, is damaged, too large or cannot
/// be read.
std::unique_ptr<StoredFabric> open_fabric(const std::string& file);
/// As above, for the content of a file of another program.
std::unique_ptr<StoredFabric> imported_fabric(const std::string& file, Bytes content);

}  // namespace ib::snapshot
