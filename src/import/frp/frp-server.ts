/** Converts `frps.toml` to settings of `postern serve`. */
import { itemsAt, nodeAt, textAt } from "../formats/source-tree.ts";
import type { SourceNode } from "../formats/source-tree.ts";
import type { JsonObject } from "../../lib/json.ts";
import { Ledger } from "../ledger/ledger.ts";
import type { ReportLine } from "../report/report.ts";
import { frpsKeys } from "./frps-keys.ts";

export function readServer(root: SourceNode): {
  readonly serverFile: JsonObject;
  readonly report: readonly ReportLine[];
} {
  const ledger = new Ledger(frpsKeys);
  const host = textAt(root, "proxyBindAddr") ?? "";
  const listen = (key: string, address: string): string | undefined => {
    const port = textAt(root, key);
    return port === undefined || port === "0" ? undefined : `${address}:${port}`;
  };
  const level = textAt(root, "log.level");
  const ports = portsOf(root, ledger);
  const serverFile = {
    ...setField("domain", textAt(root, "subDomainHost")),
    ...setField("agent_listen", listen("bindPort", textAt(root, "bindAddr") ?? "") ?? ":7000"),
    ...setField("https_listen", listen("vhostHTTPSPort", host)),
    ...setField("http_listen", listen("vhostHTTPPort", host)),
    ...setField("tcp_bind", host === "" ? undefined : host),
    ...setField("tcp_ports", ports),
    ...setField("log_level", level === "trace" ? "debug" : level),
  };
  return { serverFile, report: ledger.finish(root) };
}

function setField(key: string, value: string | undefined): JsonObject {
  return value === undefined ? {} : { [key]: value };
}

/**
 * `allowPorts` is a list of ranges, or a text in the INI form. The server supports one range, so the widest is used.
 */
function portsOf(root: SourceNode, ledger: Ledger): string | undefined {
  const ranges = itemsAt(root, "allowPorts").map((item): readonly [number, number] => {
    const single = item.value.kind === "text" ? item.value.text : textAt(item, "single");
    const [start = "0", end = start] =
      single === undefined ? [textAt(item, "start"), textAt(item, "end")] : single.split("-");
    return [Number(start), Number(end)];
  });
  const [widest] = ranges.toSorted(([a, b], [c, d]) => d - c - (b - a));
  if (!widest) return undefined;
  if (ranges.length > 1) {
    const text = `tcp_ports is one range, ${widest.join("-")}. An operator's key can use other ports for TCP edges`;
    ledger.say(nodeAt(root, "allowPorts"), "mapped differently", text);
  }
  return widest.join("-");
}
