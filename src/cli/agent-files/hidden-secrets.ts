/** Agents' files as commands show them: without their secrets. */

/** Keys whose values are secrets or may hold one, at any depth: headers, and what policies do with requests. */
const names =
  "authtoken|api_key|client_secret|secret|proxy_url|proxy|basic_auth|auth|credentials|headers|add|vars|body|value";
const secretKey = new RegExp(String.raw`^([-+ ] )(\s*(?:-\s+)?["']?(?:${names})["']?\s*:)(.*)$`);
/** The same inside a map in braces, whose value may be a map or a list itself. */
const inBraces = new RegExp(
  String.raw`\b(${names})(["']?\s*:\s*)(\[[^\]]*\]|\{[^}]*\}|"(?:[^"\\]|\\.)*"|'[^']*'|[^,}\]]+)`,
  "g",
);

/** @param diff lines as `lineDiff` makes them, each behind its mark */
export function withoutSecrets(diff: string): string {
  let secretIndent: number | undefined;
  const lines = diff.split("\n").map((line) => {
    const indent = line.length - 2 - line.slice(2).trimStart().length;
    const isItem = line.slice(2).trimStart().startsWith("-");
    const isBlank = line.slice(2).trim() === "";
    if (secretIndent !== undefined && (indent > secretIndent || (isItem && indent === secretIndent) || isBlank)) {
      // A list, or a text of several lines, below its key.
      return isBlank ? line : `${line.slice(0, 2 + indent)}${isItem ? "- " : ""}***`;
    }
    secretIndent = undefined;
    const [, mark, key, value = ""] = secretKey.exec(line) ?? [];
    if (key === undefined) return line.replaceAll(inBraces, "$1$2***");
    const bare = value.replace(/\s#.*$/, "").trim();
    secretIndent = indent;
    return bare === "" ? line : `${mark}${key} ***`;
  });
  return lines.join("\n");
}
