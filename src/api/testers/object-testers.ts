/** Operations that test what an IP policy, an agent token or an API key would allow. */
import { normaliseAddress } from "../../lib/address.ts";
import { compileAcl } from "../../lib/agent-acl.ts";
import { apiKey } from "../../resources/api-key.ts";
import { credential } from "../../resources/credential.ts";
import { ipPolicy } from "../../resources/ip-policy.ts";
import { docOf } from "../../schema/doc.ts";
import { f } from "../../schema/fields.ts";
import type { Fields, StringFormat } from "../../schema/fields.ts";
import { ipAddress } from "../../schema/formats.ts";
import { parseFields } from "../../schema/parse-fields.ts";
import type { Doc } from "../../schema/doc.ts";
import type { Store } from "../../storage/store.ts";
import { compileAdmission } from "../../modules/ip-restriction.ts";
import type { Look } from "../../traffic/module.ts";
import { requireObject } from "../objects/lookup.ts";
import type { Call, Operation, Reply } from "../operation/call.ts";
import { resourceNamed } from "../operation/resource-declarations.ts";
import { exampleId } from "../operation/example-ids.ts";
import { inputRefusal } from "../operation/input-refusal.ts";
import { hasPrefix, isVisible, readScopes } from "../operation/scope.ts";
import { flagSchema, object, orNull, textSchema } from "../operation/shapes.ts";
import { findMissingScope } from "../scopes/enforce-scope.ts";

const verdictSchema = object("Whether the request would be allowed, and why.", {
  allowed: flagSchema("Whether it would be allowed."),
  reason: textSchema("The reason, in a clause."),
  decided_by: orNull(object("What decided.", { kind: textSchema("Its kind."), id: textSchema("Its id.") })),
});

interface TestResult {
  readonly allowed: boolean;
  readonly reason: string;
  readonly decided_by: { readonly kind: string; readonly id: string } | null;
}

const bound: StringFormat = {
  name: "host-port-or-label",
  example: "app.example.com:443",
  check: (given) => (/^[^\s=]+=|^[^\s:=]+(?::\d{1,5})?$/.test(given) ? undefined : "be HOST, HOST:PORT or KEY=VALUE"),
};

const ipFields = { source_ip: f.string("Address of a client.", { required: true, format: ipAddress }) };
const bindFields = {
  bind: f.string("Name that an agent would publish: a host, with or without port, or a label `key=value`.", {
    required: true,
    format: bound,
  }),
};
const keyFields = {
  operation: f.string("Id of an operation, such as `createIPPolicy`.", { required: true, example: "createIPPolicy" }),
  metadata: f.string("Metadata of the affected object.", { maxBytes: 4096 }),
};

/** @param operations returns all operations, once they are created */
export function objectTesters(store: Store, operations: () => readonly Operation[]): Operation[] {
  const tester = (
    kind: string,
    id: string,
    summary: string,
    input: Fields,
    judge: (call: Call, doc: Doc) => TestResult,
  ): Operation => {
    const resource = resourceNamed(kind);
    return {
      id,
      method: "POST",
      path: `${resource.path}/{id}/test`,
      summary,
      resource,
      verb: "command",
      reads: true,
      takes: "object",
      status: 200,
      input,
      replySchema: "Verdict",
      schemas: { Verdict: verdictSchema },
      exampleReply: exampleVerdict,
      run(call): Reply {
        requireObject(resource, call, store);
        const { doc, issues } = parseFields(input, call.body, "create");
        if (issues.length > 0) throw inputRefusal(call.operation.id, issues);
        return { status: 200, body: JSON.stringify(judge(call, doc)) };
      },
    };
  };
  return [
    tester(ipPolicy.name, "testIPPolicy", "Check whether an IP policy would allow an address.", ipFields, (call, doc) =>
      testSource(call, String(doc["source_ip"]), store),
    ),
    tester(
      credential.name,
      "testCredential",
      "Check whether an agent token would allow a name or a label.",
      bindFields,
      (call, doc) =>
        testBinding(docOf(requireObject(resourceNamed(credential.name), call, store), credential).acl, doc),
    ),
    tester(
      apiKey.name,
      "testAPIKey",
      "Check whether an API key's scopes would allow an operation.",
      keyFields,
      (call, doc) => {
        const { scopes } = docOf(requireObject(resourceNamed(apiKey.name), call, store), apiKey);
        const operation = operations().find((one) => one.id === doc["operation"]);
        if (operation) return mayCall(operation, scopes, doc["metadata"]);
        throw inputRefusal(call.operation.id, [{ path: "operation", message: "must be the id of an operation" }]);
      },
    ),
  ];
}

const exampleVerdict: TestResult = {
  allowed: false,
  reason: "denied by rule, 198.51.100.0/24",
  decided_by: { kind: "ip_policy_rule", id: exampleId("ip_policy_rule") },
};

function testSource(call: Call, source: string, store: Store): TestResult {
  const { accountId } = call.principal;
  const look: Look = {
    accountId,
    get: (kind, id) => store.get(accountId, kind, id),
    children: (kind, id) => store.children(kind, id),
  };
  const decide = compileAdmission([call.parameters[0] as string], { shared: (_key, make) => make(look) });
  const { answer, reason, decidedBy } = decide(normaliseAddress(source) ?? "");
  const allowed = answer === undefined;
  const rule = decidedBy && store.get(accountId, decidedBy.kind, decidedBy.id);
  if (rule && !isVisible(call.principal.scope, rule)) {
    return { allowed, reason: "decided by a rule that the key may not read", decided_by: null };
  }
  return {
    allowed,
    reason,
    decided_by: decidedBy ? { kind: decidedBy.kind, id: decidedBy.id } : null,
  };
}

function testBinding(rules: readonly string[], doc: Doc): TestResult {
  const given = String(doc["bind"]);
  const equals = given.indexOf("=");
  const colon = given.lastIndexOf(":");
  const [host, port] = colon < 0 ? [given, 443] : [given.slice(0, colon), Number(given.slice(colon + 1))];
  const allows = (some: readonly string[]): boolean => {
    const acl = compileAcl(some);
    return equals < 0
      ? acl.allowsHost(host.toLowerCase(), port)
      : acl.allowsLabel(given.slice(0, equals), given.slice(equals + 1));
  };
  if (rules.length === 0)
    return { allowed: true, reason: "without rules the token allows every name", decided_by: null };
  const rule = rules.find((one) => allows([one]));
  const reason =
    rule === undefined ? `none of its ${rules.length} rules allows the name` : `allowed by the rule ${rule}`;
  return { allowed: rule !== undefined, reason, decided_by: null };
}

function mayCall(operation: Operation, scopes: readonly string[], metadata: unknown): TestResult {
  const scope = readScopes(scopes);
  const yes = (reason: string): TestResult => ({ allowed: true, reason, decided_by: null });
  const no = (lacks: string): TestResult => ({
    allowed: false,
    reason: `it lacks the scope ${lacks}`,
    decided_by: null,
  });
  if (operation.open) return yes("the operation needs no key");
  if (!scope) return yes("the key is not limited");
  const lacks = findMissingScope(operation, scope);
  if (lacks !== undefined) return no(lacks);
  if (!scope.prefixes || hasPrefix(scope.prefixes, metadata)) return yes("its scopes allow it");
  return no(`metadata:${String(metadata)}`);
}
