/** What a credential's ACL lets its agents bind (semantics, "What a token allows"). */

/** Compiled rules: each question is answered by the first rule that fits. */
export interface AgentAcl {
  /** A host name served on `port`. */
  allowsHost(host: string, port: number): boolean;
  allowsLabel(name: string, value: string): boolean;
}

const everything: AgentAcl = Object.freeze({ allowsHost: () => true, allowsLabel: () => true });

/**
 * `*` and `bind:*` allow everything, and so does an empty list. `bind:<domain>` allows a host name on any port,
 * `bind:<host>:<port>` on that port, `bind:<name>=<value>` a label. `*` inside stands for one or more
 * characters, in host names without dots: `*.example.com` allows one level below it. A rule of any other form
 * allows nothing.
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
      hosts.some((rule) => (rule.port === undefined || rule.port === port) && fits(rule.pattern, host, ".")),
    allowsLabel: (name: string, value: string) => labels.some((pattern) => labelFits(pattern, name, value)),
  });
}

function hostRule(target: string): { readonly pattern: string; readonly port: number | undefined } {
  const colon = target.lastIndexOf(":");
  if (colon < 0) return { pattern: target.toLowerCase(), port: undefined };
  const port = target.slice(colon + 1);
  return { pattern: target.slice(0, colon).toLowerCase(), port: port === "*" ? undefined : Number(port) };
}

/** Name and value are matched apart, so that a `*` never reaches over the `=`. */
function labelFits(pattern: string, name: string, value: string): boolean {
  const equals = pattern.indexOf("=");
  return fits(pattern.slice(0, equals), name, "") && fits(pattern.slice(equals + 1), value, "");
}

/** Whether `text` has the form of `pattern`; `*` is one or more characters, none of them `barrier`. Backtracks once. */
function fits(pattern: string, text: string, barrier: string): boolean {
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
