/** Converts handlers of Caddy to actions of a traffic policy. */
import type { JsonObject } from "../../lib/json.ts";
import { entriesAt, itemsAt, nodeAt, textAt } from "../formats/source-tree.ts";
import type { SourceNode } from "../formats/source-tree.ts";
import { templateOf } from "./placeholders.ts";
import { headerActions, textsOf } from "./headers.ts";
import { readProxy } from "./caddy-proxy.ts";
import type { RouteScope, ImportedSite } from "./imported-site.ts";
import { readRewrite } from "./rewrite.ts";

type Recurse = (routes: readonly SourceNode[]) => void;

export function readHandler(site: ImportedSite, handler: SourceNode, scope: RouteScope, recurse: Recurse): void {
  const name = textAt(handler, "handler") ?? "";
  const say = (key: string, kind: "mapped" | "mapped differently" | "left out", text: string): void =>
    site.ledger.say(nodeAt(handler, key), kind, text);
  switch (name) {
    case "subroute":
      say("handler", "mapped", "its routes are rules of the traffic policy");
      return recurse(itemsAt(handler, "routes"));
    case "reverse_proxy":
      return readProxy(site, handler, scope);
    case "rewrite":
      return readRewrite(site, handler, scope);
    case "headers":
      say("handler", "mapped", "add-headers and remove-headers");
      return readHeaders(site, handler, scope);
    case "authentication":
      return readAuthentication(site, handler, scope);
    case "static_response":
      return readResponse(site, handler, scope);
    case "error": {
      site.ledger.say(handler, "mapped differently", "custom-response with the status and without Caddy's error page");
      const status = Number(textAt(handler, "status_code") ?? 500);
      return readAnswer(site, scope, { status_code: status });
    }
    case "encode":
      site.compresses = true;
      return site.ledger.say(
        handler,
        "mapped differently",
        "compression of every route of the site: the server chooses among gzip, deflate and br",
      );
    case "vars":
      return site.ledger.say(
        handler,
        "left out",
        "variables of Caddy are for file_server and templates, which the import leaves out",
      );
    case "file_server":
    case "templates":
      site.ledger.say(
        handler,
        "left out",
        "the server has no files. Run `postern http file:///DIR` where the files are. Requests get 502 until then",
      );
      return name === "file_server" ? readAnswer(site, scope, { status_code: 502 }) : undefined;
    case "request_body":
      return site.ledger.say(
        handler,
        "left out",
        "the server limits bodies only where it must read them. Set a limit in the service",
      );
    case "log_append":
    case "tracing":
      return site.ledger.say(handler, "left out", "use the access log and the telemetry of the server");
    default: {
      // The handler may control access, so its requests are rejected.
      const text = `the handler "${name}" has no equivalent. Requests that reach it get 502. Replace it, then remove the rule`;
      site.ledger.say(handler, "left out", text, true);
      readAnswer(site, scope, { status_code: 502 });
    }
  }
}

function readAnswer({ steps }: ImportedSite, { route }: RouteScope, config: JsonObject): void {
  steps.push({ kind: "act", route, actions: [{ type: "custom-response", config }], ends: true });
}

function readResponse(site: ImportedSite, handler: SourceNode, scope: RouteScope): void {
  const { ledger, steps } = site;
  if (textAt(handler, "abort") === "true") {
    ledger.say(handler, "mapped", "close-connection");
    steps.push({ kind: "act", route: scope.route, actions: [{ type: "close-connection" }], ends: true });
    return;
  }
  const status = Number(textAt(handler, "status_code") ?? 200);
  const headers = entriesAt(handler, "headers").map(
    ({ key, node }) => [key, templateOf(textsOf(node).join(", "))] as const,
  );
  const body = templateOf(textAt(handler, "body") ?? "");
  const isKnown =
    body !== undefined && headers.every(([, value]) => value !== undefined) && status >= 200 && status <= 599;
  if (!isKnown) {
    ledger.say(
      handler,
      "left out",
      "the answer has a status or a placeholder without equivalent. Requests that reach it get 502",
      true,
    );
    return readAnswer(site, scope, { status_code: 502 });
  }
  ledger.say(handler, "mapped", "custom-response");
  ledger.say(nodeAt(handler, "close"), "left out", "the server decides when it closes a connection");
  readAnswer(site, scope, {
    status_code: status,
    ...(body !== "" && { body }),
    ...(headers.length > 0 && { headers: Object.fromEntries(headers) }),
  });
}

function readAuthentication(site: ImportedSite, handler: SourceNode, scope: RouteScope): void {
  const { ledger, secrets, steps } = site;
  const providers = entriesAt(handler, "providers");
  const accounts = itemsAt(handler, "providers.http_basic.accounts");
  if (providers.length !== 1 || accounts.length === 0 || accounts.length > 10) {
    const text =
      "only http_basic with 1 to 10 accounts has an equivalent. Requests that reach it get 403. Use a login (oauth, oidc, saml) or jwt-validation";
    ledger.say(handler, "left out", text, true);
    return readAnswer(site, scope, { status_code: 403 });
  }
  ledger.say(handler, "mapped", "basic-auth");
  for (const key of ["hash", "hash_cache"]) {
    ledger.say(
      nodeAt(handler, `providers.http_basic.${key}`),
      "left out",
      "the server stores the password in the policy, and compares it in constant time",
    );
  }
  const credentials = accounts.map((account) => {
    const user = textAt(account, "username") ?? "";
    const reference = secrets.add(
      [site.host, user],
      `basic-auth of ${site.host}, as ${user}:PASSWORD with 8 to 128 bytes`,
    );
    const text = `the file has only a hash of the password: set ${reference.$env} in secrets.env to ${user}:PASSWORD`;
    ledger.say(nodeAt(account, "password"), "mapped differently", text);
    return reference;
  });
  const realm = textAt(handler, "providers.http_basic.realm");
  steps.push({
    kind: "act",
    route: scope.route,
    actions: [{ type: "basic-auth", config: { credentials, realm: realm ?? "restricted" } }],
  });
}

function readHeaders(site: ImportedSite, handler: SourceNode, scope: RouteScope): void {
  const request = headerActions(site, nodeAt(handler, "request"), {});
  if (request.length > 0) site.steps.push({ kind: "act", route: scope.route, actions: request });
  const response = headerActions(site, nodeAt(handler, "response"), {});
  if (nodeAt(handler, "response.require") !== undefined) {
    return site.ledger.say(
      nodeAt(handler, "response"),
      "left out",
      "header changes that depend on the response: write rules with res.status_code by hand",
    );
  }
  site.ledger.say(
    nodeAt(handler, "response.deferred"),
    "mapped",
    "rules of on_http_response see the response of the service",
  );
  if (response.length === 0) return;
  if (scope.isMoved) {
    const text =
      "the path was changed before, so the response's rule cannot check it. Add the fields in the service, or write a rule";
    return site.ledger.say(nodeAt(handler, "response"), "left out", text);
  }
  site.steps.push({ kind: "respond", condition: scope.condition, actions: response });
}
