/** Presents the visit that a login returns to, without the callback, to the modules that precede the login. */
import type { Exchange } from "../../traffic/exchange.ts";
import { HeaderList } from "../../traffic/header-list.ts";

/** @param path canonical path and query. Changes to the result do not affect `exchange`. */
export function asVisit(exchange: Exchange, path: string): Exchange {
  const { id, connection, request, receivedAt, loginCookies } = exchange;
  const { pathname, search } = new URL(path, "https://host.invalid");
  return {
    id,
    connection,
    request: {
      ...request,
      method: "GET",
      path: pathname,
      query: search,
      target: path,
      headers: new HeaderList(request.headers.entries()),
      trailers: undefined,
    },
    receivedAt,
    response: undefined,
    steps: [],
    abandoned: false,
    loginCookies,
    body: () => Promise.resolve(Buffer.alloc(0)),
    replaceBody() {},
  };
}
