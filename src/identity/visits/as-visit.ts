/** The visit that a login leads back to, as those see it who decide before the login: with nothing of the callback in it. */
import type { Exchange } from "../../traffic/exchange.ts";
import { HeaderList } from "../../traffic/header-list.ts";

/** @param path path and query, canonical. What is changed of it changes nothing of `exchange` */
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
