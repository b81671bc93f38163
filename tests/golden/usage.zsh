#compdef tool
_tool()
{
	local -a commands

	commands=(
		'look:see\: what there is'
		'rest:do nothing'
	)
	if (( CURRENT == 2 )); then
		_describe command commands
		return
	fi
	local command=$words[2]
	shift words
	(( CURRENT-- ))
	case $command in
	look)
		_arguments -s -S \
			'*'{-d+,--duration=}'[how long]:SECONDS: ' \
			'*'--format='[text (default), or json]:FORMAT:(text json)' \
			'*'--with-a-name-that-is-long='[.begins with a point]:FILE:_files' \
			'*'{-r+,--root=}'[where to look]:DIR:_files -/' \
			'*'{-h,--help}'[this text]' \
			'*'--ring='[so much]:TIME: ' \
			'*'--rotate='[so much]:TIME: ' \
			'1:what:(here there)' \
			'*:file:_files'
		;;
	rest)
		_arguments -s -S \
			'*'{-h,--help}'[this text]' \
			'*:: '
		;;
	esac
}
_tool "$@"
