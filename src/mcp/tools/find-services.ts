import { consoleLink } from "../parts/links.ts";
import { quoteValue } from "../parts/quote-value.ts";
import { readServices } from "../parts/service-list.ts";
import type { Service } from "../parts/service-list.ts";
import { textOf } from "../parts/tool.ts";
import type { Tool } from "../parts/tool.ts";

const maxShown = 20;

export const findServices: Tool = {
  name: "find_services",
  title: "Find services",
  description:
    "Find published services (edges and endpoints) by address, id or any text in their description or metadata. Without a text, lists the first ones.",
  input: {
    text: { type: "string", description: "Address, host, id or text, such as app.example.com. Case does not matter." },
  },
  required: [],
  async run(input, { api, baseUrl }) {
    const text = textOf(input, "text", 255)?.toLowerCase();
    const { found, more } = await readServices(api);
    const wanted = hostOf(text);
    const matching = wanted === undefined ? found : found.filter((one) => containsText(one, wanted));
    const lines = matching.slice(0, maxShown).map((one) => lineOf(one, baseUrl));
    const rest = matching.length - lines.length;
    if (rest > 0) lines.push(`… and ${rest} more. Search for a longer text.`);
    if (more) lines.push("The account has more services than were searched.");
    const count = `${matching.length} service${matching.length === 1 ? "" : "s"}`;
    return [text === undefined ? `${count}.` : `${count} for ${quoteValue(text)}.`, ...lines].join("\n");
  },
};

/** Accepts a URL instead of a host. */
function hostOf(text: string | undefined): string | undefined {
  return text !== undefined && text.includes("://") ? (URL.parse(text)?.hostname ?? text) : text;
}

function containsText({ id, addresses, description, metadata }: Service, text: string): boolean {
  return [id, ...addresses, description, metadata].some((one) => one.toLowerCase().includes(text));
}

function lineOf({ id, kind, scheme, addresses, description }: Service, baseUrl: string): string {
  const shown = addresses.slice(0, 5).map((one) => quoteValue(`${scheme}://${one}`));
  const rest = addresses.length > 5 ? ` and ${addresses.length - 5} more addresses` : "";
  const said = description === "" ? "" : `, description ${quoteValue(description)}`;
  return `- ${kind} ${id}: ${shown.join(", ") || "no address"}${rest}${said}. ${linkOf(kind, id, baseUrl)}`;
}

export function linkOf(kind: Service["kind"], id: string, baseUrl: string): string {
  return kind === "https_edge" ? consoleLink(baseUrl, "edges", id) : consoleLink(baseUrl, "objects", kind, id);
}
