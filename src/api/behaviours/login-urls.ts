/** Where logins send visitors and fetch from: over http only in networks that the operator has opened. */
import { providerUrl } from "../../schema/login-fields.ts";
import type { Issue } from "../../schema/fields.ts";
import type { Doc } from "../../schema/doc.ts";
import { modulesOf, resourceNamed } from "../operation/declarations.ts";
import { inputRefusal } from "../operation/input-refusal.ts";
import { httpsEdgeRoute } from "../../resources/https-edge-route.ts";
import type { Events } from "../events/dispatcher.ts";
import type { Preparation } from "../objects/behaviour.ts";

export interface LoginUrlRules {
  /** Logins may lead where events may be sent. */
  readonly events: Pick<Events, "allowPrivate">;
}

/** Judges the fields of a route's modules that are URLs of identity providers; throws `Refusal`. */
export function loginUrlCheck({ events }: LoginUrlRules): (input: Pick<Preparation, "doc" | "previous">) => void {
  const fields = modulesOf(resourceNamed(httpsEdgeRoute.name)).flatMap(([{ name: module }, block]) =>
    Object.entries(block.fields)
      .filter(([, field]) => field.type === "string" && field.format === providerUrl)
      .map(([field]) => ({ module, field })),
  );
  return ({ doc, previous }) => {
    const issues: Issue[] = [];
    for (const { module, field } of events.allowPrivate ? [] : fields) {
      const url = urlOf(doc, module, field);
      // What was allowed when it was set does not keep the rest of the route from being changed.
      if (!/^http:/i.test(url) || (previous && url === urlOf(previous.doc, module, field))) continue;
      const message =
        "must be an https URL: http is for local addresses, which this server does not allow (--allow-local-upstreams)";
      issues.push({ path: `${module}.${field}`, message });
    }
    if (issues.length > 0) throw inputRefusal("set a login", issues);
  };
}

function urlOf(doc: Doc, module: string, field: string): string {
  const url = (doc[module] as Doc | null | undefined)?.[field];
  return typeof url === "string" ? url : "";
}
