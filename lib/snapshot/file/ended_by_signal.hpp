// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A signal that ends the program leaves no unfinished file behind.
#pragma once

#include <csignal>
#include <string>

namespace ib::snapshot {

/// While an object exists, Ctrl-C and the other signals that end a program remove a file and its directory first. A signal that is
/// ignored stays ignored. If an async::Interrupt waits for a signal, the Interrupt takes the first signal, and the second signal removes
/// the file. Only one object at a time has an effect: the first.
class EndedBySignal {
 public:
  /// Removes `file` in the directory that is open as `directory_fd`, then the directory by its name. `directory_fd` must stay open.
  EndedBySignal(int directory_fd, std::string file, std::string directory);
  ~EndedBySignal();
  EndedBySignal(const EndedBySignal&) = delete;
  EndedBySignal& operator=(const EndedBySignal&) = delete;

 private:
  static void remove_and_end(int signal);

  int directory_fd_;
  std::string file_, directory_;
};

/// While an object exists, signals wait.
class SignalsHeld {
 public:
  SignalsHeld();
  ~SignalsHeld();
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace ib::snapshot
