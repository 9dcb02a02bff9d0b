import { countryNameOf } from "../lib/countries.ts";
import type { AddressFacts } from "../geo/address-book.ts";
import { f } from "../schema/fields.ts";
import { countryCode } from "../schema/formats.ts";
import type { ConnectionFacts } from "../traffic/connection-facts.ts";
import { defineModule } from "../traffic/module.ts";
import { denyStep, passStep } from "../traffic/step.ts";
import type { Step } from "../traffic/step.ts";
import { locationOf } from "../traffic/visitor-location.ts";

const name = "country_restriction";
/** The number of all codes. */
const mostCountries = 260;

const countryList = (doc: string, example?: readonly string[]) =>
  f.list(doc, f.string("A code of ISO 3166-1 alpha-2, such as `DE`.", { format: countryCode }), {
    maxItems: mostCountries,
    unique: true,
    ...(example && { example }),
  });

/** @param addresses the server's locations. They are loaded when the first rule is compiled */
export function countryRestrictionWith(addresses: AddressFacts) {
  return defineModule({
    name,
    schemaName: "EndpointCountryRestriction",
    on: ["https_route", "tls_edge", "tcp_edge"],
    doc: "Allows visitors by the country of their address. An address in a country of `deny` is denied. If `allow` has countries, all others are denied, and so are addresses whose country is unknown, such as private ones. Without `allow`, addresses whose country is unknown pass.",
    acts: { connection: ["refuse"], request: ["refuse"] },
    fields: {
      allow: countryList("Countries that may visit. Empty: all that `deny` does not have.", ["DE"]),
      deny: countryList("Countries that may not visit."),
    },
    rules: [
      ({ allow, deny }) =>
        allow.length + deny.length === 0
          ? { path: "allow", message: "must have a country if `deny` is empty" }
          : undefined,
      ({ allow, deny }) => {
        const both = allow.find((code) => deny.includes(code));
        return both === undefined
          ? undefined
          : { path: "deny", message: `must not have "${both}", because allow lists it` };
      },
    ],
    compile({ allow, deny }) {
      addresses.want();
      const [allows, denies] = [new Set(allow), new Set(deny)];
      const steps = new Map<string, Step>();
      const decide = (connection: ConnectionFacts): Step => {
        // Closed while a deny list cannot be checked.
        if (connection.addresses?.isReady === false) return notReady;
        const { countryCode: code } = locationOf(connection);
        let step = steps.get(code);
        if (step === undefined) steps.set(code, (step = decideCountry(code, allows, denies)));
        return step;
      };
      return {
        request: ({ connection }) => decide(connection),
        opened({ facts }) {
          const step = decide(facts);
          return { steps: [step], closes: step.answer !== undefined, logs: [] };
        },
      };
    },
  });
}

const notReady = refuseCountry("no database of countries is loaded");

function decideCountry(code: string, allow: ReadonlySet<string>, deny: ReadonlySet<string>): Step {
  const country = code === "" ? "an unknown country" : `${countryNameOf(code)} (${code})`;
  if (deny.has(code)) return refuseCountry(`the address is in ${country}, and deny lists it`);
  if (allow.has(code)) return passStep(name, `the address is in ${country}, and allow lists it`);
  if (allow.size > 0) return refuseCountry(`the address is in ${country}, and allow lists only ${renderCodes(allow)}`);
  return passStep(name, `the address is in ${country}, which deny does not have`);
}

function renderCodes(codes: ReadonlySet<string>): string {
  const shown = [...codes].slice(0, 5).join(", ");
  return codes.size > 5 ? `${shown} and ${codes.size - 5} more` : shown;
}

function refuseCountry(reason: string): Step {
  return denyStep(name, "country_denied", reason);
}
