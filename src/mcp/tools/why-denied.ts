import { Refusal } from "../../lib/errors.ts";
import { path } from "../parts/api.ts";
import { consoleLink } from "../parts/links.ts";
import { quoted } from "../parts/quoted.ts";
import { codeLines, stepLines } from "../parts/steps.ts";
import { requiredText } from "../parts/tool.ts";
import type { Tool } from "../parts/tool.ts";

export const whyDenied: Tool = {
  name: "why_denied",
  title: "Why was this denied?",
  description:
    "Explain a request or connection that already happened, by its id: the decision of each step, and how to fix an error. The id is in the header X-Request-Id and on error pages.",
  input: { request_id: { type: "string", description: "Id of the request or connection." } },
  required: ["request_id"],
  async run(input, { api, baseUrl }) {
    const id = requiredText(input, "request_id", 64);
    const request = await api({ method: "GET", path: path`/requests/${id}` }).catch((error: unknown) => {
      if (error instanceof Refusal && error.reason === "not_found") return undefined;
      throw error;
    });
    const found = request ?? (await api({ method: "GET", path: path`/connections/${id}` }));
    const what = request
      ? `${quoted(found.method)} ${quoted(`${found.host}${found.path}`)}`
      : `Connection to ${quoted(found.server_name ?? String(found.port))}`;
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
