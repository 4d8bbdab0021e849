# fish completion for ibtool: ibtool completion fish | source
function __ibtool_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct | string unescape)
    for line in (command $words[1] completion --words -- $words[2..-1] "$word" 2>/dev/null)
        if test "$line" = :files
            __fish_complete_path (string replace -r '^--[^=]*=' '' -- "$word")
        else
            printf '%s\n' $line
        end
    end
end
complete -c ibtool -f -a '(__ibtool_complete)'
