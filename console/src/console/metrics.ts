/** Parses the server's metrics in text form. */

export interface Metrics {
  readonly requests: number;
  /** Number of 5xx responses. */
  readonly errors: number;
  readonly connections: number;
  /** Number of agent sessions. */
  readonly agents: number;
}

export function readMetrics(text: string): Metrics {
  const sum = (name: string, fits: (labels: string) => boolean = () => true): number =>
    text.split("\n").reduce((total, line) => {
      const [, labels = "", value] = line.startsWith(name) ? (/^\w+(\{.*\})? (\S+)$/.exec(line) ?? []) : [];
      const isIt = line.startsWith(`${name}{`) || line.startsWith(`${name} `);
      return isIt && value !== undefined && fits(labels) ? total + Number(value) : total;
    }, 0);
  const requests = "postern_http_requests_total";
  return {
    requests: sum(requests),
    errors: sum(requests, (labels) => labels.includes('"5xx"')),
    connections: sum("postern_http_connections"),
    agents: sum("postern_tunnel_sessions"),
  };
}

/** Returns a percentile of sorted values. */
export function percentile(values: readonly number[], share: number): number | undefined {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}
