import type { JsonObject } from "../../lib/json.ts";
import { encodePath } from "../parts/api-path.ts";
import { quoteValue } from "../parts/quote-value.ts";
import { readServices, serviceOf } from "../parts/service-list.ts";
import type { Service } from "../parts/service-list.ts";
import { codeLines, stepLines } from "../parts/trace-steps.ts";
import type { TraceStep } from "../parts/trace-steps.ts";
import { requireText, textOf, ToolError } from "../parts/tool.ts";
import type { Tool } from "../parts/tool.ts";
import { linkOf } from "./find-services.ts";

const maxHeaders = 50;

export const explainRequest: Tool = {
  name: "explain_request",
  title: "Explain a request",
  description:
    "Simulate a request or connection and explain what the server would do with it, step by step. Nothing is sent. Use why_denied for a request that already happened.",
  input: {
    url: {
      type: "string",
      description: "https:// or http:// URL of the request, or tls://HOST or tcp://HOST:PORT for a connection.",
    },
    method: { type: "string", description: "Method of the request. Default: GET." },
    headers: { type: "object", additionalProperties: { type: "string" }, description: "Header fields, by name." },
    body: { type: "string", description: "Body of the request." },
    source_ip: { type: "string", description: "Address of the client." },
    country: { type: "string", description: "Country of the client, such as DE. Default: that of its address." },
    email: { type: "string", description: "E-mail address of a person to treat as logged in." },
  },
  required: ["url"],
  async run(input, { api, baseUrl }) {
    const text = requireText(input, "url", 8192);
    const url = URL.parse(text);
    const scheme = url?.protocol.slice(0, -1) ?? "";
    if (!url || !["https", "http", "tls", "tcp"].includes(scheme)) {
      throw new ToolError('The argument "url" must begin with https://, http://, tls:// or tcp://.');
    }
    const host = url.hostname.toLowerCase().replace(/\.$/, "");
    const { found } = await readServices(api);
    const service = serviceOf(found, [scheme], host, scheme === "tcp" ? url.port : undefined);
    if (!service) throw new ToolError(`No service of this account serves ${quoteValue(`${scheme}://${host}`)}.`);
    const source = textOf(input, "source_ip", 64);
    const isRequest = scheme === "https" || scheme === "http";
    const country = textOf(input, "country", 2);
    const described = { ...(source !== undefined && { source_ip: source }), ...(country !== undefined && { country }) };
    const body = { ...described, ...(isRequest && requestOf(text, input)) };
    const report = (await api({ method: "POST", path: `${placeOf(service)}/explain`, body })) as Explanation;
    const route = report.route ? `, route ${report.route.id}` : "";
    return [
      `${service.kind} ${service.id}${route}. ${linkOf(service.kind, service.id, baseUrl)}`,
      endOf(report),
      ...codeLines(report.error_code),
      "Decisions, in order:",
      ...stepLines(report.steps),
      ...report.near_routes
        .slice(0, 5)
        .map(
          (one) =>
            `Not matched: route ${one.id}, ${one.match_type} ${quoteValue(one.match)}: ${quoteValue(one.reason)}`,
        ),
    ].join("\n");
  },
};

interface Explanation {
  readonly route: { readonly id: string } | null;
  readonly near_routes: readonly Readonly<Record<"id" | "match_type" | "match" | "reason", string>>[];
  readonly outcome: string;
  readonly status_code: number | null;
  readonly error_code: string | null;
  readonly steps: readonly TraceStep[];
  readonly tunnel: { readonly id: string; readonly forwards_to: string } | null;
  readonly address: string | null;
}

function placeOf({ kind, id, scheme }: Service): string {
  return kind === "endpoint" ? encodePath`/endpoints/${id}` : encodePath`/edges/${scheme}/${id}`;
}

function requestOf(url: string, input: JsonObject): JsonObject {
  const headers = input["headers"] ?? {};
  if (typeof headers !== "object" || Array.isArray(headers) || Object.keys(headers as object).length > maxHeaders) {
    throw new ToolError(`The argument "headers" must be an object with at most ${maxHeaders} header fields.`);
  }
  const [body, email] = [textOf(input, "body", 65_536), textOf(input, "email", 320)];
  return {
    method: textOf(input, "method", 32) ?? "GET",
    url,
    headers: headers,
    ...(body !== undefined && { body }),
    ...(email !== undefined && { as: { email, groups: [] } }),
  };
}

function endOf({ outcome, status_code: status, tunnel, address }: Explanation): string {
  if (outcome !== "forwarded") return `Result: ${outcome}${status === null ? "" : ` with status ${status}`}.`;
  if (tunnel) return `Result: forwarded through tunnel ${tunnel.id} to ${quoteValue(tunnel.forwards_to)}.`;
  return `Result: forwarded${address === null ? "" : ` to ${quoteValue(address)}`}.`;
}
