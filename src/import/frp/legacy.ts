/** Converts the INI form of frp to the tree of the TOML form. Positions remain those of the INI file. */
import type { SourceEntry, SourceNode } from "../formats/source-tree.ts";
import type { SettingPlace } from "../report/report.ts";

const commonNames: Readonly<Record<string, string>> = {
  authentication_method: "auth.method",
  token: "auth.token",
  authenticate_heartbeats: "auth.additionalScopes",
  authenticate_new_work_conns: "auth.additionalScopes",
  log_file: "log.to",
  log_level: "log.level",
  log_max_days: "log.maxDays",
  disable_log_color: "log.disablePrintColor",
  http_proxy: "transport.proxyURL",
  protocol: "transport.protocol",
  pool_count: "transport.poolCount",
  max_pool_count: "transport.maxPoolCount",
  tcp_mux: "transport.tcpMux",
  tcp_mux_keepalive_interval: "transport.tcpMuxKeepaliveInterval",
  heartbeat_interval: "transport.heartbeatInterval",
  heartbeat_timeout: "transport.heartbeatTimeout",
  dial_server_timeout: "transport.dialServerTimeout",
  tls_enable: "transport.tls.enable",
  tls_only: "transport.tls.force",
  tls_cert_file: "transport.tls.certFile",
  tls_key_file: "transport.tls.keyFile",
  tls_trusted_ca_file: "transport.tls.trustedCaFile",
  tls_server_name: "transport.tls.serverName",
  disable_custom_tls_first_byte: "transport.tls.disableCustomTLSFirstByte",
  dashboard_addr: "webServer.addr",
  dashboard_port: "webServer.port",
  dashboard_user: "webServer.user",
  dashboard_pwd: "webServer.password",
  admin_addr: "webServer.addr",
  admin_port: "webServer.port",
  admin_user: "webServer.user",
  admin_pwd: "webServer.password",
  assets_dir: "webServer.assetsDir",
  pprof_enable: "webServer.pprofEnable",
  subdomain_host: "subDomainHost",
  vhost_http_port: "vhostHTTPPort",
  vhost_https_port: "vhostHTTPSPort",
  vhost_http_timeout: "vhostHTTPTimeout",
  custom_404_page: "custom404Page",
  tcpmux_httpconnect_port: "tcpmuxHTTPConnectPort",
};
const proxyNames: Readonly<Record<string, string>> = {
  local_ip: "localIP",
  http_user: "httpUser",
  http_pwd: "httpPassword",
  route_by_http_user: "routeByHTTPUser",
  use_encryption: "transport.useEncryption",
  use_compression: "transport.useCompression",
  bandwidth_limit: "transport.bandwidthLimit",
  bandwidth_limit_mode: "transport.bandwidthLimitMode",
  proxy_protocol_version: "transport.proxyProtocolVersion",
  group: "loadBalancer.group",
  group_key: "loadBalancer.groupKey",
  sk: "secretKey",
  plugin: "plugin.type",
  plugin_local_addr: "plugin.localAddr",
  plugin_local_path: "plugin.localPath",
  plugin_strip_prefix: "plugin.stripPrefix",
  plugin_http_user: "plugin.httpUser",
  plugin_http_passwd: "plugin.httpPassword",
  plugin_unix_path: "plugin.unixPath",
  plugin_crt_path: "plugin.crtPath",
  plugin_key_path: "plugin.keyPath",
  plugin_host_header_rewrite: "plugin.hostHeaderRewrite",
  plugin_user: "plugin.username",
  plugin_passwd: "plugin.password",
};
const lists: ReadonlySet<string> = new Set([
  "customDomains",
  "locations",
  "start",
  "allowUsers",
  "includes",
  "allowPorts",
]);

type LegacyTable = Map<string, { readonly place: SettingPlace; readonly value: SourceNode | LegacyTable }>;

/** Sections other than `[common]` are proxies, or visitors according to their `role`. */
export function fromLegacy(root: SourceNode): SourceNode {
  const sections = root.value.kind === "map" ? root.value.entries : [];
  const common: LegacyTable = new Map();
  const proxies: SourceNode[] = [];
  const visitors: SourceNode[] = [];
  for (const { key, place, node } of sections) {
    const entries = node.value.kind === "map" ? node.value.entries : [];
    if (key === "common") {
      for (const entry of entries)
        putEntry(
          common,
          addPrefix(entry.key, "meta_", "metadatas.") ?? commonNames[entry.key] ?? camelCase(entry.key),
          entry,
        );
      continue;
    }
    const made: LegacyTable = new Map();
    putEntry(made, "name", { key, place, node: { place, value: { kind: "text", text: key } } });
    for (const entry of entries) putEntry(made, proxyKey(entry.key), entry);
    const isVisitor = entries.some(
      (entry) => entry.key === "role" && entry.node.value.kind === "text" && entry.node.value.text === "visitor",
    );
    (isVisitor ? visitors : proxies).push(treeOf(made, place));
  }
  const list = (key: string, items: readonly SourceNode[]): SourceEntry[] => {
    const [first] = items;
    return first ? [{ key, place: first.place, node: { place: first.place, value: { kind: "list", items } } }] : [];
  };
  const tree = treeOf(common, root.place);
  const entries = tree.value.kind === "map" ? tree.value.entries : [];
  return {
    place: root.place,
    value: { kind: "map", entries: [...entries, ...list("proxies", proxies), ...list("visitors", visitors)] },
  };
}

function proxyKey(key: string): string {
  return (
    addPrefix(key, "header_", "requestHeaders.set.") ??
    addPrefix(key, "plugin_header_", "plugin.requestHeaders.set.") ??
    addPrefix(key, "meta_", "metadatas.") ??
    addPrefix(key, "health_check_", "healthCheck.") ??
    proxyNames[key] ??
    camelCase(key)
  );
}

function addPrefix(key: string, prefix: string, path: string): string | undefined {
  return key.startsWith(prefix) ? path + key.slice(prefix.length) : undefined;
}

function camelCase(key: string): string {
  return key.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function putEntry(made: LegacyTable, path: string, { place, node }: SourceEntry): void {
  const [key = "", ...rest] = path.split(".");
  if (rest.length === 0) {
    const isList = lists.has(key) && node.value.kind === "text";
    made.set(key, { place, value: isList ? listOf(node) : node });
    return;
  }
  const known = made.get(key)?.value;
  const inner: LegacyTable = known instanceof Map ? known : new Map();
  made.set(key, { place, value: inner });
  putEntry(inner, rest.join("."), { key, place, node });
}

function listOf({ place, value }: SourceNode): SourceNode {
  const texts = value.kind === "text" ? value.text.split(",").map((text) => text.trim()) : [];
  return {
    place,
    value: { kind: "list", items: texts.filter(Boolean).map((text) => ({ place, value: { kind: "text", text } })) },
  };
}

function treeOf(made: LegacyTable, place: SettingPlace): SourceNode {
  const entries = [...made].map(([key, one]): SourceEntry => ({
    key,
    place: one.place,
    node: one.value instanceof Map ? treeOf(one.value, one.place) : one.value,
  }));
  return { place, value: { kind: "map", entries } };
}
