/** Imports `frps.toml` and `frpc.toml`, and their INI form. */
import { dirname, extname, resolve } from "node:path";
import { readIni } from "../formats/ini.ts";
import { readToml } from "../formats/toml.ts";
import { entriesAt, textAt } from "../formats/source-tree.ts";
import type { SourceNode } from "../formats/source-tree.ts";
import { readYaml } from "../formats/yaml-tree.ts";
import { ImportIssue } from "../report/report.ts";
import type { Imported, ReportLine } from "../report/report.ts";
import { readClient } from "./frp-client.ts";
import { fromLegacy } from "./legacy.ts";
import { readServer } from "./frp-server.ts";

export interface FrpFile {
  readonly file: string;
  readonly text: string;
}

/** Reads any number of client files and at most one server file, which contains the domain of subdomains. */
export function importFrp(files: readonly FrpFile[], document: string): Imported {
  const trees = files.map(({ file, text }) => ({ file, root: treeOf(file, text) }));
  const servers = trees.filter(({ root }) => isServer(root));
  if (servers.length > 1)
    throw new ImportIssue({ file: servers[1]?.file ?? "" }, "this is a second file of a server: import it alone");
  const [server] = servers;
  const readsServer = server && readServer(server.root);
  const clients = trees.filter((tree) => tree !== server);
  const read = clients.map(({ file, root }) => ({ root, folder: dirname(resolve(file)) }));
  const client =
    read.length > 0 ? readClient(read, server && textAt(server.root, "subDomainHost"), document) : undefined;
  const report: ReportLine[] = [...(readsServer?.report ?? []), ...(client?.report ?? [])];
  return { ...client, ...(readsServer?.serverFile && { serverFile: readsServer.serverFile }), secrets: [], report };
}

function treeOf(file: string, text: string): SourceNode {
  const root = parseConfig(file, text);
  refuseTemplates(root);
  return root;
}

function parseConfig(file: string, text: string): SourceNode {
  const name = extname(file).toLowerCase();
  if (name === ".yaml" || name === ".yml" || name === ".json") return readYaml(file, text);
  const isIni = name === ".ini" || /^\s*\[common\]/m.test(text);
  return isIni ? fromLegacy(readIni(file, text)) : readToml(file, text);
}

function isServer(root: SourceNode): boolean {
  const keys = new Set(entriesAt(root, "").map(({ key }) => key));
  return !["serverAddr", "serverPort", "proxies", "visitors"].some((key) => keys.has(key));
}

/** frp expands templates before it parses the file. */
function refuseTemplates({ place, value }: SourceNode): void {
  if (value.kind === "text" && value.text.includes("{{")) {
    throw new ImportIssue(place, "templates are not supported: replace the template by its value");
  }
  if (value.kind === "list") value.items.forEach(refuseTemplates);
  if (value.kind === "map") for (const { node } of value.entries) refuseTemplates(node);
}
