/** Requests to the HTTP API of a DNS provider, within the bounds of outbound requests (security I7). */
import type { Clock } from "../../lib/clock.ts";
import { openOutbound } from "../../outbound/outbound.ts";
import type { OutboundAnswer, OutboundRequest } from "../../outbound/outbound.ts";
import { providerProblem } from "./dns-provider.ts";
import type { ProviderAccess } from "./dns-provider.ts";

export interface ApiRequest {
  readonly method: OutboundRequest["method"];
  /** Appended to the base URL. */
  readonly path: string;
  /** Sent as JSON; a text is sent unchanged. */
  readonly body?: object | string;
  /** Other statuses than 2xx that are no failure. */
  readonly accepts?: readonly number[];
}

export interface ApiAnswer {
  readonly status: number;
  readonly text: string;
  /** The JSON body, undefined if it is not JSON. */
  readonly json: unknown;
}

/** Rejects with `AcmeProblem` if there is no answer, or if its status is neither 2xx nor accepted by the request. */
export type SendToApi = (request: ApiRequest) => Promise<ApiAnswer>;

export interface ApiOptions {
  /** Provider as messages name it. */
  readonly title: string;
  readonly baseUrl: string;
  readonly access: Pick<ProviderAccess, "ca">;
  readonly clock: Clock;
  /** Headers of every request, for the request that is sent. */
  headers(request: { readonly method: string; readonly url: URL; readonly body: string }): HeadersOf;
  /** Returns the reason in an error document. */
  reason(document: unknown, text: string): unknown;
}

type HeadersOf = Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>;

const timeoutMs = 10_000;
const maxAnswerBytes = 1024 * 1024;
const maxReason = 300;

/** The operator chose the URL, so it may be an internal one. It must be https. */
export function connectApi({ title, baseUrl, access, clock, headers, reason }: ApiOptions): SendToApi {
  const outbound = openOutbound({
    purpose: "dns",
    clock,
    reach: "any_https",
    ca: access.ca,
    timeoutMs,
    maxAnswerBytes,
    keepsConnections: false,
  });
  return async ({ method, path, body, accepts = [] }) => {
    const url = new URL(baseUrl + path);
    const text = body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body);
    const fields = {
      ...(typeof body === "object" && { "content-type": "application/json" }),
      ...(await headers({ method, url, body: text ?? "" })),
    };
    let answer: OutboundAnswer;
    try {
      answer = await outbound.send({ method, url, headers: fields, body: text });
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw providerProblem(`${title} does not answer: ${why}`, { cause: error });
    }
    const json = parseJsonOrNothing(answer.text);
    if ((answer.status >= 200 && answer.status < 300) || accepts.includes(answer.status)) {
      return { status: answer.status, text: answer.text, json };
    }
    const why = renderReason(reason(json, answer.text));
    throw providerProblem(`${title} answers ${method} ${url.pathname} with status ${answer.status}${why}`, {
      ...(answer.status === 429 && { retryAfterMs: retryAfterMs(answer.headers["retry-after"]) }),
    });
  };
}

/** Returns a member of a document that may be anything. */
export function readMember(document: unknown, name: string): unknown {
  return typeof document === "object" && document !== null ? (document as Record<string, unknown>)[name] : undefined;
}

/** Returns the objects in a list that may be anything. */
export function objectsIn(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === "object" && one !== null) : [];
}

function parseJsonOrNothing(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function renderReason(reason: unknown): string {
  if (typeof reason !== "string" || reason === "") return "";
  return `: ${reason.replaceAll(/[^\x20-\x7e]+/g, " ").slice(0, maxReason)}`;
}

function retryAfterMs(field: string | undefined): number {
  const seconds = /^\d{1,6}$/.test(field ?? "") ? Number(field) : 60;
  return seconds * 1000;
}
