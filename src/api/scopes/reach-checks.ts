/** Restricts service tokens that limited keys create: a token may reach only what the key may configure. */
import type { Reader, StoredObject } from "../../storage/store.ts";
import type { Operation } from "../operation/call.ts";
import { resourceOfId } from "../operation/resource-declarations.ts";
import { refuseMissingScope } from "../operation/missing-scope.ts";
import { isVisible } from "../operation/scope.ts";
import type { KeyScope } from "../operation/scope.ts";
import { docOf } from "../../schema/doc.ts";
import { serviceToken } from "../../resources/service-token.ts";

/** @throws Refusal unless each place is a route or endpoint within the scope, because hosts can belong to others */
export function checkReachWithin(
  token: StoredObject,
  { operation, scope, draft }: { readonly operation: Operation; readonly scope: KeyScope; readonly draft: Reader },
): void {
  for (const place of docOf(token, serviceToken).acl) {
    const kind = resourceOfId(place)?.name;
    const target = kind === undefined ? undefined : draft.get(token.account_id, kind, place);
    if (target !== undefined && isVisible(scope, target)) continue;
    throw refuseMissingScope(
      operation,
      "*",
      `the "acl" must name routes or cloud endpoints with the key's metadata, not "${place}"`,
    );
  }
}
