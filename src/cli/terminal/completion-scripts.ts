/** Writes the same table of candidates as a script for each shell. Completion runs no command. */

/** Words that may follow a sequence of words. */
export type Candidates = ReadonlyMap<string, readonly string[]>;

/** Longest sequence, in words: `api RESOURCE VERB`. */
const longest = 3;

/** Uses the longest known sequence of the words before the cursor. */
function posixFunction(candidates: Candidates): string {
  const cases = [...candidates].map(
    ([words, next]) => `    ${quoteWord(words)}) printf '%s' ${quoteWord(next.join(" "))} ;;\n`,
  );
  return [
    "_postern_candidates() {\n",
    '  case "$1" in\n',
    ...cases,
    "    *) return 1 ;;\n",
    "  esac\n",
    "}\n",
    "_postern_next() {\n",
    '  local key="" word count=0\n',
    '  for word in "$@"; do\n',
    `    [ "$count" -lt ${longest} ] || break\n`,
    '    _postern_candidates "${key:+$key }$word" >/dev/null || break\n',
    '    key="${key:+$key }$word"\n',
    "    count=$((count + 1))\n",
    "  done\n",
    '  _postern_candidates "$key"\n',
    "}\n",
  ].join("");
}

export function renderBash(candidates: Candidates): string {
  return [
    "# postern completion bash\n",
    posixFunction(candidates),
    "_postern() {\n",
    "  local current line\n",
    // Read the line itself, because bash splits words at `=` and `:`, which options contain.
    '  line="${COMP_LINE:0:COMP_POINT}"\n',
    "  local -a words\n",
    '  read -r -a words <<< "$line"\n',
    '  case "$line" in *" ") words+=("") ;; esac\n',
    '  current="${words[${#words[@]}-1]}"\n',
    '  local next="$(_postern_next "${words[@]:1:${#words[@]}-2}")"\n',
    '  COMPREPLY=($(compgen -W "$next" -- "$current"))\n',
    "  local found index\n",
    '  case "$current" in *=*)\n',
    // The text before the last `=` is already on the line.
    '    for index in "${!COMPREPLY[@]}"; do found="${COMPREPLY[index]}"; COMPREPLY[index]="${found#"${current%%=*}="}"; done ;;\n',
    "  esac\n",
    "}\n",
    "complete -o default -F _postern postern\n",
  ].join("");
}

export function renderZsh(candidates: Candidates): string {
  return [
    "#compdef postern\n",
    posixFunction(candidates),
    "_postern() {\n",
    '  local next="$(_postern_next "${(@)words[2,CURRENT-1]}")"\n',
    "  compadd -- ${=next} || _files\n",
    "}\n",
    "compdef _postern postern\n",
  ].join("");
}

export function renderFish(candidates: Candidates): string {
  const cases = [...candidates].map(
    ([words, next]) => `    case ${quoteWord(words)}\n      printf '%s\\n' ${next.map(quoteWord).join(" ")}\n`,
  );
  return [
    "# postern completion fish\n",
    "function __postern_candidates\n",
    "  switch $argv[1]\n",
    ...cases,
    "    case '*'\n      return 1\n",
    "  end\n",
    "end\n",
    "function __postern_next\n",
    "  set -l key ''\n",
    "  for word in (commandline -opc)[2..-1]\n",
    '    set -l longer (string trim -- "$key $word")\n',
    '    __postern_candidates "$longer" >/dev/null; or break\n',
    '    set key "$longer"\n',
    "  end\n",
    '  __postern_candidates "$key"\n',
    "end\n",
    "complete -c postern -a '(__postern_next)'\n",
  ].join("");
}

function quoteWord(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
