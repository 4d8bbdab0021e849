# bash completion for ibtool: . <(ibtool completion bash)
# Sets `reply` to the text $1, quoted for what is open where it is put in: ' " $ (of $') or nothing.
_ibtool_quote() {
  local back='\' single="'" double='"' dollar='$' tick='`' text=$1
  case $2 in
    \')
      reply=$single${text//"$single"/"$single$back$single$single"}$single
      ;;
    \")
      text=${text//"$back"/"$back$back"}
      text=${text//"$double"/"$back$double"}
      text=${text//"$dollar"/"$back$dollar"}
      text=${text//"$tick"/"$back$tick"}
      reply=$double${text//'!'/"$double$back!$double"}$double
      ;;
    \$)
      text=${text//"$back"/"$back$back"}
      text=${text//"$single"/"${back}x27"}
      reply=$single${text//'!'/"${back}x21"}$single
      ;;
    *)
      printf -v reply %q "$text"
      ;;
  esac
}
_ibtool() {
  # open: the quote that is open. head: what of the word bash keeps. closed: a quote was closed since. known: nothing is expanded.
  local line=${COMP_LINE:0:COMP_POINT} open= word= head= begun= closed= known=1 char next at value reply more=
  local -a words=()
  COMPREPLY=()
  for ((at = 0; at < ${#line}; at++)); do
    char=${line:at:1} next=${line:at+1:1}
    if [[ $open == \' ]]; then
      if [[ $char == \' ]]; then open= closed=1; else word+=$char; fi
    elif [[ $open == \$ ]]; then
      if [[ $char == \' ]]; then
        open= closed=1
      elif [[ $char != \\ ]]; then
        word+=$char
      elif [[ $next == \\ ]]; then
        word+=$char at=$((at + 1))
      elif [[ ${line:at+1:3} == x[[:xdigit:]][[:xdigit:]] ]]; then
        printf -v char %b "${line:at:4}"
        word+=$char at=$((at + 3))
      else
        known=
      fi
    elif [[ $char == \\ && ( -z $open || $next == [\$\`\"\\] ) ]]; then
      word+=$next begun=1 at=$((at + 1))
    elif [[ $open == \" ]]; then
      case $char in
        \") open= closed=1 ;;
        [\$\`]) known= word+=$char ;;
        *) word+=$char ;;
      esac
    elif [[ $char == [[:space:]] ]]; then
      [[ -z $begun ]] || words+=("$word")
      word= head= begun= closed= known=1
    else
      begun=1
      case $char$next in
        [\'\"]*) open=$char head=$word closed= ;;
        \$\') open=\$ head=$word closed= at=$((at + 1)) ;;
        \$\") ;;
        [\$\`]*) known= word+=$char ;;
        [\;\|\&\(\)\<\>]*) compopt -o default 2>/dev/null; return ;;
        *)
          word+=$char
          [[ $COMP_WORDBREAKS != *"$char"* ]] || head=$word closed=
          ;;
      esac
    fi
  done
  [[ -n $known && -z $closed && ${#words[@]} -gt 0 ]] || return
  words+=("$word")
  while IFS= read -r line; do
    if [[ $line == :files ]]; then
      value=$word
      [[ $value != --*=* ]] || value=${value#*=}
      compopt -o filenames 2>/dev/null
      while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$value")
      continue
    fi
    line=${line%%$'\t'*}
    [[ $line != *[=\[] ]] || more=1
    _ibtool_quote "${line#"$head"}" "$open"
    COMPREPLY+=("$reply")
  done < <(command "${words[0]}" completion --words -- "${words[@]:1}" 2>/dev/null)
  if [[ ${#COMPREPLY[@]} -eq 1 && -n $more ]]; then compopt -o nospace 2>/dev/null; fi
}
complete -F _ibtool ibtool
