import { modules } from "../../src/modules/index.ts";
import { phases } from "../../src/traffic/module.ts";
import type { ModuleDeclaration, ModulePhase } from "../../src/traffic/module.ts";
import type { ModulePlace } from "../../src/schema/object.ts";
import { toCode, renderTable } from "./markdown.ts";

/** Place of each phase. */
const placesOf: Readonly<Record<ModulePhase, readonly ModulePlace[]>> = {
  connection: ["tls_edge", "tcp_edge"],
  handshake: ["https_edge", "tls_edge"],
  request: ["https_edge", "https_route"],
  response: ["https_edge", "https_route"],
};

/** Returns the order of the modules: where each can be set, when it acts, and what it can do. */
export function moduleOrder(): string {
  const rows = modules.flatMap((module, index) => rowsOf(module, index + 1));
  return [
    "## The order\n\n",
    "TLS and TCP edges decide about a connection before they send a byte. Then comes the TLS handshake, and on HTTPS edges each request and its response. Within a phase, modules act from top to bottom. A module that rejects ends an exchange with an error. A module that answers ends an exchange with a response from the edge. Later modules do not see such an exchange. Response modules act only on responses from the upstream.\n\n",
    renderTable(["", "Module", "Set on", "Phase", "May"], rows),
  ].join("");
}

function rowsOf({ name, on, acts }: ModuleDeclaration, number: number): string[][] {
  const link = `[${toCode(name)}](#${name})`;
  const rows = phases.flatMap((phase) => {
    const powers = acts[phase];
    return powers
      ? [[placesText(on.filter((place) => placesOf[phase].includes(place))), phase, powers.join(", ")]]
      : [];
  });
  if (rows.length === 0) rows.push([placesText(on), "", "no action yet: configurations with it are rejected"]);
  return rows.map((row, index) => [index === 0 ? String(number) : "", link, ...row]);
}

export function placesText(places: readonly ModulePlace[]): string {
  return places.map((place) => place.replaceAll("_", " ")).join(", ");
}
