import { encodePath } from "../parts/api-path.ts";
import { quoteValue, quoteObject } from "../parts/quote-value.ts";
import { readServices, serviceOf } from "../parts/service-list.ts";
import type { Service } from "../parts/service-list.ts";
import { requireText, ToolError } from "../parts/tool.ts";
import type { Tool } from "../parts/tool.ts";
import { linkOf } from "./find-services.ts";

const maxProblems = 10;

export const describeService: Tool = {
  name: "describe_service",
  title: "Describe a service",
  description:
    "Show the configuration of one service: its addresses, routes, modules and current problems. Secrets are masked.",
  input: {
    service: { type: "string", description: "Id of an edge or endpoint, or its host, such as app.example.com." },
  },
  required: ["service"],
  async run(input, { api, baseUrl }) {
    const wanted = requireText(input, "service", 255);
    const service = await findService(wanted, (await readServices(api)).found);
    const { kind, id, scheme } = service;
    const at = kind === "endpoint" ? encodePath`/endpoints/${id}` : encodePath`/edges/${scheme}/${id}`;
    const object = await api({ method: "GET", path: at });
    const ids = new Set([id, ...((object.routes ?? []) as readonly { readonly id: string }[]).map((one) => one.id)]);
    const { problems } = await api({ method: "GET", path: "/problems" });
    const own = (problems as readonly ServiceProblem[]).filter((one) => ids.has(one.id));
    return [
      `${kind} ${id}. ${linkOf(kind, id, baseUrl)}`,
      own.length === 0 ? "No problems." : `${own.length} problem${own.length === 1 ? "" : "s"}:`,
      ...own.slice(0, maxProblems).map((one) => `- ${quoteValue(one.message)}`),
      "Configuration:",
      quoteObject(object),
    ].join("\n");
  },
};

interface ServiceProblem {
  readonly id: string;
  readonly message: string;
}

/** Finds a service by its id, or by the host that it serves. Throws `ToolError`. */
async function findService(wanted: string, services: readonly Service[]): Promise<Service> {
  const byId = services.find(({ id }) => id === wanted);
  if (byId) return byId;
  const text = wanted.toLowerCase();
  const url = URL.parse(text.includes("://") ? text : `https://${text}`);
  const found = url && serviceOf(services, ["https", "http", "tls", "tcp"], url.hostname, url.port || undefined);
  if (found) return found;
  throw new ToolError(`No service of this account has the id or host ${quoteValue(wanted)}. Call find_services.`);
}
