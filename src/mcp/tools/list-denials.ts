import { consoleLink } from "../parts/links.ts";
import { quoteValue } from "../parts/quote-value.ts";
import type { TraceStep } from "../parts/trace-steps.ts";
import { countOf, textOf } from "../parts/tool.ts";
import type { Tool } from "../parts/tool.ts";

const maxShown = 50;

export const listDenials: Tool = {
  name: "list_denials",
  title: "List recent denials",
  description:
    "List recent requests that the server denied, newest first, with the deciding step. Use why_denied for all steps of one request.",
  input: {
    text: { type: "string", description: "Only requests with this text in their host, path, address or status." },
    since: { type: "string", description: "Only requests since this time, or a time ago such as 30m or 24h." },
    source_ip: { type: "string", description: "Only requests of this client." },
    limit: { type: "integer", minimum: 1, maximum: maxShown, description: "Default: 20." },
  },
  required: [],
  async run(input, { api, baseUrl }) {
    const query = new URLSearchParams({ outcome: "denied", limit: String(countOf(input, "limit", maxShown) ?? 20) });
    for (const name of ["text", "since", "source_ip"]) {
      const value = textOf(input, name, 255);
      if (value !== undefined) query.set(name, value);
    }
    const { requests } = (await api({ method: "GET", path: `/requests?${query.toString()}` })) as Denials;
    if (requests.length === 0) return "No denied requests. The server stores only recent ones.";
    return requests
      .map(
        ({ id, ended_at: at, method, host, path, source_ip: source, status_code: status, error_code: code, steps }) => {
          const decision = steps.findLast(({ outcome }) => outcome === "denied");
          const why = decision ? `${decision.by}: ${quoteValue(decision.reason)}` : "no recorded decision";
          const request = `${quoteValue(method)} ${quoteValue(`${host}${path}`)} from ${source}`;
          return `- ${id} at ${at}: ${request}, ${status} ${code ?? ""} by ${why}. ${consoleLink(baseUrl, "traffic", id)}`;
        },
      )
      .join("\n");
  },
};

interface Denials {
  readonly requests: readonly {
    readonly id: string;
    readonly ended_at: string;
    readonly method: string;
    readonly host: string;
    readonly path: string;
    readonly source_ip: string;
    readonly status_code: number;
    readonly error_code: string | null;
    readonly steps: readonly TraceStep[];
  }[];
}
