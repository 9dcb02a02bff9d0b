/** Tries out whether an endpoint accepts requests. */
import type { Clock } from "../lib/clock.ts";
import { openOutbound } from "../outbound/outbound.ts";
import type { Signal } from "../lib/telemetry-words.ts";
import type { ExporterOptions } from "./exporter.ts";

export interface ProbeResult {
  readonly signal: Signal;
  readonly url: URL;
  /** Status of the answer, or why there was none. */
  readonly answer: number | Error;
}

/** Sends a request without items for each signal. */
export async function probeEndpoint(
  {
    urls,
    headers,
    protocol,
    timeoutMs,
    ca,
  }: Pick<ExporterOptions, "urls" | "headers" | "protocol" | "timeoutMs" | "ca">,
  clock: Clock,
): Promise<readonly ProbeResult[]> {
  const outbound = openOutbound({ purpose: "telemetry", clock, reach: "any", ca, timeoutMs });
  const [type, body] = protocol === "http/json" ? ["application/json", "{}"] : ["application/x-protobuf", ""];
  const probe = async (signal: Signal, url: URL): Promise<ProbeResult> => {
    const asked = outbound.send({ method: "POST", url, headers: { ...headers, "content-type": type }, body });
    return { signal, url, answer: await asked.then(({ status }) => status).catch((error: unknown) => error as Error) };
  };
  try {
    return await Promise.all(Object.entries(urls).map(([signal, url]) => probe(signal as Signal, new URL(url))));
  } finally {
    outbound.close();
  }
}
