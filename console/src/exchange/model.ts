/** A captured request and its response, in the format of the agent's local API. */

export interface Sizes {
  readonly bytes: number;
  readonly kept: number;
  readonly cut: boolean;
  readonly ended: boolean;
}

export type Headers = Readonly<Record<string, readonly string[]>>;

/** A part of a multipart body. */
export interface BodyPart {
  readonly name: string;
  readonly file_name?: string;
  readonly content_type?: string;
  readonly bytes: number;
  readonly text?: string;
  readonly cut?: boolean;
}

/** Content of a gRPC body; `status` once it is known. */
export interface Grpc {
  readonly messages: readonly {
    readonly bytes: number;
    readonly compressed: boolean;
    readonly base64: string;
    readonly cut?: boolean;
  }[];
  readonly cut: boolean;
  readonly status?: number;
  readonly status_name?: string;
  readonly message?: string;
}

export interface WebSocketMessage {
  readonly from: "visitor" | "service";
  readonly at: string;
  readonly type: string;
  readonly bytes: number;
  readonly text?: string;
  readonly base64?: string;
  readonly code?: number;
  readonly compressed?: boolean;
  readonly cut?: boolean;
}

export interface Message {
  readonly proto: string;
  readonly headers: Headers;
  readonly trailers?: Headers;
  readonly parts?: readonly BodyPart[];
  readonly grpc?: Grpc;
  readonly body: Sizes;
  /** Head and body in base64; absent in lists. */
  readonly raw?: string;
}

/** Nanoseconds. */
export interface Timing {
  readonly edge: number | null;
  readonly tunnel: number | null;
  readonly connect: number | null;
  readonly upstream: number | null;
  /** Time from the edge's view, with all parts. */
  readonly first_byte: number | null;
}

/** A call of JSON-RPC. `params` and `result` are absent in lists. */
export interface RpcCall {
  readonly kind: "call" | "notification" | "answer";
  readonly from: "client" | "server";
  readonly method: string;
  readonly name?: string;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
  readonly failed?: boolean;
  readonly answered: boolean;
}

export interface ShownExchange {
  readonly id: string;
  readonly tunnel_name: string;
  readonly remote_addr: string;
  /** Code of two letters; null: unknown. */
  readonly remote_country: string | null;
  readonly start: string;
  /** Nanoseconds, like `first_byte`. */
  readonly duration: number;
  readonly first_byte: number | null;
  /** Parts of the time until the response began; null: unknown. Absent in lists. */
  readonly timing?: Timing;
  readonly outcome: "open" | "complete" | "cut" | "upgraded" | "unreadable";
  readonly fault?: string;
  readonly passed?: { readonly bytes_in: number; readonly bytes_out: number };
  readonly replay_of?: string;
  readonly rpc?: readonly RpcCall[];
  /** `cut`: the first messages are missing. */
  readonly websocket?: { readonly messages: readonly WebSocketMessage[]; readonly cut: boolean };
  readonly request: Message & { readonly method: string; readonly uri: string };
  readonly response: (Message & { readonly status: string; readonly status_code: number }) | null;
}

export const msOf = (nanoseconds: number): number => nanoseconds / 1_000_000;

/** Returns the values of a field, by its name in any case. */
export function valuesOf(headers: Headers, name: string): readonly string[] {
  return Object.entries(headers).flatMap(([key, values]) => (key.toLowerCase() === name ? values : []));
}

export function fieldOf(headers: Headers, name: string): string | undefined {
  return valuesOf(headers, name)[0];
}

export function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
}

export function base64Of(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 8_192) text += String.fromCharCode(...bytes.subarray(at, at + 8_192));
  return btoa(text);
}

/** Returns the bytes after the head. */
export function bodyOf(message: Message): Uint8Array<ArrayBuffer> {
  const raw = bytesOf(message.raw ?? "");
  return raw.slice(raw.length - message.body.kept);
}

export function queryOf(uri: string): { name: string; value: string }[] {
  const at = uri.indexOf("?");
  return at < 0 ? [] : [...new URLSearchParams(uri.slice(at + 1))].map(([name, value]) => ({ name, value }));
}

export function cookiesOf(field: string): { name: string; value: string }[] {
  if (field === "" || field === "(hidden)") return [];
  return field.split(/;\s*/).map((pair) => {
    const at = pair.indexOf("=");
    return { name: pair.slice(0, at), value: pair.slice(at + 1) };
  });
}
