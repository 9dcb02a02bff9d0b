/** Every action that a traffic policy may have: what it takes, within which limits (semantics, "Traffic policies"). */
import { f } from "../schema/fields.ts";
import { cidr, headerName, headerValue } from "../schema/formats.ts";
import type { DeclaredAction } from "./declared-action.ts";
import type { Phase } from "./action.ts";
import { duration, userAndPassword } from "./formats.ts";
import { jwtValidation } from "./jwt-validation.ts";

const http: readonly Phase[] = ["on_http_request", "on_http_response"];
const request: readonly Phase[] = ["on_http_request"];
const response: readonly Phase[] = ["on_http_response"];
const everywhere: readonly Phase[] = ["on_tcp_connect", ...http];

const some = { required: true, minItems: 1, maxItems: 10 } as const;
const name = f.string("A name.", { minBytes: 1, maxBytes: 255, format: headerName });
const value = f.string("A value.", { maxBytes: 4096, format: headerValue });
const answerHeaders = f.map("Header fields of the answer.", value, { key: name, maxItems: 10 });
const network = f.string("A network.", { format: cidr });
const enforce = f.boolean("Whether the action decides, or only records what it would decide.", { default: true });

export const actions: readonly DeclaredAction[] = [
  {
    type: "add-headers",
    phases: http,
    doc: "Adds header fields.",
    config: { headers: f.map("Fields to add.", value, { ...some, key: name }) },
  },
  {
    type: "remove-headers",
    phases: http,
    doc: "Removes header fields.",
    config: { headers: f.list("Names to remove.", name, some) },
  },
  {
    type: "basic-auth",
    phases: request,
    doc: "Asks for a user's name and password.",
    config: {
      credentials: f.list(
        "Who is let in.",
        f.string("A user.", { maxBytes: 512, format: userAndPassword, secret: true }),
        some,
      ),
      realm: f.string("The realm that clients show.", { maxBytes: 128, format: headerValue, default: "ngrok" }),
      enforce,
    },
  },
  { type: "close-connection", phases: ["on_tcp_connect", ...request], doc: "Closes the connection.", config: {} },
  {
    type: "compress-response",
    phases: response,
    doc: "Compresses the response's body.",
    config: {
      algorithms: f.list(
        "Algorithms to choose from; empty: all.",
        f.oneOf("One of them.", ["gzip", "deflate", "br", "compress"]),
        { maxItems: 4, unique: true },
      ),
    },
  },
  {
    type: "custom-response",
    phases: http,
    doc: "Answers by itself.",
    config: {
      status_code: f.uint32("Status.", { min: 200, max: 599, default: 200 }),
      body: f.string("Body.", { maxBytes: 32_768, alias: "content" }),
      headers: answerHeaders,
    },
  },
  {
    type: "deny",
    phases: ["on_tcp_connect", ...request],
    doc: "Refuses the request or connection.",
    config: { status_code: f.uint32("Status.", { min: 400, max: 599, default: 403 }) },
  },
  jwtValidation,
  {
    type: "log",
    phases: everywhere,
    doc: "Notes facts in the event of the request.",
    config: { metadata: f.map("Facts.", f.string("A value.", { maxBytes: 4096 }), { required: true, maxItems: 50 }) },
  },
  {
    type: "rate-limit",
    phases: request,
    doc: "Refuses requests beyond a rate.",
    config: {
      name: f.string("Name of the limit.", { required: true, maxBytes: 1023 }),
      algorithm: f.oneOf("How requests are counted.", ["sliding_window"], { required: true }),
      capacity: f.uint32("Requests per time.", { required: true, min: 1, max: 2_000_000_000 }),
      rate: f.string("The time.", { required: true, format: duration(60, 86_400, 10) }),
      bucket_key: f.list(
        "Expressions; requests with the same values share a limit.",
        f.string("One of them.", { minBytes: 1, maxBytes: 2048 }),
        some,
      ),
      enforce,
    },
  },
  {
    type: "redirect",
    phases: request,
    doc: "Sends the client to another URL.",
    config: {
      from: f.string("Regular expression that the URL must match; empty: any.", { maxBytes: 1024 }),
      to: f.string("The URL, with groups as `$1`.", { required: true, maxBytes: 2048 }),
      status_code: f.uint32("Status.", { min: 300, max: 399, default: 302 }),
      headers: answerHeaders,
    },
  },
  {
    type: "restrict-ips",
    phases: everywhere,
    doc: "Admits source addresses.",
    config: {
      enforce,
      allow: f.list("Networks that are admitted.", network, { maxItems: 100 }),
      deny: f.list("Networks that are not.", network, { maxItems: 100 }),
      ip_policies: f.list("Ids of IP policies.", f.string("One of them.", { minBytes: 1 }), { maxItems: 100 }),
    },
    rule: (config) =>
      ["allow", "deny", "ip_policies"].some((list) => (config[list] as readonly unknown[]).length > 0)
        ? undefined
        : { path: "allow", message: "must not be empty while deny and ip_policies are" },
  },
  {
    type: "set-vars",
    phases: everywhere,
    doc: "Sets variables for the rules that follow.",
    config: {
      vars: f.list(
        "Variables, one per map.",
        f.map("A name and its value.", f.string("The value.", { maxBytes: 4096 }), { minItems: 1, maxItems: 1 }),
        { required: true, minItems: 1, maxItems: 50 },
      ),
    },
  },
  {
    type: "url-rewrite",
    phases: request,
    doc: "Changes the request's URL.",
    config: {
      from: f.string("Regular expression that the URL must match.", { required: true, maxBytes: 1024 }),
      to: f.string("The URL, with groups as `$1`.", { required: true, maxBytes: 2048 }),
    },
  },
];

/** Actions of the vendor's policies that this server does not have. */
export const unsupportedActions: readonly string[] = [
  "circuit-breaker",
  "forward-internal",
  "http-request",
  "oauth",
  "openid-connect",
  "owasp-crs-request",
  "owasp-crs-response",
  "request-body-find-replace",
  "response-body-find-replace",
  "sse-find-replace",
  "terminate-tls",
  "verify-webhook",
];
