import { modules } from "../../src/modules/index.ts";
import { phases } from "../../src/traffic/module.ts";
import type { ModuleDeclaration, Phase } from "../../src/traffic/module.ts";
import type { Place } from "../../src/schema/object.ts";
import { code, table } from "./markdown.ts";

/** Where each phase happens. */
const placesOf: Readonly<Record<Phase, readonly Place[]>> = {
  connection: ["tls_edge", "tcp_edge"],
  handshake: ["https_edge", "tls_edge"],
  request: ["https_edge", "https_route"],
  response: ["https_edge", "https_route"],
};

/** The order of the modules: where each may be set, when it acts, and what it may do then. */
export function moduleOrder(): string {
  const rows = modules.flatMap((module, index) => rowsOf(module, index + 1));
  return [
    "## The order\n\n",
    "TLS and TCP edges decide over a connection before they answer a byte of it. Then comes the TLS handshake, and on HTTPS edges each request and its response. Within a phase modules act from top to bottom. To refuse ends an exchange with an error, to answer with a response of the edge's own: later modules do not see it, and those of the response act on what the upstream sends only.\n\n",
    table(["", "Module", "Set on", "Phase", "May"], rows),
  ].join("");
}

function rowsOf({ name, on, acts }: ModuleDeclaration, number: number): string[][] {
  const link = `[${code(name)}](#${name})`;
  const rows = phases.flatMap((phase) => {
    const powers = acts[phase];
    return powers
      ? [[placesText(on.filter((place) => placesOf[phase].includes(place))), phase, powers.join(", ")]]
      : [];
  });
  if (rows.length === 0) rows.push([placesText(on), "", "nothing yet: what has it is refused"]);
  return rows.map((row, index) => [index === 0 ? String(number) : "", link, ...row]);
}

export function placesText(places: readonly Place[]): string {
  return places.map((place) => place.replaceAll("_", " ")).join(", ");
}
