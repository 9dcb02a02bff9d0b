/** One request to the API and its response. */
import type { CallOptions } from "./call-options.ts";
import { PosternConnectionError, PosternError, asErrorBody } from "./errors.ts";
import { etagOf, makeAnswer, rememberAnswer } from "./answers.ts";
import { encodeText, visibleText } from "./header-text.ts";

export interface PosternOptions {
  /** The API's address, e.g. `http://127.0.0.1:4700`. */
  readonly baseUrl: string;
  /** API key. If absent, the given `fetch` must authenticate, such as a page with a session. */
  readonly apiKey?: string;
  /** Maximum time of one request. Default: 30 s. The time to wait for edges is added. */
  readonly timeoutMs?: number;
  /** Sends requests. Default: the platform's `fetch`. */
  readonly fetch?: Fetch;
}

/** The part of `fetch` that the client uses. */
export type Fetch = (url: string, init: FetchInit) => Promise<FetchAnswer>;

export interface FetchInit {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: string;
  readonly signal: AbortSignal;
  /** The key must not be sent to another address. */
  readonly redirect: "error";
}

export interface FetchAnswer {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  text(): Promise<string>;
}

/**
 * Resolves with the parsed body, or with the text of a body that is not JSON. Rejects with `PosternError` for an error
 * response, and with `TypeError` for an option that cannot be sent.
 */
export type Send = (
  method: string,
  path: string,
  body: unknown,
  options: CallOptions & { readonly asText?: boolean },
) => Promise<unknown>;

const defaultTimeoutMs = 30_000;

export function makeSend(options: PosternOptions): Send {
  const base = options.baseUrl.replace(/\/+$/, "");
  const send: Fetch = options.fetch ?? ((url, init) => globalThis.fetch(url, init));
  return async (method, path, body, call) => {
    const what = `${method} ${base}${path}`;
    const timeoutMs = (options.timeoutMs ?? defaultTimeoutMs) + (call.waitSeconds ?? 0) * 1000;
    const timeout = AbortSignal.timeout(timeoutMs);
    const signal = call.signal ? AbortSignal.any([call.signal, timeout]) : timeout;
    const headers = headersOf(options.apiKey, body, call);
    let answer: FetchAnswer;
    let text: string;
    try {
      answer = await send(base + path, {
        method,
        headers,
        ...(body !== undefined && { body: JSON.stringify(body) }),
        signal,
        redirect: "error",
      });
      text = await answer.text();
    } catch (error) {
      call.signal?.throwIfAborted();
      const why = timeout.aborted ? `no answer within ${timeoutMs / 1000} s` : reasonOf(error);
      throw new PosternConnectionError(`${what}: ${why}`, { cause: error });
    }
    return readAnswer(what, answer, text, call);
  };
}

function headersOf(apiKey: string | undefined, body: unknown, call: CallOptions): Record<string, string> {
  const headers: Record<string, string> = {
    ...(apiKey !== undefined && { authorization: `Bearer ${visibleText("apiKey", apiKey)}` }),
    "service-version": "2",
  };
  if (body !== undefined) headers["content-type"] = "application/json";
  if (call.ifMatch !== undefined) headers["if-match"] = visibleText("ifMatch", etagOf(call.ifMatch));
  if (call.idempotencyKey !== undefined)
    headers["idempotency-key"] = visibleText("idempotencyKey", call.idempotencyKey);
  if (call.waitSeconds !== undefined) headers["prefer"] = `wait=${call.waitSeconds}`;
  if (call.reason !== undefined) headers["postern-reason"] = encodeText(call.reason);
  return headers;
}

function readAnswer(what: string, answer: FetchAnswer, text: string, call: Parameters<Send>[3]): unknown {
  const { status, headers } = answer;
  const success = status >= 200 && status < 300;
  const headersOfAnswer = makeAnswer(status, headers);
  if (success) call.onAnswer?.(headersOfAnswer);
  if (success && (status === 204 || text === "")) return undefined;
  if (success && call.asText) return text;
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (error) {
    const shown = text.slice(0, 200).trimEnd();
    throw new PosternConnectionError(`${what}: answered ${status} with what is not JSON: ${shown}`, { cause: error });
  }
  if (!success) {
    const refusal = asErrorBody(body);
    if (!refusal) throw new PosternConnectionError(`${what}: answered ${status} with what is not the API's`);
    throw new PosternError(refusal, headers.get("retry-after"));
  }
  if (typeof body === "object" && body !== null) rememberAnswer(body, headersOfAnswer);
  return body;
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}
