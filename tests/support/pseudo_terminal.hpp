// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A terminal for programs that ask whether they write to one.
#pragma once

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "support/catch.hpp"

namespace ibtest {

/// A terminal whose other end is read.
struct PseudoTerminal {
  int master = ::posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
  std::FILE* file{};

  PseudoTerminal() {
    REQUIRE(master >= 0);
    REQUIRE(::grantpt(master) == 0);
    REQUIRE(::unlockpt(master) == 0);
    const int slave = ::open(::ptsname(master), O_RDWR | O_NOCTTY);  // else its end would end a test without a terminal
    REQUIRE(slave >= 0);
    file = ::fdopen(slave, "r+");
    REQUIRE(file != nullptr);
  }
  PseudoTerminal(unsigned short columns, unsigned short rows) : PseudoTerminal() {
    winsize size{};
    size.ws_col = columns;
    size.ws_row = rows;
    REQUIRE(::ioctl(master, TIOCSWINSZ, &size) == 0);
  }
  PseudoTerminal(const PseudoTerminal&) = delete;
  PseudoTerminal& operator=(const PseudoTerminal&) = delete;
  ~PseudoTerminal() {
    std::fclose(file);
    ::close(master);
  }

  /// What was written since the last call, with the line ends that a terminal gets.
  std::string text() const {
    std::string all;
    char buffer[1024];
    for (ssize_t got = 0; (got = ::read(master, buffer, sizeof buffer)) > 0;) all.append(buffer, static_cast<std::size_t>(got));
    return all;
  }
};

}  // namespace ibtest
