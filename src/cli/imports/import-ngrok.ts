/** Checks agent files of ngrok, which work unchanged. The report lists what will behave differently, key by key. */
import { readYaml } from "../../import/formats/yaml-tree.ts";
import type { SourceNode } from "../../import/formats/source-tree.ts";
import { Ledger } from "../../import/ledger/ledger.ts";
import type { KeyRow } from "../../import/ledger/ledger.ts";
import { isVendorHost } from "../../import/report/vendor-hosts.ts";
import type { Imported } from "../../import/report/report.ts";
import { agentKeys, endpointKeys, tunnelKeys } from "../agent-files/agent-file-keys.ts";
import type { KeyRow as FileKeyRow } from "../agent-files/agent-file-keys.ts";
import { readAgentFiles } from "../agent-files/read-agent-files.ts";
import type { FileFormat } from "../agent-files/read-agent-files.ts";
import type { FileIssue } from "../agent-files/source.ts";
import { ValueError } from "../agent-files/tunnel-values.ts";
import { tunnelsOfEntry } from "../agent/file-tunnels.ts";

/** Keys that control access. */
const guards =
  /^(?:basic_auth|oauth|oidc|saml|ip_restriction|cidr_|mutual_tls|verify_webhook|user_agent|traffic_policy|policy|crl_url|root_cas|connect_cas|.*mutual_tls)/;

/** Differences of keys that work. */
const differences: Readonly<Record<string, string>> = {
  authtoken: "the token must be one of this server: create it with `postern api credentials create`, and replace it",
  api_key: "the key must be one of this server",
  server_addr: "the address must be one of this server",
  connect_url: "the address must be one of this server",
  root_cas:
    "the agent trusts the system's authorities or the file. `trusted` means the server's own CA, stored by `postern login`",
  connect_cas:
    "the agent trusts the system's authorities or the file. `trusted` means the server's own CA, stored by `postern login`",
  subdomain: "the name is below the domain of this server",
  remote_addr: "reserve the address first: postern api POST /reserved_addrs '{}'",
  "oauth.provider": "without client_id, the operator's app of the provider is used, if there is one",
};

export function importNgrok(path: string, text: string): Imported {
  const root = readYaml(path, text);
  const files = readAgentFiles([path]);
  const [, format = "own"] = files.formats[0] ?? [];
  const ledger = new Ledger(rowsOf(format));
  reportVendorHosts(root, ledger);
  const issues: FileIssue[] = [...files.issues];
  for (const entry of files.tunnels) tunnelsOfEntry(entry, issues, readNothing);
  for (const issue of issues) if (!issue.message.includes(unread)) reportIssue(root, issue, ledger);
  return { secrets: [], report: ledger.finish(root) };
}

const unread = "is another file";

/** The import reads no other files, so it does not check them. */
const readNothing = (setting: string): never => {
  throw new ValueError(setting, unread);
};

function rowsOf(format: FileFormat): KeyRow[] {
  return [
    { key: "version", kind: "mapped", text: "the format of the file" },
    ...agentKeys[format].map((row) => lineOf(row, format === 3 ? "agent." : "")),
    ...tunnelKeys.map((row) => lineOf(row, "tunnels.*.")),
    ...endpointKeys.map((row) => lineOf(row, "endpoints[].")),
  ];
}

function lineOf({ key, setting, refused, ignored }: FileKeyRow, prefix: string): KeyRow {
  const at = prefix + key;
  if (refused !== undefined) {
    return {
      key: at,
      kind: "left out",
      text: `the agent refuses the file: ${refused}`,
      ...(guards.test(key) && { guardsAccess: true }),
    };
  }
  if (setting === undefined) return { key: at, kind: "left out", text: ignored ?? "it has no meaning here" };
  const differs = differences[key];
  return differs === undefined
    ? { key: at, kind: "mapped", text: "works as it is" }
    : { key: at, kind: "mapped differently", text: differs };
}

/** Reports an issue at the setting in its place, or else at the setting that contains the place. */
function reportIssue(node: SourceNode, issue: FileIssue, ledger: Ledger, key = ""): boolean {
  const { value } = node;
  const text = `the agent refuses the file: ${issue.message}`;
  if (value.kind === "map") {
    for (const entry of value.entries) {
      const isHere = [entry.place, entry.node.place].some(
        ({ line, column }) => line === issue.line && column === issue.column,
      );
      if (isHere)
        ledger.say(
          entry.node,
          "left out",
          text,
          guards.test(entry.key) || guards.test(key) || issue.message.startsWith("unknown key"),
        );
      if (isHere || reportIssue(entry.node, issue, ledger, entry.key)) return true;
    }
  }
  return value.kind === "list" && value.items.some((item) => reportIssue(item, issue, ledger, key));
}

/** Names below the vendor's domains cannot move. */
function reportVendorHosts({ value }: SourceNode, ledger: Ledger): void {
  if (value.kind === "list") for (const item of value.items) reportVendorHosts(item, ledger);
  if (value.kind !== "map") return;
  for (const { key, node } of value.entries) {
    const isUrl = ["url", "domain", "hostname", "remote_addr"].includes(key) && node.value.kind === "text";
    if (isUrl && isVendorHost(node.value.kind === "text" ? node.value.text : "")) {
      ledger.say(node, "mapped differently", "the name belongs to the hosted service: replace it by a name of yours");
    } else reportVendorHosts(node, ledger);
  }
}
