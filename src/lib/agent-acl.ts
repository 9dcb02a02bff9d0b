/** Names that a credential's ACL allows its agents to bind (semantics, "What a token allows"). */

/** Compiled rules. The first matching rule decides. */
export interface AgentAcl {
  /** Whether a host name may be served on `port`. */
  allowsHost(host: string, port: number): boolean;
  allowsLabel(name: string, value: string): boolean;
}

const everything: AgentAcl = Object.freeze({ allowsHost: () => true, allowsLabel: () => true });

/**
 * `*` and `bind:*` allow everything, as does an empty list. `bind:<domain>` allows a host name on any port,
 * `bind:<host>:<port>` on that port, `bind:<name>=<value>` a label. `*` inside matches one or more characters, in host
 * names without dots: `*.example.com` allows one level below it. A rule of any other form allows nothing.
 */
export function compileAcl(rules: readonly string[]): AgentAcl {
  if (rules.length === 0 || rules.includes("*") || rules.includes("bind:*")) return everything;
  const hosts: { readonly pattern: string; readonly port: number | undefined }[] = [];
  const labels: string[] = [];
  for (const rule of rules) {
    if (!rule.startsWith("bind:")) continue;
    const target = rule.slice("bind:".length);
    if (target.includes("=")) labels.push(target);
    else hosts.push(hostRule(target));
  }
  return Object.freeze({
    allowsHost: (host: string, port: number) =>
      hosts.some((rule) => (rule.port === undefined || rule.port === port) && matchesPattern(rule.pattern, host, ".")),
    allowsLabel: (name: string, value: string) => labels.some((pattern) => labelFits(pattern, name, value)),
  });
}

function hostRule(target: string): { readonly pattern: string; readonly port: number | undefined } {
  const colon = target.lastIndexOf(":");
  if (colon < 0) return { pattern: target.toLowerCase(), port: undefined };
  const port = target.slice(colon + 1);
  return { pattern: target.slice(0, colon).toLowerCase(), port: port === "*" ? undefined : Number(port) };
}

/** Name and value are matched separately, so that a `*` never crosses the `=`. */
function labelFits(pattern: string, name: string, value: string): boolean {
  const equals = pattern.indexOf("=");
  return matchesPattern(pattern.slice(0, equals), name, "") && matchesPattern(pattern.slice(equals + 1), value, "");
}

/** Whether `text` matches `pattern`. `*` matches one or more characters except `barrier`. Backtracks once. */
function matchesPattern(pattern: string, text: string, barrier: string): boolean {
  let at = 0;
  let star = -1;
  let resume = 0;
  let next = 0;
  while (at < text.length) {
    if (next < pattern.length && pattern[next] === "*" && text[at] !== barrier) {
      star = next;
      resume = at + 1;
      next += 1;
      at += 1;
    } else if (next < pattern.length && pattern[next] !== "*" && pattern[next] === text[at]) {
      next += 1;
      at += 1;
    } else if (star >= 0 && text[resume] !== barrier) {
      next = star + 1;
      resume += 1;
      at = resume;
    } else {
      return false;
    }
  }
  return next === pattern.length;
}
