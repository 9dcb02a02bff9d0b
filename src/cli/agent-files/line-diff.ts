/** Returns the removed (`-`), added (`+`) and unchanged lines between two texts. */
export function lineDiff(before: string, after: string): string {
  const [old, now] = [before.split("\n"), after.split("\n")];
  // Lengths of the longest common subsequences of the remaining lines. Files have some hundred lines.
  const lengths = Array.from({ length: old.length + 1 }, () => new Uint16Array(now.length + 1));
  for (let at = old.length - 1; at >= 0; at -= 1) {
    const [row, below] = [lengths[at] as Uint16Array, lengths[at + 1] as Uint16Array];
    for (let to = now.length - 1; to >= 0; to -= 1) {
      row[to] = old[at] === now[to] ? (below[to + 1] ?? 0) + 1 : Math.max(below[to] ?? 0, row[to + 1] ?? 0);
    }
  }
  const lines: string[] = [];
  let [at, to] = [0, 0];
  while (at < old.length || to < now.length) {
    if (at < old.length && to < now.length && old[at] === now[to]) {
      lines.push(`  ${old[at]}`);
      at += 1;
      to += 1;
    } else if (to === now.length || (at < old.length && (lengths[at + 1]?.[to] ?? 0) >= (lengths[at]?.[to + 1] ?? 0))) {
      lines.push(`- ${old[at]}`);
      at += 1;
    } else {
      lines.push(`+ ${now[to]}`);
      to += 1;
    }
  }
  return `${lines.join("\n").trimEnd()}\n`;
}
