/** Which requests are captured, and how: the nearest `capture` of route or tunnel, edge and account, else the server's default. */
import { noteOf, ruleOf } from "../../../capture/rule.ts";
import type { CaptureRule, CaptureSetting } from "../../../capture/rule.ts";
import type { RoutingTable } from "../../../routing/sites/compiled-site.ts";
import type { FinishedExchange } from "../../http/http-context.ts";

export interface NotedRule extends CaptureRule {
  /** The part of the rule that the capture thread needs, as text. */
  readonly note: string;
}

type RulePlace = Pick<FinishedExchange, "routeId" | "siteId" | "accountId" | "route">;

/** Kinds whose `capture` counts. */
const kinds = ["account", "https_edge", "https_edge_route", "cloud_endpoint"];
/** Maximum number of places whose rule is remembered. */
const maxPlaces = 10_000;

/** The returned function returns undefined where requests are not captured. */
export function makeCaptureRules(
  table: Pick<RoutingTable, "object" | "subscribe">,
  isDefault: boolean,
): (place: RulePlace) => NotedRule | undefined {
  const byPlace = new Map<string, NotedRule | undefined>();
  table.subscribe((changed) => {
    if (kinds.some((kind) => changed.kinds.has(kind))) byPlace.clear();
  });
  /** A tunnel that an agent opens again has the same id, and may have another setting. */
  const byAgents = new WeakMap<CaptureSetting, { readonly rule: NotedRule | undefined }>();
  const ofAgent = (setting: CaptureSetting): NotedRule | undefined => {
    let known = byAgents.get(setting);
    if (known === undefined) byAgents.set(setting, (known = { rule: noteRule(setting) }));
    return known.rule;
  };
  const settingOf = (kind: string, id: string | undefined): CaptureSetting | undefined => {
    const object = id === undefined ? undefined : table.object(kind, id);
    return (object?.doc["capture"] ?? undefined) as CaptureSetting | undefined;
  };
  const find = ({ routeId, siteId, accountId }: RulePlace): NotedRule | undefined => {
    const given =
      settingOf("https_edge_route", routeId) ?? settingOf("https_edge", siteId) ?? settingOf("account", accountId);
    const setting = given ?? (isDefault ? {} : undefined);
    return setting && noteRule(setting);
  };
  return (place) => {
    const asked = place.route?.capture;
    if (asked !== undefined) return ofAgent(asked);
    const key = place.routeId ?? place.siteId ?? place.accountId ?? "";
    const known = byPlace.get(key);
    if (known !== undefined || byPlace.has(key)) return known;
    if (byPlace.size >= maxPlaces) byPlace.clear();
    const rule = find(place);
    byPlace.set(key, rule);
    return rule;
  };
}

function noteRule(setting: Partial<CaptureSetting>): NotedRule | undefined {
  const rule = ruleOf(setting);
  return rule.enabled && rule.sample > 0 ? { ...rule, note: noteOf(rule) } : undefined;
}
