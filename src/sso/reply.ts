/** Requests to the development identity provider, and its responses. */

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  /** Form of a POST; otherwise empty. */
  readonly form: URLSearchParams;
  readonly authorization: string;
  /** Value of the provider's cookie; "" for none. */
  readonly cookie: string;
}

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export function json(status: number, value: object): Reply {
  return { status, headers: { "content-type": "application/json" }, body: JSON.stringify(value) };
}

export function plain(status: number, text: string): Reply {
  return { status, headers: { "content-type": "text/plain; charset=utf-8" }, body: `${text}\n` };
}

export function seeOther(location: string): Reply {
  return { status: 303, headers: { location }, body: "" };
}
