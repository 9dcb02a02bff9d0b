import type { Layer } from "./language/action.ts";
import type { Phase } from "./language/phase.ts";

export const phasesOf: Readonly<Record<Layer, readonly Phase[]>> = {
  http: ["on_http_request", "on_http_response", "on_event_stream_message", "on_tcp_connect"],
  tls: ["on_tcp_connect"],
  tcp: ["on_tcp_connect"],
};

const olderNames: Readonly<Record<Layer, ReadonlyMap<string, Phase>>> = {
  http: new Map([
    ["inbound", "on_http_request"],
    ["outbound", "on_http_response"],
  ]),
  tls: new Map([["inbound", "on_tcp_connect"]]),
  tcp: new Map([["inbound", "on_tcp_connect"]]),
};

/** Returns the phase with this name on the layer, by its present or its older name. */
export function phaseNamed(name: string, layer: Layer): Phase | undefined {
  return phasesOf[layer].find((one) => one === name) ?? olderNames[layer].get(name);
}
