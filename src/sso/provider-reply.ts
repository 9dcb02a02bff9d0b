/** Requests to the development identity provider, and its responses. */

export interface ProviderRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  /** Form of a POST; otherwise empty. */
  readonly form: URLSearchParams;
  readonly authorization: string;
  /** Value of the provider's cookie; "" for none. */
  readonly cookie: string;
}

export interface ProviderReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export function replyJson(status: number, value: object): ProviderReply {
  return { status, headers: { "content-type": "application/json" }, body: JSON.stringify(value) };
}

export function replyText(status: number, text: string): ProviderReply {
  return { status, headers: { "content-type": "text/plain; charset=utf-8" }, body: `${text}\n` };
}

export function seeOther(location: string): ProviderReply {
  return { status: 303, headers: { location }, body: "" };
}
