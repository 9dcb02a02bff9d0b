/** Hides the secrets in agent files for output. */

/** Keys whose values are or may contain secrets, at any depth, such as headers and policy actions. */
const names =
  "authtoken|api_key|client_secret|secret|proxy_url|proxy|basic_auth|auth|credentials|headers|otlp_headers|add|vars|body|value";
const secretKey = new RegExp(String.raw`^([-+ ] )(\s*(?:-\s+)?["']?(?:${names})["']?\s*:)(.*)$`);
/** The same keys in a flow map, whose value may be a map or a list. */
const inBraces = new RegExp(
  String.raw`\b(${names})(["']?\s*:\s*)(\[[^\]]*\]|\{[^}]*\}|"(?:[^"\\]|\\.)*"|'[^']*'|[^,}\]]+)`,
  "g",
);

/** @param diff lines of `lineDiff`, each after its mark */
export function withoutSecrets(diff: string): string {
  let secretIndent: number | undefined;
  const lines = diff.split("\n").map((line) => {
    const indent = line.length - 2 - line.slice(2).trimStart().length;
    const isItem = line.slice(2).trimStart().startsWith("-");
    const isBlank = line.slice(2).trim() === "";
    if (secretIndent !== undefined && (indent > secretIndent || (isItem && indent === secretIndent) || isBlank)) {
      // A list or a multi-line text below its key.
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
