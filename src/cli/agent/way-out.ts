/** Selects the proxy for an agent's connection to the server. */
import { BlockList, isIP } from "node:net";
import type { ServerAddress } from "../../agent/connect.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** In order of precedence. Some systems set only the last. */
const variables = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "http_proxy"] as const;

/**
 * Returns a function that returns the proxy for a server, or undefined for a direct connection.
 *
 * @param setting `--proxy`: a URL, or `none`
 * @throws Error that names the variable, if its value is not a proxy URL
 */
export function proxiesOf(
  setting: string | undefined,
  env: Environment,
): ((server: ServerAddress) => URL | undefined) | undefined {
  if (setting === "none") return undefined;
  const name = setting === undefined ? variables.find((one) => (env[one] ?? "") !== "") : undefined;
  if (setting === undefined && name === undefined) return undefined;
  const text = setting ?? (env[name as string] as string);
  const url = URL.parse(text.includes("://") ? text : `http://${text}`);
  if (!url || !/^(?:https?|socks5h?):$/.test(url.protocol) || url.hostname === "") {
    throw new Error(`${name ?? "--proxy"} must be the http://, https:// or socks5:// URL of a proxy`);
  }
  if (setting !== undefined) return () => url;
  const exempt = env["NO_PROXY"] ?? env["no_proxy"] ?? "";
  return ({ host, port }) => (isExempt(host, port, exempt) ? undefined : url);
}

/**
 * Parses NO_PROXY like other programs: names with their subdomains, addresses, networks, `*`, each with an optional
 * port.
 */
function isExempt(host: string, port: number, list: string): boolean {
  const name = host.toLowerCase().replace(/\.$/, "");
  // Connections to this machine never use a proxy.
  if (name === "localhost" || name.endsWith(".localhost") || name === "::1" || /^127\.\d+\.\d+\.\d+$/.test(name)) {
    return true;
  }
  return list.split(/[\s,]+/).some((entry) => exemptsHost(entry.toLowerCase(), name, port));
}

function exemptsHost(entry: string, name: string, port: number): boolean {
  if (entry === "*" || entry === name) return true;
  if (entry.includes("/")) return isIP(name) !== 0 && isWithin(entry, name);
  const [, domain = "", wanted] = /^\*?\.?([^:]*)(?::(\d{1,5}))?$/.exec(entry) ?? [];
  if (domain === "" || (wanted !== undefined && Number(wanted) !== port)) return false;
  return domain === name || name.endsWith(`.${domain}`);
}

function isWithin(network: string, address: string): boolean {
  const [start = "", prefix = ""] = network.split("/");
  const family = isIP(start) === 6 ? "ipv6" : "ipv4";
  if (isIP(start) === 0 || isIP(start) !== isIP(address) || !/^\d{1,3}$/.test(prefix)) return false;
  if (Number(prefix) > (family === "ipv6" ? 128 : 32)) return false;
  const list = new BlockList();
  list.addSubnet(start, Number(prefix), family);
  return list.check(address, family);
}
