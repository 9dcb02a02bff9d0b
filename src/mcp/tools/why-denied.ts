import { Refusal } from "../../lib/errors.ts";
import { encodePath } from "../parts/api-path.ts";
import { consoleLink } from "../parts/links.ts";
import { quoteValue } from "../parts/quote-value.ts";
import { codeLines, stepLines } from "../parts/trace-steps.ts";
import { requireText } from "../parts/tool.ts";
import type { Tool } from "../parts/tool.ts";

export const whyDenied: Tool = {
  name: "why_denied",
  title: "Why was this denied?",
  description:
    "Explain a request or connection that already happened, by its id: the decision of each step, and how to fix an error. The id is in the header X-Request-Id and on error pages.",
  input: { request_id: { type: "string", description: "Id of the request or connection." } },
  required: ["request_id"],
  async run(input, { api, baseUrl }) {
    const id = requireText(input, "request_id", 64);
    const request = await api({ method: "GET", path: encodePath`/requests/${id}` }).catch((error: unknown) => {
      if (error instanceof Refusal && error.reason === "not_found") return undefined;
      throw error;
    });
    const found = request ?? (await api({ method: "GET", path: encodePath`/connections/${id}` }));
    const what = request
      ? `${quoteValue(found.method)} ${quoteValue(`${found.host}${found.path}`)}`
      : `Connection to ${quoteValue(found.server_name ?? String(found.port))}`;
    const status = found.status_code ? ` with status ${found.status_code}` : "";
    return [
      `${what} from ${found.source_ip} at ${found.ended_at}: ${found.outcome}${status}.`,
      `Service ${found.site_id}${found.route_id ? `, route ${found.route_id}` : ""}. ${consoleLink(baseUrl, "traffic", id)}`,
      ...codeLines(found.error_code),
      "Decisions, in order:",
      ...stepLines(found.steps),
    ].join("\n");
  },
};
