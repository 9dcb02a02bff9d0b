/** The form that allows or blocks visitors by country. */
import { TextInput } from "../../ui/elements.tsx";
import { countryName, countryText } from "../../ui/country.ts";
import type { JsonObject } from "../api.ts";

export interface CountryRule {
  /** Codes of ISO 3166-1, separated by spaces; "": no rule. */
  readonly countries: string;
  /** Whether these countries are denied. Otherwise all others are. */
  readonly blocksCountries: boolean;
}

export function codesOf(countries: string): readonly string[] {
  return countries.split(/[\s,]+/).flatMap((one) => (one === "" ? [] : [one.toUpperCase()]));
}

/** Returns an error sentence, or undefined. */
export function countryFault({ countries }: CountryRule): string | undefined {
  const wrong = codesOf(countries).find((code) => !/^[A-Z]{2}$/.test(code) || countryName(code) === undefined);
  return wrong === undefined ? undefined : `${wrong} is not the two-letter code of a country, such as DE.`;
}

/** Returns the present rule of a route or an edge. Pages cannot show a rule that both allows and blocks countries. */
export function countryRuleOf(object: JsonObject): CountryRule {
  const module = object["country_restriction"] as JsonObject | null | undefined;
  const {
    enabled,
    allow = [],
    deny = [],
  } = (module ?? { enabled: false }) as Readonly<{
    enabled?: boolean;
    allow?: readonly string[];
    deny?: readonly string[];
  }>;
  const blocksCountries = allow.length === 0 && deny.length > 0;
  const codes = enabled === false || (allow.length > 0 && deny.length > 0) ? [] : [...allow, ...deny];
  return { countries: codes.join(" "), blocksCountries };
}

/** Returns the change of a route or an edge from one rule to another. */
export function countryPatch(before: CountryRule, after: CountryRule): JsonObject {
  const isSame =
    codesOf(before.countries).join() === codesOf(after.countries).join() &&
    (before.blocksCountries === after.blocksCountries || codesOf(after.countries).length === 0);
  return isSame ? {} : { country_restriction: null, ...countryModule(after) };
}

/** Returns the module of a route or an edge. */
export function countryModule({ countries, blocksCountries }: CountryRule): JsonObject {
  const codes = codesOf(countries);
  if (codes.length === 0) return {};
  const [allow, deny] = blocksCountries ? [[], codes] : [codes, []];
  return { country_restriction: { enabled: true, allow, deny } };
}

export function CountryFields({
  value,
  onChange,
}: {
  value: CountryRule;
  onChange(change: Partial<CountryRule>): void;
}) {
  const fault = countryFault(value);
  const codes = fault === undefined ? codesOf(value.countries) : [];
  const help = value.blocksCountries
    ? "Visitors from these countries are denied. Visitors whose country is unknown pass."
    : "Visitors from all other countries are denied, and so are visitors whose country is unknown.";
  return (
    <div class="field">
      <label for="protect-countries">Countries</label>
      <div class="row">
        <select
          aria-label="What happens to the countries"
          value={value.blocksCountries ? "block" : "allow"}
          onChange={(event) => onChange({ blocksCountries: event.currentTarget.value === "block" })}
        >
          <option value="allow">only from</option>
          <option value="block">not from</option>
        </select>
        <TextInput
          id="protect-countries"
          class="grow"
          type="text"
          autocomplete="off"
          placeholder="all countries"
          aria-invalid={fault !== undefined}
          value={value.countries}
          onText={(countries) => onChange({ countries })}
        />
      </div>
      {fault === undefined ? (
        <span class="muted small">
          {codes.length > 0 ? `${codes.map(countryText).join(", ")}. ${help}` : "Two-letter codes, such as DE AT."}
        </span>
      ) : (
        <span class="fault" role="alert">
          {fault}
        </span>
      )}
    </div>
  );
}
