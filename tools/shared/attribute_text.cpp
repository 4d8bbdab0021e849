// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/shared/attribute_text.hpp"

#include <algorithm>

#include "out/structure.hpp"
#include "tools/shared/secrets.hpp"

namespace ib::tools {

AttributeText::AttributeText(const CommonOptions& options, const StructInfo& structure, Bytes payload)
    : info(&structure),
      bytes(payload.begin(), payload.begin() + std::min<std::ptrdiff_t>(std::ssize(payload), structure.bytes)),
      words(options.error_level() >= 2),
      int_names(options.int_names),
      keys(options.keys) {}

void AttributeText::visit(out::Sink& sink) const { out::visit_structure(sink, bytes, *info, keys); }

void AttributeText::visit_attribute(out::Sink& sink) const { out::visit_attribute(sink, bytes, *info, keys); }

void AttributeText::text(TextOut& out, const DottedOptions& listing) const {
  DottedOptions style = int_names ? DottedOptions{} : listing;
  style.keys = keys;
  if (words) {
    out.print("{}\n{}", info->iba_name, dump_words(bytes, *info, keys));
  } else {
    out.write(dotted(bytes, *info, style));
  }
  out.write(secrets_note(bytes, *info, keys));
}

}  // namespace ib::tools
