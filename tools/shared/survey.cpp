// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/shared/survey.hpp"

#include "tools/frame/host.hpp"
#include "tools/frame/progress.hpp"
#include "tools/frame/stack.hpp"

namespace ib::tools {

subnet::SurveyOptions port_survey(Stack& stack, subnet::SurveyWay way) {
  subnet::SurveyOptions options(stack.here(), way);
  options.progress = [&stack](std::size_t done, std::size_t of) { stack.progress().count(done, of, "ports"); };
  return options;
}

subnet::SurveyOptions gmp_survey(Stack& stack, const subnet::PortPaths& paths) {
  subnet::SurveyOptions options = port_survey(stack, subnet::SurveyWay::gmp);
  options.paths = &paths;
  return options;
}

mad::Transactor* owner_transactor(Stack& stack) {
  if (stack.host().options().from) return nullptr;
  return stack.host().options().use_sa ? &stack.transactor() : &stack.lowest_transactor();
}

mad::Transactor* owner_transactor(Stack& stack, const std::optional<std::string>& load_cache) {
  return load_cache || stack.uses_cache() ? owner_transactor(stack) : nullptr;
}

}  // namespace ib::tools
