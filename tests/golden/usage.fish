# fish completion for tool
complete -c tool -f
complete -c tool -n __fish_use_subcommand -a look -d 'see: what there is'
complete -c tool -n __fish_use_subcommand -a rest -d 'do nothing'
complete -c tool -n '__fish_seen_subcommand_from look' -s d -l duration -x -d 'how long'
complete -c tool -n '__fish_seen_subcommand_from look' -l format -x -a 'text json' -d 'text (default), or json'
complete -c tool -n '__fish_seen_subcommand_from look' -l with-a-name-that-is-long -r -F -d '.begins with a point'
complete -c tool -n '__fish_seen_subcommand_from look' -s r -l root -x -a '(__fish_complete_directories)' -d 'where to look'
complete -c tool -n '__fish_seen_subcommand_from look' -s h -l help -d 'this text'
complete -c tool -n '__fish_seen_subcommand_from look' -l ring -x -d 'so much'
complete -c tool -n '__fish_seen_subcommand_from look' -l rotate -x -d 'so much'
complete -c tool -n '__fish_seen_subcommand_from look' -a 'here there'
complete -c tool -n '__fish_seen_subcommand_from look' -F
complete -c tool -n '__fish_seen_subcommand_from rest' -s h -l help -d 'this text'
