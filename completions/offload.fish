# SPDX-License-Identifier: MIT
# Completion of offload(1) and offloadfs(8) for fish. The tool itself computes the candidates.

function __offload_complete
    set -l said (command offload complete --line -- (commandline -pc | string collect) 2>/dev/null)
    if test (count $said) -gt 1
        printf '%s\n' $said[1..-2]
        return
    end
    set -l word (commandline -ct)
    set -l option (string match -r -- '^--[^=]*=' $word)
    set -l path (string replace -r -- '^--[^=]*=' '' $word)
    switch "$said"
        case ':files'
            printf '%s\n' $option(__fish_complete_path $path)
        case ':dirs'
            printf '%s\n' $option(__fish_complete_directories $path '')
        case ':command *'
            set -l words (commandline -opc)
            set -l from (math 1 + (string replace ':command ' '' -- $said))
            complete -C (string join ' ' -- (string escape -- $words[$from..-1]) $word)
    end
end

complete -c offload -f -k -a '(__offload_complete)'
complete -c offloadfs -f -k -a '(__offload_complete)'
