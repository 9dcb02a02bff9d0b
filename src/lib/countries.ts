/** Countries by their ISO 3166-1 alpha-2 codes, grouped as the continents of GeoNames. */

interface Continent {
  readonly code: string;
  readonly name: string;
  readonly countries: string;
}

/** `XK` is Kosovo, which databases use although ISO 3166-1 leaves it to its users. */
const continents: readonly Continent[] = [
  {
    code: "AF",
    name: "Africa",
    countries:
      "AO BF BI BJ BW CD CF CG CI CM CV DJ DZ EG EH ER ET GA GH GM GN GQ GW KE KM LR LS LY MA MG ML MR MU MW MZ NA NE NG RE RW SC SD SH SL SN SO SS ST SZ TD TG TN TZ UG YT ZA ZM ZW",
  },
  { code: "AN", name: "Antarctica", countries: "AQ BV GS HM TF" },
  {
    code: "AS",
    name: "Asia",
    countries:
      "AE AF AM AZ BD BH BN BT CC CN CX GE HK ID IL IN IO IQ IR JO JP KG KH KP KR KW KZ LA LB LK MM MN MO MV MY NP OM PH PK PS QA SA SG SY TH TJ TL TM TR TW UZ VN YE",
  },
  {
    code: "EU",
    name: "Europe",
    countries:
      "AD AL AT AX BA BE BG BY CH CY CZ DE DK EE ES FI FO FR GB GG GI GR HR HU IE IM IS IT JE LI LT LU LV MC MD ME MK MT NL NO PL PT RO RS RU SE SI SJ SK SM UA VA XK",
  },
  {
    code: "NA",
    name: "North America",
    countries:
      "AG AI AW BB BL BM BQ BS BZ CA CR CU CW DM DO GD GL GP GT HN HT JM KN KY LC MF MQ MS MX NI PA PM PR SV SX TC TT US VC VG VI",
  },
  {
    code: "OC",
    name: "Oceania",
    countries: "AS AU CK FJ FM GU KI MH MP NC NF NR NU NZ PF PG PN PW SB TK TO TV UM VU WF WS",
  },
  { code: "SA", name: "South America", countries: "AR BO BR CL CO EC FK GF GY PE PY SR UY VE" },
];

const continentOf = new Map(
  continents.flatMap((continent) => continent.countries.split(" ").map((code) => [code, continent] as const)),
);

const members = "AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IE IT LT LU LV MT NL PL PT RO SE SI SK";
const europeanUnion: ReadonlySet<string> = new Set(members.split(" "));

/** Codes that people write instead of the code of ISO 3166-1. */
const mistaken: Readonly<Record<string, string>> = { UK: "GB", EN: "GB", EL: "GR", SU: "RU", KO: "KR", JA: "JP" };

export const countryCodes: readonly string[] = [...continentOf.keys()].sort();

/** @param code upper case */
export function isCountryCode(code: string): boolean {
  return continentOf.has(code);
}

/** Returns the name of the continent, "" for an unknown code. */
export function continentNameOf(code: string): string {
  return continentOf.get(code)?.name ?? "";
}

export function isInEuropeanUnion(code: string): boolean {
  return europeanUnion.has(code);
}

let names: Intl.DisplayNames | undefined;

/** Returns the English name, "" for an unknown code. */
export function countryNameOf(code: string): string {
  if (!isCountryCode(code)) return "";
  names ??= new Intl.DisplayNames("en", { type: "region" });
  return names.of(code) ?? "";
}

/** Returns flag, name and code for people: `🇩🇪 Germany (DE)`. The flag is two regional indicator letters. */
export function countryText(code: string): string {
  if (!isCountryCode(code)) return code;
  const flag = String.fromCodePoint(...Array.from(code, (letter) => 0x1f1a5 + letter.charCodeAt(0)));
  return `${flag} ${countryNameOf(code)} (${code})`;
}

/** Returns the error in `code` as the end of "must …"; undefined if it is the code of a country, in any case. */
export function countryIssue(code: string): string | undefined {
  const upper = code.toUpperCase();
  if (isCountryCode(upper)) return undefined;
  const rule = 'be the two-letter code of a country (ISO 3166-1 alpha-2), such as "DE"';
  const meant = mistaken[upper] ?? codeOfName(code);
  return meant === undefined ? rule : `${rule}. ${countryNameOf(meant)} is "${meant}"`;
}

function codeOfName(name: string): string | undefined {
  const asked = name.trim().toLowerCase();
  return asked.length < 4 ? undefined : countryCodes.find((code) => countryNameOf(code).toLowerCase() === asked);
}
