// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// One sweep of the fabric, and the readings that stand on it: counters of the ports that have a link, and states of the ports of switches.
// A new sweep is a new FabricReader, so that readings on the one before can end undisturbed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "async/task.hpp"
#include "mad/pace.hpp"
#include "metrics/counter_round.hpp"
#include "metrics/fabric.hpp"
#include "metrics/families.hpp"
#include "phy/reading.hpp"
#include "subnet/model/names.hpp"
#include "subnet/model/port_paths.hpp"
#include "tools/frame/stack.hpp"

namespace ib::tools::exporter {

/// What is read of a fabric.
struct ReaderOptions {
  bool hcas{}, details{};
  subnet::NodeNameMap names{};
  unsigned mads_per_second{};                    ///< at most; 0: as many as the fabric takes
  bool phy{};                                    ///< registers too
  std::shared_ptr<const phy::VsKeys> vs_keys{};  ///< for the requests for registers; null: no device has one
};

/// What a poll of ports found.
struct Polled {
  std::shared_ptr<const metrics::PortStates> states;
  std::vector<subnet::PortIndex> differing;  ///< not as the sweep found them: a switch with another LID, a link with another rate
};

/// The Transactors of the exporter: the layers of a Stack, limited to a number of MADs a second if that is wanted.
class Senders {
 public:
  /// Opens the stack. `pace` is null without a limit. Both must outlive this object, and the stack stay open.
  Senders(Stack& stack, mad::Pace* pace)
      : lowest_(stack.lowest_transactor(), pace),
        smps_(stack.smp_transactor(), pace),
        urgent_smps_(stack.smp_transactor(), pace, mad::Pace::Urgency::urgent),
        gmps_(stack.transactor(), pace) {}
  Senders(const Senders&) = delete;
  Senders& operator=(const Senders&) = delete;

  mad::Transactor& lowest() { return lowest_.get(); }  ///< for sweeps
  mad::Transactor& smps() { return smps_.get(); }
  mad::Transactor& urgent_smps() { return urgent_smps_.get(); }  ///< for polls, which do not wait for a sweep or a reading
  mad::Transactor& gmps() { return gmps_.get(); }

 private:
  struct Sender {
    Sender(mad::Transactor& of, mad::Pace* pace, mad::Pace::Urgency urgency = mad::Pace::Urgency::usual) : direct(of) {
      if (pace != nullptr) paced.emplace(of, *pace, urgency);
    }
    mad::Transactor& get() { return paced ? *paced : direct; }
    mad::Transactor& direct;
    std::optional<mad::PacedTransactor> paced;
  };
  Sender lowest_, smps_, urgent_smps_, gmps_;
};

class FabricReader {
 public:
  /// Sweeps the fabric. `before` is what was swept before, or null; `pace` limits what is sent, or is null. `stack` and `pace` must outlive
  /// the result, and the stack stay open as long as it is used. Throws as subnet::discover() does.
  static async::Task<std::shared_ptr<FabricReader>> sweep(Stack& stack, mad::Pace* pace, const ReaderOptions& options,
                                                          std::shared_ptr<const metrics::SweptFabric> before);

  /// `fabric` was swept from this port.
  FabricReader(Stack& stack, mad::Pace* pace, std::shared_ptr<const metrics::SweptFabric> fabric, const ReaderOptions& options);
  FabricReader(const FabricReader&) = delete;
  FabricReader& operator=(const FabricReader&) = delete;

  const std::shared_ptr<const metrics::SweptFabric>& fabric() const { return fabric_; }

  /// Whether this port is still linked to the node to which it was linked at the sweep. Routes of the sweep lead elsewhere if it is not.
  async::Task<bool> is_at_its_place();
  /// Reads the counters of all ports that have a link and are not down according to `states`. A node whose devices are all in `silent`,
  /// which did not answer in the round before, gets one request by one try, beside the others; only if it answers its counters are read.
  /// Each device is then requested to say who it is, by the LID that its counters came from (counters/owner.hpp). The first reading also
  /// requests, once, what later ones need to understand counters: PortSamplesControl of each device, and with details the FEC modes of
  /// links.
  async::Task<std::shared_ptr<const metrics::Reading>> read(std::shared_ptr<const metrics::PortStates> states, std::set<Guid> silent);
  /// Reads the states of all external ports of switches, and their LIDs.
  async::Task<Polled> poll();
  /// Reads the SMInfo of each end port that had a subnet manager at the sweep, and of the one that this port had as its master.
  async::Task<std::shared_ptr<const metrics::Managers>> read_managers();
  /// Reads the registers of the ports of switches, with HCAs also of their ports, and the environment of switches. What fails is not there.
  /// Devices that were silent in two readings running get no request: a protected one counts each as a violation of its key. `silences`,
  /// which must outlive the task, has how often each was silent, and gets what this reading found; without them all devices get requests.
  async::Task<std::shared_ptr<const phy::Reading>> read_phy(std::map<Guid, unsigned>& silences);

 private:
  path::Path polling_start() const;
  async::Task<> read_nodes(metrics::CounterRound& round, std::vector<subnet::NodeIndex> nodes);
  async::Task<> try_silent(metrics::CounterRound& round, std::vector<subnet::NodeIndex> nodes);
  async::Task<> try_node(subnet::NodeIndex node, subnet::PortIndex port, std::set<subnet::NodeIndex>& answered);
  async::Task<> read_ticks(metrics::CounterRound& round);
  async::Task<> read_tick(const metrics::Device& device);
  async::Task<> read_fec_modes();
  async::Task<> check_devices(metrics::CounterRound& round);
  async::Task<> check_device(const metrics::Device& device, std::set<subnet::PortIndex>& moved, std::set<subnet::PortIndex>& mute);

  Stack& stack_;
  Senders senders_;
  std::shared_ptr<const metrics::SweptFabric> fabric_;
  path::Path start_;
  bool hcas_, details_;
  std::shared_ptr<const phy::VsKeys> vs_keys_;
  subnet::PortPaths paths_;
  counters::KnownPmas pmas_;
  /// PortSamplesControl.Tick by device; absent where it was requested and not reported.
  std::map<subnet::PortIndex, std::optional<std::uint8_t>> ticks_;
  std::shared_ptr<const subnet::FecModes> fec_modes_;  ///< read once, for details
  std::set<subnet::PortIndex> mute_;                   ///< devices whose SMA did not say by LID who it is in the last round
};

}  // namespace ib::tools::exporter
