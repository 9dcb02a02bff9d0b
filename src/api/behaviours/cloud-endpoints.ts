/** Configured endpoints. They claim their addresses in the same way as edges. */
import { isDeepStrictEqual } from "node:util";
import { formatTimestamp } from "../../lib/clock.ts";
import { isInternalName } from "../../lib/internal-names.ts";
import type { Clock } from "../../lib/clock.ts";
import { policyModuleName } from "../../policy/compile-policy.ts";
import { cloudEndpoint } from "../../resources/cloud-endpoint.ts";
import type { DocOf } from "../../schema/doc.ts";
import { parseEndpointUrl, splitHostport } from "../../schema/endpoint-url.ts";
import type { LiveObjects } from "../edges/live-objects.ts";
import { behaviourOf } from "../objects/behaviour.ts";
import { atField } from "../objects/at-field.ts";
import type { AddressRules } from "./reserved-addresses.ts";
import { reserveAddress } from "./reserved-addresses.ts";
import { checkNoAgent, claimName } from "./domains.ts";
import type { ClaimRules } from "./name-rules.ts";
import { policyLoginCheck, textOf } from "./login-urls.ts";
import type { LoginUrlRules } from "./login-urls.ts";

export interface CloudEndpointRules extends AddressRules {
  readonly clock: Clock;
  readonly liveObjects: ClaimRules["liveObjects"] & Pick<LiveObjects, "cloudEndpoint">;
}

export function cloudEndpointBehaviour(rules: CloudEndpointRules & LoginUrlRules) {
  const checkPolicyLogins = policyLoginCheck(rules, policyModuleName, (doc) => textOf(doc, policyModuleName));
  return behaviourOf(cloudEndpoint, {
    prepare(input) {
      const { previous } = input;
      checkPolicyLogins(input);
      const doc = addBindings(input.doc);
      if (previous?.doc.url !== doc.url || previous.doc.pooling_enabled !== doc.pooling_enabled) {
        const { scheme, hostport } = parseEndpointUrl(doc.url);
        const pool = doc.pooling_enabled ? scheme : undefined;
        // Names of internal endpoints are scoped to each account and need no reservation.
        const isInternal = isInternalName(splitHostport(hostport).host);
        atField("url", () => {
          if (isInternal) checkNoAgent(input.accountId, hostport, rules, pool);
          else if (scheme === "tcp") reserveAddress(input, hostport, rules);
          else claimName(input, hostport, rules, pool);
        });
      }
      if (previous && isDeepStrictEqual(dropTimes(previous.doc), dropTimes(doc))) return { doc };
      return { doc: { ...doc, updated_at: formatTimestamp(rules.clock.now()) } };
    },
    configured: dropTimes,
    live: (object) => rules.liveObjects.cloudEndpoint(object),
  });
}

/** Returns the document with the bindings that its host implies, if none were set. */
function addBindings(doc: DocOf<typeof cloudEndpoint>): DocOf<typeof cloudEndpoint> {
  if (doc.bindings.length > 0) return doc;
  const { host } = splitHostport(parseEndpointUrl(doc.url).hostport);
  return { ...doc, bindings: [isInternalName(host) ? "internal" : "public"] };
}

function dropTimes(doc: DocOf<typeof cloudEndpoint>): DocOf<typeof cloudEndpoint> {
  return { ...doc, updated_at: null };
}
