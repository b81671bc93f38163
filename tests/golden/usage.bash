# bash completion for tool
_tool()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} words= what=

	if [ "$COMP_CWORD" -eq 1 ]; then
		COMPREPLY=($(compgen -W "look rest --help --version" -- "$cur"))
		return
	fi
	if [ "$cur" = = ]; then
		cur=
	elif [ "$prev" = = ]; then
		prev=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	case "${COMP_WORDS[1]} $prev" in
	"look -d" | "look --duration") words="" what= ;;
	"look --format") words="text json" what= ;;
	"look --with-a-name-that-is-long") words="" what=file ;;
	"look -r" | "look --root") words="" what=folder ;;
	"look --ring") words="" what= ;;
	"look --rotate") words="" what= ;;
	"look "*)
		case $cur in
		-*) words="-d --duration --format --with-a-name-that-is-long -r --root -h --help --ring --rotate" ;;
		*) words="here there" what=file ;;
		esac ;;
	"rest "*)
		case $cur in
		-*) words="-h --help" ;;
		*) words="" what= ;;
		esac ;;
	esac
	COMPREPLY=($(compgen -W "$words" -- "$cur"))
	case $what in
	file) mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$cur") ;;
	folder) mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -d -- "$cur") ;;
	esac
	[ -z "$what" ] || compopt -o filenames 2>/dev/null
}
complete -F _tool tool
