/** Describes a change in words, such as `Published shop.example.com`. */
import type { ObjectChange, Revision } from "../../../../sdk/src/index.ts";
import { titleOf } from "../description.ts";

/** Names of objects by id. */
export type Names = ReadonlyMap<string, string>;

/** Fields by which people recognise an object, the best first. */
const naming = ["hostports", "domain", "addr", "url", "cidr", "name", "description", "email", "labels"];

/** Returns the names of the objects in the changes. Later revisions come first in the list, and their names count. */
export function namesIn(revisions: readonly Revision[]): Names {
  const names = new Map<string, string>();
  for (const { changes } of revisions.toReversed()) {
    for (const change of changes) {
      const name = givenName(change);
      if (name !== undefined) names.set(change.id, name);
    }
  }
  return names;
}

function givenName({ fields }: ObjectChange): string | undefined {
  for (const path of naming) {
    const field = fields.find((one) => one.path === path);
    const value = textOf(field?.after) || textOf(field?.before);
    if (value !== "") return value;
  }
  return undefined;
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.filter((one) => typeof one === "string").join(", ");
  if (typeof value === "string") return value;
  // Labels of a backend.
  const entries = Object.entries(value ?? {});
  return entries.map(([name, one]) => `${name}=${String(one)}`).join(", ");
}

/** Kinds in the order in which they name a change. */
const weighty =
  "https_edge tls_edge tcp_edge cloud_endpoint https_edge_route account person person_invitation passkey console_session api_key credential ip_policy ip_policy_rule event_destination reserved_domain reserved_addr".split(
    " ",
  );

export function sentenceOf(revisions: readonly Revision[], names: Names): string {
  const [first] = revisions;
  if (!first) return "";
  const back = /^back to revision (\d+)$/.exec(first.reason);
  if (first.operation === "rollbackToRevision") return back ? `Went back to revision ${back[1]}` : "Went back";
  if (first.operation === "firstStart") return "Set up the server";
  const changes = revisions.flatMap((one) => one.changes).filter((one) => one.action !== "unchanged" && !isUse(one));
  const weight = ({ kind }: ObjectChange): number => {
    const at = weighty.indexOf(kind);
    return at < 0 ? weighty.length : at;
  };
  const [main, ...rest] = changes.toSorted((one, other) => weight(one) - weight(other));
  if (!main) return `Ran ${first.operation}`;
  const same = rest.every(({ kind, action }) => kind === main.kind && action === main.action);
  if (same && rest.length > 0 && isLogin(main)) return `${partOf(main, names)} ${rest.length + 1} times`;
  // A domain is reserved with the edge that uses it.
  // With a person come their invitation, passkey and sessions.
  const otherChanges = (isOfPeople(main) ? rest.filter((one) => !isOfPeople(one)) : rest).filter(
    ({ id }) => names.get(id) === undefined || !partOf(main, names).includes(hostOf(id, names)),
  );
  const more = otherChanges.length + revisions.reduce((sum, one) => sum + (one.more_changes ? 1 : 0), 0);
  return more === 0
    ? partOf(main, names)
    : `${partOf(main, names)}, and ${more} more ${more === 1 ? "change" : "changes"}`;
}

function hostOf(id: string, names: Names): string {
  return (names.get(id) ?? "").replace(/:\d+$/, "");
}

/** Kinds that a rollback leaves unchanged. */
const lasting =
  "account person person_invitation passkey api_key console_session credential agent_invitation certificate_job acme_account login_key application_user application_session".split(
    " ",
  );

/** Whether a rollback would undo any of the revisions. */
export function isUndoable(revisions: readonly Revision[]): boolean {
  return revisions.some(
    ({ changes, more_changes: more }) => more || changes.some(({ kind }) => !lasting.includes(kind)),
  );
}

export function isLogin({ kind }: ObjectChange): boolean {
  return kind === "console_session";
}

function isOfPeople({ kind }: ObjectChange): boolean {
  return ["person", "person_invitation", "passkey", "console_session"].includes(kind);
}

/** Whether a login only noted its time. */
function isUse({ kind, action, fields }: ObjectChange): boolean {
  const isOfPerson = kind === "person" || kind === "passkey";
  return isOfPerson && action === "update" && fields.every(({ path }) => /^last_(?:login|used)_at$/.test(path));
}

const published: readonly string[] = ["https_edge", "tls_edge", "tcp_edge", "cloud_endpoint"];

function partOf(change: ObjectChange, names: Names): string {
  const { action, kind, id, fields } = change;
  const name = names.get(id) ?? `…${id.slice(-6)}`;
  if (published.includes(kind)) {
    if (action === "create") return `Published ${name}`;
    if (action === "delete") return `Unpublished ${name}`;
    if (fields.some(({ path }) => path === "hostports" || path === "url")) return `Changed the address to ${name}`;
    return `Changed ${settingsIn(change)} of ${name}`;
  }
  if (kind === "https_edge_route") return ofRoute(change, names);
  if (isLogin(change)) return action === "delete" ? "Logged out of the console" : "Logged in to the console";
  if (kind === "person_invitation" && action !== "update") {
    return action === "create" ? `Invited ${name}` : `Withdrew the invitation of ${name}`;
  }
  if (kind === "person" && action !== "update") return action === "create" ? `${name} joined` : `Removed ${name}`;
  if (kind === "passkey") return action === "delete" ? "Deleted a passkey" : "Added a passkey";
  if (kind === "reserved_domain" || kind === "reserved_addr") {
    if (action !== "update") return action === "create" ? `Reserved ${name}` : `Released ${name}`;
  }
  if (kind === "ip_policy_rule" && action === "create") {
    return `${fields.some(({ after }) => after === "deny") ? "Denied" : "Allowed"} ${name}`;
  }
  const verbs = { create: "Created", update: "Changed", delete: "Deleted", unchanged: "" } as const;
  const what = `${lowerFirst(titleOf(kind))} ${name}`;
  return action === "update" ? `${verbs.update} ${settingsIn(change)} of ${what}` : `${verbs[action]} ${what}`;
}

function ofRoute(change: ObjectChange, names: Names): string {
  const edgeId = /\/edges\/https\/([^/]+)\//.exec(change.uri)?.[1] ?? textOf(fieldIn(change, "edge_id"));
  const edge = names.get(edgeId);
  const match = textOf(fieldIn(change, "match"));
  const place = `${edge === undefined ? "" : edge}${match === "/" ? "" : match}`;
  const route = place === "" ? "a route" : `route ${match === "" ? "" : `${match} `}`.trimEnd();
  const at = edge === undefined ? "" : ` of ${edge}`;
  if (change.action === "create") return `Added ${route}${at}`;
  if (change.action === "delete") return `Removed ${route}${at}`;
  return `Changed ${settingsIn(change)}${at === "" ? " of a route" : at}`;
}

function fieldIn({ fields }: ObjectChange, name: string): unknown {
  const field = fields.find(({ path }) => path === name);
  return field?.after ?? field?.before;
}

/** Returns the changed settings, such as `IP restriction and OAuth`. */
function settingsIn({ fields }: ObjectChange): string {
  const all = [...new Set(fields.map(({ path }) => lowerFirst(titleOf(path.split(/[.[]/)[0] ?? path))))];
  if (all.length === 0) return "settings";
  if (all.length > 3) return `${all.slice(0, 2).join(", ")} and ${all.length - 2} other settings`;
  return all.length === 1 ? (all[0] as string) : `${all.slice(0, -1).join(", ")} and ${all.at(-1)}`;
}

/** `Vault` becomes `vault`, and `IP policy` stays. */
function lowerFirst(title: string): string {
  return /^[A-Z][a-z]/.test(title) && !title.startsWith("OAuth")
    ? title.charAt(0).toLowerCase() + title.slice(1)
    : title;
}
