/**
 * Checks the URLs that logins redirect to and fetch from. Plain HTTP and local addresses need the operator's
 * permission.
 */
import { providersInPolicy } from "../../policy/policy-mentions.ts";
import { explainInside, providerUrl } from "../../schema/login-schema.ts";
import type { Issue } from "../../schema/fields.ts";
import type { Doc } from "../../schema/doc.ts";
import { modulesOf, resourceNamed } from "../operation/resource-declarations.ts";
import { inputRefusal } from "../operation/input-refusal.ts";
import { httpsEdgeRoute } from "../../resources/https-edge-route.ts";
import type { Events } from "../events/dispatcher.ts";
import type { Preparation } from "../objects/behaviour.ts";

export interface LoginUrlRules {
  /** Logins may use the same addresses as events. */
  readonly events: Pick<Events, "allowPrivate">;
  /** Issuers that the operator allows at any address. */
  readonly loginIssuer: readonly string[];
}

type LoginUrlCheck = (input: Pick<Preparation, "doc" | "previous">) => void;

/**
 * Checks the login URLs in a traffic policy, as `loginUrlCheck` does for modules. Throws `Refusal`.
 * @param field the policy's field, for refusals
 */
export function policyLoginCheck(
  { events, loginIssuer }: LoginUrlRules,
  field: string,
  policyOf: (doc: Doc) => string,
): LoginUrlCheck {
  return ({ doc, previous }) => {
    const text = policyOf(doc);
    if (events.allowPrivate || text === "" || (previous && text === policyOf(previous.doc))) return;
    const before = new Set(previous ? providersInPolicy(policyOf(previous.doc)) : []);
    const issues = providersInPolicy(text).flatMap((url) => {
      const issue = before.has(url) || loginIssuer.includes(url) ? undefined : explainInside(url);
      return issue === undefined ? [] : [{ path: field, message: `logs in at "${url}", which ${issue}` }];
    });
    if (issues.length > 0) throw inputRefusal("set a login", issues.slice(0, 1));
  };
}

/** Checks the fields of a route's modules that are URLs of identity providers. Throws `Refusal`. */
export function loginUrlCheck({ events, loginIssuer }: LoginUrlRules): LoginUrlCheck {
  const fields = modulesOf(resourceNamed(httpsEdgeRoute.name)).flatMap(([{ name: module }, block]) =>
    Object.entries(block.fields)
      .filter(([, field]) => field.type === "string" && field.format === providerUrl)
      .map(([field]) => ({ module, field })),
  );
  return ({ doc, previous }) => {
    const issues: Issue[] = [];
    for (const { module, field } of events.allowPrivate ? [] : fields) {
      const url = textIn(doc, module, field);
      // A URL that was allowed when it was set does not block other changes of the route.
      if (url === "" || loginIssuer.includes(url) || (previous && url === textIn(previous.doc, module, field)))
        continue;
      const message = explainInside(url);
      if (message !== undefined) issues.push({ path: `${module}.${field}`, message });
    }
    if (issues.length > 0) throw inputRefusal("set a login", issues);
  };
}

/** Returns the value of a field of a route's module; "" if unset. */
export function textIn(doc: Doc, module: string, field: string): string {
  return textOf((doc[module] ?? {}) as Doc, field);
}

export function textOf(doc: Doc, field: string): string {
  const text = doc[field];
  return typeof text === "string" ? text : "";
}
