// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/completion/scripts.hpp"

namespace ib::tools::completion {
namespace {

// Bash breaks the line into words at = : and @ too, and puts in a reply only for the part behind the last of these. It needs nothing of
// the package bash-completion.
constexpr std::string_view bash = R"script(# bash completion for ibtool: . <(ibtool completion bash)
_ibtool() {
  local rest=${COMP_LINE:0:COMP_POINT} gap piece= whole= head= quote= open= line word value i
  local -a words=()
  for ((i = 0; i <= COMP_CWORD; i++)); do
    gap=${rest%%[![:space:]]*}
    rest=${rest#"$gap"}
    piece=${COMP_WORDS[i]}
    ((i < COMP_CWORD)) || piece=$rest
    rest=${rest#"$piece"}
    if [[ -z $gap && ${#words[@]} -gt 0 ]]; then
      words[${#words[@]}-1]+=$piece
    else
      words+=("$piece")
    fi
  done
  whole=${words[${#words[@]}-1]}
  [[ $piece == *[!=:@]* ]] || piece=
  head=${whole:0:${#whole}-${#piece}}
  case $piece in
    [\'\"]*) quote=${piece:0:1} piece=${piece:1} ;;
  esac
  for i in "${!words[@]}"; do
    words[i]=${words[i]//[\\\'\"]/}
  done
  head=${head//[\\\'\"]/}
  whole=${words[${#words[@]}-1]}
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ $line == :files ]]; then
      value=$whole
      [[ $value != --*=* ]] || value=${value#*=}
      compopt -o filenames 2>/dev/null
      while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$value")
      continue
    fi
    word=${line%%$'\t'*}
    [[ $word != *[=\[] ]] || open=1
    word=${word#"$head"}
    [[ -n $quote ]] || printf -v word %q "$word"
    COMPREPLY+=("$word")
  done < <(command "${words[0]}" completion --words -- "${words[@]:1}" 2>/dev/null)
  if [[ ${#COMPREPLY[@]} -eq 1 && -n $open ]]; then compopt -o nospace 2>/dev/null; fi
}
complete -F _ibtool ibtool
)script";

constexpr std::string_view zsh = R"script(#compdef ibtool
# zsh completion for ibtool: a file _ibtool in a directory of $fpath, or: source <(ibtool completion zsh)
_ibtool() {
  local line word
  local -a before reply shown open open_shown
  before=("${(@Q)words[2,CURRENT-1]}")
  while IFS= read -r line; do
    if [[ $line == :files ]]; then
      [[ $PREFIX == --*=* ]] && compset -P '*='
      _files
      continue
    fi
    word=${line%%$'\t'*}
    line=${line/$'\t'/  -- }
    if [[ $word == *[=\[] ]]; then
      open+=("$word") open_shown+=("$line")
    else
      shown+=("$line") reply+=("$word")
    fi
  done < <(command "${(Q)words[1]}" completion --words -- "${before[@]}" "${(Q)PREFIX}" 2>/dev/null)
  (( ${#reply} )) && compadd -l -d shown -a reply
  (( ${#open} )) && compadd -l -S '' -d open_shown -a open
}
if [[ $funcstack[1] == _ibtool ]]; then
  _ibtool "$@"
else
  compdef _ibtool ibtool
fi
)script";

constexpr std::string_view fish = R"script(# fish completion for ibtool: ibtool completion fish | source
function __ibtool_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct | string unescape)
    for line in (command $words[1] completion --words -- $words[2..-1] "$word" 2>/dev/null)
        if test "$line" = :files
            __fish_complete_path (string replace -r '^--[^=]*=' '' -- "$word")
        else
            echo $line
        end
    end
end
complete -c ibtool -f -a '(__ibtool_complete)'
)script";

constexpr Script all[]{{"bash", bash}, {"zsh", zsh}, {"fish", fish}};

}  // namespace

std::span<const Script> scripts() { return all; }

}  // namespace ib::tools::completion
