import { ipRestriction } from "../../resources/ip-restriction.ts";
import { checkNotShutOut } from "../http/source-restriction.ts";
import { behaviourOf } from "../objects/behaviour.ts";

/** Callers cannot lock themselves out of the API. */
export const ipRestrictionBehaviour = behaviourOf(ipRestriction, {
  prepare({ draft, accountId, doc, source }) {
    checkNotShutOut(draft, accountId, doc, source);
    return { doc };
  },
});
