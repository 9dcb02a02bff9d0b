/** Converts an agent file to another format. Comments stay with their keys. */
import { isMap, isScalar, isSeq, parseDocument, Scalar, YAMLMap } from "yaml";
import type { Document, Pair } from "yaml";
import type { FileFormat } from "./read-agent-files.ts";
import { agentKeys } from "./agent-file-keys.ts";
import type { KeyRow } from "./agent-file-keys.ts";

type UpgradeFormat = Exclude<FileFormat, 2>;

/** Names that differ between the vendor's versions 2 and 3 and Postern's own format. */
const names = [
  { 2: "server_addr", 3: "connect_url", own: "server" },
  { 2: "root_cas", 3: "connect_cas", own: "ca" },
  { 2: "metadata", 3: "metadata", own: "session_metadata" },
  { 2: "web_addr", 3: "web_addr", own: "inspector" },
  { 2: "web_allow_hosts", 3: "web_allow_hosts", own: "inspector_hosts" },
] as const;

/** Keys of an endpoint's `upstream` in Postern's own format. */
const ofUpstream: Readonly<Record<string, string>> = {
  url: "addr",
  protocol: "upstream_protocol",
  proxy_protocol: "proxy_proto",
  tls_verify: "upstream_tls_verify",
  tls_verify_cas: "upstream_tls_verify_cas",
};

/** Converts the valid `text` to the format `to`. Throws `Error` for a conversion to an older format. */
export function upgradeText(text: string, from: FileFormat, to: UpgradeFormat): string {
  if (from === to) throw new Error("already has this format");
  if (from === "own") throw new Error("has Postern's own format, which has no older version");
  const document = parseDocument(text);
  if (!isMap(document.contents)) return to === 3 ? "version: 3\n" : "";
  const top = document.contents as YAMLMap;
  const agent = from === 3 ? takeAgent(top) : takeOwn(top);
  for (const pair of agent) renamePair(pair, from, to);
  if (to === 3) {
    const version = top.items.find((pair) => keyOf(pair) === "version");
    if (version) version.value = new Scalar(3);
    else top.items.unshift(document.createPair("version", 3) as never);
    const section = new YAMLMap();
    section.items.push(...(agent as typeof section.items));
    const at = top.items.findIndex((pair) => keyOf(pair) === "version") + 1;
    top.items.splice(at, 0, document.createPair("agent", section) as never);
  } else {
    const version = top.items.findIndex((pair) => keyOf(pair) === "version");
    if (version >= 0) top.items.splice(version, 1);
    const known = new Set(agentKeys.own.flatMap(({ key, setting }: KeyRow) => (setting === undefined ? [] : [key])));
    // Settings that only repeat the default have no key here.
    top.items.unshift(...(agent.filter((pair) => known.has(keyOf(pair))) as typeof top.items));
    convertEndpoints(document, top);
  }
  return document.toString({ lineWidth: 0 });
}

/** Removes the agent's settings from the top level of a version 2 file. */
function takeOwn(top: YAMLMap): Pair[] {
  const stays = (pair: Pair): boolean => ["version", "tunnels", "endpoints"].includes(keyOf(pair));
  const taken = top.items.filter((pair) => !stays(pair));
  top.items = top.items.filter(stays);
  return taken;
}

function takeAgent(top: YAMLMap): Pair[] {
  const agent = top.items.find((pair) => keyOf(pair) === "agent");
  top.items = top.items.filter((pair) => pair !== agent);
  return isMap(agent?.value) ? (agent.value.items as Pair[]) : [];
}

function renamePair(pair: Pair, from: FileFormat, to: UpgradeFormat): void {
  const row = names.find((one) => one[from] === keyOf(pair));
  if (!row || !isScalar(pair.key)) return;
  pair.key.value = row[to];
  pair.key.source = row[to];
  if (row.own !== "ca" || to !== "own" || !isScalar(pair.value)) return;
  if (pair.value.value === "host") pair.value = new Scalar("system");
  // Postern does not use the vendor's own CA.
  else if (pair.value.value === "trusted") pair.key.value = "trusted";
}

/** Converts endpoints to tunnels and appends them to the existing tunnels. */
function convertEndpoints(document: Document, top: YAMLMap): void {
  const endpoints = top.items.find((pair) => keyOf(pair) === "endpoints");
  top.items = top.items.filter((pair) => pair !== endpoints);
  if (!isSeq(endpoints?.value)) return;
  let tunnels: unknown = top.get("tunnels", true);
  if (!isMap(tunnels)) {
    tunnels = new YAMLMap();
    top.set("tunnels", tunnels);
  }
  for (const endpoint of endpoints.value.items) {
    if (!isMap(endpoint)) continue;
    const name = String(endpoint.get("name"));
    endpoint.delete("name");
    const upstream: unknown = endpoint.get("upstream", true);
    const at = endpoint.items.findIndex((pair) => keyOf(pair) === "upstream");
    if (isMap(upstream)) {
      const pairs = upstream.items.map((pair) => {
        const key = keyOf(pair);
        return document.createPair(ofUpstream[key] ?? key, pair.value);
      });
      endpoint.items.splice(at, 1, ...(pairs as typeof endpoint.items));
    }
    (tunnels as YAMLMap).set(name, endpoint);
  }
}

function keyOf({ key }: Pair): string {
  return String(isScalar(key) ? key.value : key);
}
