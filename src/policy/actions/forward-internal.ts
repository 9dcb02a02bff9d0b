import { types } from "../../cel/checking/cel-types.ts";
import { CelFailure } from "../../cel/values/cel-failure.ts";
import { readInternalUrl } from "../../lib/internal-names.ts";
import type { InternalAddress } from "../../lib/internal-names.ts";
import { f } from "../../schema/fields.ts";
import { internalNameIn } from "../language/internal-url.ts";
import { breakAction, breakWith, defineAction, endWith, failAction } from "../language/action.ts";
import type { Layer, PhaseEnd } from "../language/action.ts";
import type { PolicyPlace } from "../language/policy-context.ts";

export const forwardInternal = defineAction({
  type: "forward-internal",
  phases: ["on_tcp_connect", "on_http_request"],
  doc: "Sends the request or connection to an internal endpoint of the account. The endpoint's modules and policy then apply. HTTP goes to HTTP, TLS to TLS, TCP to TCP.",
  config: {
    url: f.string(
      "`https://name.internal`, `http://name.internal`, `tls://name.internal` or `tcp://name.internal:1234`; can contain `${…}`.",
      {
        required: true,
        maxBytes: 2048,
      },
    ),
    on_error: f.oneOf("Behavior if the endpoint is offline.", ["halt", "continue"], { default: "halt" }),
    binding: f.string("Ignored; an older field.", { maxBytes: 64 }),
  },
  // With `continue`, it may not end the phase.
  terminating: "may",
  results: { name: "forward_internal", fields: { url: types.string } },
  compile({ url, on_error }, scope) {
    const template = scope.template(url, "url");
    const { layer } = scope;
    if (template.constant !== undefined && targetOf(template.constant, layer) === undefined) {
      const message = `must be the URL of an internal endpoint, such as ${examples[layer]}`;
      scope.wrong("url", message, "policy_url_invalid");
    }
    return {
      isFinal: on_error === "halt",
      run(context) {
        const text = template.text(context);
        if (text instanceof CelFailure) return breakWith(text);
        const target = targetOf(text, layer);
        if (target && isOnline(target, context.place)) return endWith(`forwarded to ${target.url}`, target);
        const reason = target ? "the endpoint is not online" : "the URL is not an internal endpoint of this protocol";
        if (on_error === "continue") return failAction("unknown_host", reason, { url: text });
        return breakAction("unknown_host", reason);
      },
    };
  },
});

type ForwardEnd = Extract<PhaseEnd, { readonly by: "forward" }>;

const examples: Readonly<Record<Layer, string>> = {
  http: "https://api.internal",
  tls: "tls://db.internal",
  tcp: "tcp://db.internal:5432",
};

/** Returns undefined if the text is not a URL of an internal endpoint of this layer. */
function targetOf(text: string, layer: Layer): ForwardEnd | undefined {
  if (layer === "http") {
    const name = internalNameIn(text);
    return name === undefined ? undefined : { by: "forward", url: name };
  }
  const address = readInternalUrl(text);
  return address?.scheme === layer ? { by: "forward", url: renderAddress(address), address } : undefined;
}

function renderAddress({ scheme, host, port }: InternalAddress): string {
  return `${scheme}://${host}:${port}`;
}

function isOnline({ url, address }: ForwardEnd, { accountId, services }: PolicyPlace): boolean {
  return address ? services.internalConnection(accountId, address) : services.internalEndpoint(accountId, url);
}
