/** Creates tunnels from flags or file entries: one per scheme of the URL. */
import type { PublishedProto, Publication } from "../../agent/publication.ts";
import { placeOfUrl } from "../../agent/publication.ts";
import type { TunnelOptions } from "../../agent/tunnel-options.ts";
import { parseTargets } from "../../agent/parse-targets.ts";
import { endTls } from "../../agent/end-tls.ts";
import { parseTcpUpstream } from "../../agent/upstream.ts";
import type { Upstream } from "../../agent/upstream.ts";
import { utf8Text } from "../../lib/utf8.ts";
import {
  bindOptions,
  namesFile,
  readAnyFile,
  readPem,
  startsCommand,
  ValueError,
} from "../agent-files/tunnel-values.ts";
import type { ReadFile, TunnelValues } from "../agent-files/tunnel-values.ts";
import { isMcp, mcpCommand, mcpTargets } from "./mcp-tunnel.ts";

/** The value of `proto` in commands and files. */
export type TunnelKind = "http" | "tcp" | "tls";

/**
 * Throws `ValueError`; its setting is `addr` for errors in the target.
 *
 * @param readFile `readNoFile` also refuses targets on this machine's disk
 */
export function tunnelsOf(
  name: string,
  kind: TunnelKind,
  targets: readonly string[],
  values: TunnelValues,
  readFile: ReadFile,
): TunnelOptions[] {
  // Checked before the targets are parsed, because parsing accesses the directory.
  if (readFile !== readAnyFile && targets.some(isOnDisk)) throw new ValueError("addr", namesFile);
  // G11: the same for commands.
  if (readFile !== readAnyFile && values.mcpStdio !== undefined) throw new ValueError("mcpStdio", startsCommand);
  const { targets: own, mcp } = isMcp(values) ? mcpTargets(targets, values) : { targets, mcp: undefined };
  const upstream = withTlsEnd(upstreamOf(kind, own, values, readFile), values, readFile);
  const asked = bindOptions(values, readFile);
  checkTogether(values, asked);
  const options = withHostHeader(asked, upstream, values);
  const trafficPolicy = policyOf(values, readFile);
  return protosOf(kind, values).map((proto, at) => ({
    name: at === 0 ? name : `${name} (${proto})`,
    upstream,
    metadata: values.metadata ?? "",
    ...(values.description !== undefined && { description: values.description }),
    proto,
    proxyProtocol: values.proxyProtocol ?? 0,
    publish: publicationOf(proto, values),
    options,
    trafficPolicy,
    pooling: values.pooling ?? false,
    inspect: values.inspect ?? true,
    ...(mcp && { mcp }),
    ...((values.binding ?? []).length > 0 && { bindings: values.binding as readonly string[] }),
  }));
}

/** Whether a target, or the target behind `PATH=`, is a directory or a socket. */
function isOnDisk(target: string): boolean {
  return /(?:^|=)\s*(?:file|unix):/i.test(target);
}

function upstreamOf(kind: TunnelKind, targets: readonly string[], values: TunnelValues, readFile: ReadFile): Upstream {
  // After the agent has terminated TLS, the traffic is a plain connection.
  const upstream =
    values.mcpStdio !== undefined
      ? mcpCommand(values)
      : parseTarget(values.terminateAt === "agent" ? "tcp" : kind, targets);
  const { upstreamProtocol, upstreamTlsVerify, upstreamTlsVerifyCas, upstreamServerName } = values;
  // The header would follow the TLS handshake, where services do not expect it.
  if (upstream.tls && (values.proxyProtocol ?? 0) !== 0) {
    throw new ValueError("addr", "cannot be https:// with a PROXY protocol header");
  }
  if (upstream.local && ((values.proxyProtocol ?? 0) !== 0 || upstreamProtocol === "http2")) {
    throw new ValueError("addr", "cannot be a directory or several targets with a PROXY protocol header or HTTP/2");
  }
  const isNamed = upstreamServerName !== undefined;
  const verified = upstreamTlsVerify === true || upstreamTlsVerifyCas !== undefined || isNamed;
  if (verified && !upstream.tls) {
    throw new ValueError("addr", "must be https:// to verify the certificate of the service");
  }
  return {
    ...upstream,
    ...(upstreamProtocol === "http2" && { http2: true }),
    ...(verified && { verify: true }),
    ...(isNamed && { serverName: upstreamServerName }),
    ...(upstreamTlsVerifyCas !== undefined && {
      ca: readPem("upstreamTlsVerifyCas", upstreamTlsVerifyCas, readFile),
    }),
  };
}

/** Returns the upstream behind TLS termination in the agent, if the values request it. */
function withTlsEnd(upstream: Upstream, values: TunnelValues, readFile: ReadFile): Upstream {
  const { terminateAt, crt, key, mutualTlsCas = [], proxyProtocol = 0 } = values;
  if (terminateAt !== "agent") return upstream;
  if (crt === undefined || key === undefined) {
    throw new ValueError("terminateAt", "must be edge or upstream, or agent together with crt and key");
  }
  if (proxyProtocol !== 0) {
    throw new ValueError("terminateAt", "cannot be agent with a PROXY protocol header, which precedes TLS");
  }
  const certificate = readPem("crt", crt, readFile);
  const authorities = mutualTlsCas.map((one) => readPem("mutualTlsCas", one, readFile)).join("\n");
  const pem = { certificate, key: readPem("key", key, readFile), ...(authorities !== "" && { authorities }) };
  try {
    return { ...upstream, local: endTls(pem, upstream) };
  } catch (error) {
    throw new ValueError("crt", `does not match its key: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

function parseTarget(kind: TunnelKind, targets: readonly string[]): Upstream {
  try {
    return kind === "http" ? parseTargets(targets) : parseTcpUpstream(targets.join(" "), kind);
  } catch (error) {
    throw new ValueError("addr", (error as Error).message, { cause: error });
  }
}

function protosOf(kind: TunnelKind, { scheme = [], url }: TunnelValues): readonly PublishedProto[] {
  if (kind !== "http") return [kind];
  if (scheme.length > 0) return [...new Set(scheme)].toSorted().toReversed();
  return [url !== undefined && /^http:/i.test(url) ? "http" : "https"];
}

/** At most one of these settings may give the address. */
const placed = ["url", "hostname", "subdomain", "remoteAddr", "label"] as const;

function checkTogether(values: TunnelValues, asked: Readonly<Record<string, unknown>>): void {
  const given = placed.filter((name) => (Array.isArray(values[name]) ? values[name].length > 0 : values[name]));
  if (given.length > 1) {
    const why =
      "cannot be combined: a labelled tunnel uses the addresses of its edges, and every other tunnel has one address";
    throw new ValueError(given[1] as string, `${why} (${given.join(", ")})`);
  }
  if ((values.label ?? []).length === 0) return;
  const own = Object.keys(asked)[0] ?? (values.pooling ? "pooling" : undefined);
  if (own !== undefined || values.trafficPolicyFile !== undefined || values.trafficPolicy !== undefined) {
    throw new ValueError(
      "label",
      `does not work with ${own ?? "a traffic policy"}: configure modules and backends on the edge`,
    );
  }
}

function publicationOf(proto: PublishedProto, values: TunnelValues): Publication {
  const { label = [], hostname, remoteAddr, subdomain } = values;
  // A URL with only a scheme sets the protocol; the server chooses the address.
  const url = values.url?.endsWith("://") ? undefined : values.url;
  if (label.length > 0) {
    const pairs = label.map((one) => [one.slice(0, one.indexOf("=")), one.slice(one.indexOf("=") + 1)] as const);
    return { kind: "labels", labels: Object.fromEntries(pairs) };
  }
  const [setting, place] =
    url !== undefined ? ["url", url] : hostname ? ["hostname", hostname] : ["remoteAddr", remoteAddr];
  if (place !== undefined) {
    try {
      placeOfUrl(place, proto);
    } catch (error) {
      throw new ValueError(setting as string, (error as Error).message, { cause: error });
    }
  }
  return { kind: "url", url: place, ...(subdomain !== undefined && { subdomain }) };
}

/** The server checks the policy and reports errors with their position when the agent connects. */
function policyOf({ trafficPolicy, trafficPolicyFile }: TunnelValues, readFile: ReadFile): string | undefined {
  if (trafficPolicyFile === undefined) return trafficPolicy;
  const bytes = readFile("trafficPolicyFile", trafficPolicyFile);
  try {
    return utf8Text(bytes);
  } catch (error) {
    const why = (error as Error).message;
    throw new ValueError("trafficPolicyFile", `cannot read "${trafficPolicyFile}": ${why}`, { cause: error });
  }
}

/** The edge sets this field like any other. */
function withHostHeader(
  options: Readonly<Record<string, unknown>>,
  { text }: Upstream,
  values: TunnelValues,
): Readonly<Record<string, unknown>> {
  // MCP servers on this machine refuse other names, so that no page of another site reaches them.
  const hostHeader = values.hostHeader ?? (isMcp(values) && URL.parse(text)?.host ? "rewrite" : "preserve");
  if (hostHeader === "preserve") return options;
  const host = hostHeader === "rewrite" ? (URL.parse(text)?.host ?? "") : hostHeader;
  if (host === "") throw new ValueError("hostHeader", `cannot be rewrite: ${text} has no host name`);
  const { add = [], remove = [] } = (options["RequestHeaders"] ?? {}) as { add?: string[]; remove?: string[] };
  return { ...options, RequestHeaders: { add: [...add, `host:${host}`], remove } };
}
