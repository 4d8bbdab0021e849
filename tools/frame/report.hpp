// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What a command found, in each form that it is printed in. Emit (emit.hpp) prints it.
#pragma once

#include "base/error.hpp"
#include "report/sink.hpp"
#include "report/text_out.hpp"

namespace ib::tools {

using report::TextOut;

/// The result of a command: a plain struct with a JSON form and a text form.
class Report {
 public:
  virtual ~Report() = default;

  /// The members of the report's JSON object, in a stable order.
  virtual void visit(report::Sink& sink) const = 0;
  /// The report in the words of `ibtool NAME`; empty where all of them were printed before.
  virtual void text(TextOut& /*out*/) const {}
  /// The effect of the report on the exit status: ok, findings or incomplete.
  virtual Exit status() const { return Exit::ok; }
  /// The report as infiniband-diags prints it, as far as it was found.
  virtual void diags_text(TextOut& /*out*/) const {}
};

}  // namespace ib::tools
