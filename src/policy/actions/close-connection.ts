import { defineAction, endWith } from "../language/action.ts";

const closed = endWith("closed the connection", { by: "close" });

export const closeConnection = defineAction({
  type: "close-connection",
  phases: ["on_tcp_connect", "on_http_request"],
  doc: "Drops the client's connection without an answer; with HTTP/2 all requests on the connection.",
  config: {},
  terminating: "always",
  compile: () => ({ run: () => closed }),
});
