/** Azure Monitor, the Logs Ingestion API, with an Entra token for a client secret. */
import type { EventTargetValue } from "../../../resources/event-target.ts";
import type { Outbound } from "../../../outbound/outbound.ts";
import { toNotDelivered, readObject } from "./response.ts";
import { NotDelivered } from "./opened-target.ts";
import type { TargetKind } from "./opened-target.ts";

/** Azure's limit is 1 MB per request. */
const limits = { events: 1000, bytes: 900_000, perEvent: 64, eventBytes: 800_000 } as const;
const version = "2023-01-01";
const defaultAuthority = "https://login.microsoftonline.com";
/** Scopes of the authorities of separate clouds. */
const scopes: Readonly<Record<string, string>> = {
  "login.microsoftonline.us": "https://monitor.azure.us//.default",
  "login.partner.microsoftonline.cn": "https://monitor.azure.cn//.default",
};
const defaultScope = "https://monitor.azure.com//.default";
/** How long before its expiry a token is renewed. */
const marginMs = 5 * 60_000;

export const azureLogsIngestion: TargetKind<"azure_logs_ingestion"> = {
  open(value, { outbound }) {
    const base = value.logs_ingestion_uri.replace(/\/+$/, "");
    const [rule, name] = [value.data_collection_rule_id, value.data_collection_stream_name].map(encodeURIComponent);
    const stream = `dataCollectionRules/${rule}/streams/${name}`;
    const url = new URL(`${base}/${stream}?api-version=${version}`);
    const token = tokenSource(value, outbound);
    return {
      limits,
      async deliver(events) {
        // The body of an event is already JSON. Every table has this column.
        const rows = events.map(({ time, body }) => `{"TimeGenerated":${JSON.stringify(time)},${body.slice(1)}`);
        const headers = { "content-type": "application/json", authorization: `Bearer ${await token.get()}` };
        const answer = await outbound.send({ method: "POST", url, headers, body: `[${rows.join(",")}]` });
        if (answer.status === 204) return undefined;
        if (answer.status === 401) token.forget();
        throw toNotDelivered(answer, errorCode(answer.text), outbound.clock.now());
      },
      close: () => outbound.close(),
    };
  },
};

function tokenSource(
  value: EventTargetValue<"azure_logs_ingestion">,
  outbound: Outbound,
): { get(): Promise<string>; forget(): void } {
  const authority = (value.authority_host || defaultAuthority).replace(/\/+$/, "");
  const url = new URL(`${authority}/${encodeURIComponent(value.tenant_id)}/oauth2/v2.0/token`);
  const body = new URLSearchParams({
    grant_type: "client_credentials",
    client_id: value.client_id,
    client_secret: value.client_secret,
    scope: scopes[url.hostname] ?? defaultScope,
  }).toString();
  /** `endsAt` is on the monotonic clock. */
  let kept: { readonly token: string; readonly endsAt: number } | undefined;
  return {
    async get() {
      const nowMs = outbound.clock.now();
      const monotonic = outbound.clock.monotonic();
      if (kept && monotonic < kept.endsAt - marginMs) return kept.token;
      const headers = { "content-type": "application/x-www-form-urlencoded" };
      const answer = await outbound.send({ method: "POST", url, headers, body });
      const { access_token: token, expires_in: life, error } = readObject(answer.text);
      if (answer.status !== 200) throw toNotDelivered(answer, tokenRefusal(error, answer.text), nowMs);
      if (typeof token !== "string" || !/^[!-~]+$/.test(token)) throw new NotDelivered("the answer has no token");
      kept = { token, endsAt: monotonic + Number(life) * 1000 };
      return token;
    },
    forget() {
      kept = undefined;
    },
  };
}

/** RFC 6749 §5.2. Only these codes are reported, because the rest of the response may repeat the request. */
const tokenErrors = new Set([
  "invalid_request",
  "invalid_client",
  "invalid_grant",
  "unauthorized_client",
  "unsupported_grant_type",
  "invalid_scope",
]);

function tokenRefusal(error: unknown, text: string): string {
  const name = tokenErrors.has(String(error)) ? `${String(error)} ` : "";
  const number = /\bAADSTS\d{4,8}\b/.exec(text)?.[0];
  return `${name}${number === undefined ? "" : `(${number}) `}for a token request`;
}

function errorCode(text: string): string {
  const { error } = readObject(text) as { readonly error?: { readonly code?: unknown } };
  const code = error?.code;
  return typeof code === "string" && /^[A-Za-z]{1,64}$/.test(code) ? code : "";
}
