// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A node that many requests go to, as far as its silence matters. Who asks one node for many things keeps a Responder for
// it and names it in each request. A node that falls silent then costs one chain of tries, whatever waits for it:
//
//  - Once a try is lost, and nothing sent after it has been answered, the node is suspected. The request of that try goes on
//    alone, all others are held.
//  - Any answer ends the suspicion: the held requests go on.
//  - If the lonely request runs out of tries, the node is silent: all others end as well, with MadTimeout.
//
// Before and after are told by the number of a try: the engine counts what it sends.
// A node is known by the way to it: one that is asked by LID and by directed route has a Responder for each way.
#pragma once

#include <cstdint>

#include "mad/list.hpp"

namespace ib::mad {

class Responder {
 public:
  /// A request that has not ended; for the engine that sends it.
  class Asker : public ListHook<Responder> {
   public:
    /// The request was held and is to go on.
    virtual void resume() = 0;
    /// The node is silent: the request is to end.
    virtual void give_up() = 0;

   protected:
    ~Asker() = default;
  };

  Responder() = default;
  Responder(const Responder&) = delete;
  Responder& operator=(const Responder&) = delete;

  /// Requests to a silent node end at once, unsent.
  bool is_silent() const { return silent_; }
  /// Has the node asked again. What it did before is forgotten.
  void give_another_chance() { silent_ = false; }
  /// The node does not answer on another way to it: the next request goes alone.
  void suspect() { wary_ = true; }

  // For the engine.
  void join(Asker& asker) { asking_.push_back(asker); }
  /// `asker` has ended. Where it went on alone, one that is held takes its place.
  void leave(Asker& asker);
  /// Whether a try of `asker` may be sent. If not, it is held.
  bool may_ask(Asker& asker);
  bool is_suspected() const { return alone_ != nullptr; }
  /// Something came back for the try `number`.
  void answered(std::uint64_t number);
  /// The try `number`, one of `asker`, was lost. True: `asker` is held. Where an unanswered request proves nothing (`optional`) it
  /// raises no suspicion.
  bool lost(Asker& asker, std::uint64_t number, bool optional);
  /// `asker`, not optional, has no tries left. The node is silent by that if nothing sent after its first try has been answered; or
  /// nothing sent after its last one, while others wait in vain too. Then all others end.
  void ran_out(Asker& asker, std::uint64_t first_try, std::uint64_t last_try);

 private:
  void hold(Asker& asker);

  List<Asker, Responder> asking_, held_;
  Asker* alone_{};                 // while the node is suspected
  std::uint64_t last_answered_{};  // the highest number of a try that was answered
  bool wary_{}, silent_{};
};

}  // namespace ib::mad
