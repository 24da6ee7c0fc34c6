"""Complete words in bash, also behind the `=` of a setting.

Bash splits words at `=`: of `--set redis.durability=re` it completes `re` alone, and it sets a space behind
each completed word, also behind `redis.durability=`.
"""

import os
from typing import ClassVar

from click.shell_completion import BashComplete, add_completion_class, split_arg_string

__all__ = ["use_own_bash_completion"]


class _BashCompletion(BashComplete):
    """What bash is to do, and the words that it asks about."""

    source_template: ClassVar[str] = """\
%(complete_func)s() {
    local written=${COMP_LINE:0:COMP_POINT} before= kind word
    if [[ $COMP_WORDBREAKS == *=* && ${written##* } == *=* ]]; then
        before=${written##* }
        before=${before%%=*}=
        before=${before#--*=}
    fi
    COMPREPLY=()
    while IFS=, read -r kind word; do
        case $kind in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain)
                COMPREPLY+=("${word#"$before"}")
                if [[ $word == *= ]]; then compopt -o nospace; fi ;;
        esac
    done < <(COMP_LINE=$written %(complete_var)s=bash_complete "$1")
}

complete -o nosort -F %(complete_func)s %(prog_name)s
"""

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the complete words behind the name of the program, and the one that is being written."""
        line = os.environ["COMP_LINE"]
        words = split_arg_string(line)[1:]
        written = words.pop() if words and not line[-1].isspace() else ""
        return words, written


def use_own_bash_completion() -> None:
    """Complete words in bash as this module does, in place of click."""
    add_completion_class(_BashCompletion)
