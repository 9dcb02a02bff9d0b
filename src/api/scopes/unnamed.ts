/** Removes hidden objects from the refusals that a limited key gets. */
import { Refusal } from "../../lib/errors.ts";
import type { Reader } from "../../storage/store.ts";
import type { ApiPrincipal } from "../operation/call.ts";
import { isVisible } from "../operation/scope.ts";

const roles = ["holder", "referrer", "object"];

/** @param reader finds objects of all kinds, including live ones */
export function withoutHidden(
  error: unknown,
  { accountId, scope }: ApiPrincipal,
  reader: Pick<Reader, "get">,
): unknown {
  if (!(error instanceof Refusal)) return error;
  const hidden = roles.filter((role) => {
    const [kind, id] = [error.details[`${role}_kind`], error.details[`${role}_id`]];
    if (kind === undefined || id === undefined) return false;
    const object = reader.get(accountId, kind, id);
    return !object || !isVisible(scope, object);
  });
  if (hidden.length === 0) return error;
  const kept = Object.entries(error.details).filter(([name]) => !hidden.some((role) => name.startsWith(`${role}_`)));
  // The message contains the id too. The catalogue's message does not.
  return new Refusal(error.reason, undefined, Object.fromEntries(kept));
}
