/** Imports the objects of the frozen hosted service. */
import { documentKinds } from "../../api/documents/document.ts";
import type { JsonObject } from "../../lib/json.ts";
import { Names } from "../report/unique-names.ts";
import { Secrets } from "../report/secrets-file.ts";
import type { Imported, LineKind, ReportLine } from "../report/report.ts";
import { importFields } from "./import-fields.ts";
import type { ApiObject } from "./api-objects.ts";
import { describeDifference, explainLeftOut } from "./differences.ts";

/** Fields that distinguish objects of a kind, in order of preference. */
const telling = ["name", "domain", "hostports", "url", "match", "cidr", "address", "description"];
/** Kinds whose fields control access. An unknown field of these may protect something. */
const guarding = /edge|endpoint|ip_policy|ip_restriction|certificate_authority/;

export function importApi(objects: readonly ApiObject[], document: string, early: readonly ReportLine[]): Imported {
  const names = new Names();
  const secrets = new Secrets();
  const report: ReportLine[] = [...early];
  const all = sortOldestFirst(withoutRepeats(objects));
  const byId = new Map(all.map((object) => [object.id, object]));
  const kept = all.filter((object) => {
    const why = explainLeftOut(object, all);
    if (why === undefined) return true;
    const { text, guardsAccess = false } = why;
    report.push({ place: object.place, key: object.id, kind: "left out", text, guardsAccess });
    return false;
  });
  const nameById = new Map<string, string>();
  for (const object of kept) {
    const owner = ownerOf(object, byId);
    nameById.set(
      object.id,
      names.take(
        [kindOf(object), ...(owner ? [describeObject(owner)] : []), describeObject(object)],
        object.id.slice(-8),
      ),
    );
  }
  const found: Record<string, Record<string, JsonObject>> = {};
  for (const object of kept) {
    const resource = object.resource as NonNullable<ApiObject["resource"]>;
    const name = nameById.get(object.id) as string;
    const line = (key: string, kind: LineKind, text: string, guardsAccess = false): void => {
      const differs = describeDifference(resource.name, key, object.value);
      const place = {
        ...object.place,
        pointer: `${object.place.pointer ?? ""}/${key
          .replaceAll(/\.|\[|\]/g, "/")
          .replaceAll(/\/+/g, "/")
          .replace(/\/$/, "")}`,
      };
      const isSame = kind === "mapped" && differs !== undefined;
      report.push({
        place,
        key: `${name}.${key}`,
        kind: isSame ? "mapped differently" : kind,
        text: isSame ? differs : text,
        guardsAccess,
      });
    };
    line("id", "mapped", `${resource.name}.${name}`);
    const path = `${resource.name}.${name}`;
    const guards = guarding.test(resource.name);
    const given = { ...settingsOf(object, byId), ...ownerField(object) };
    const fields = importFields(resource.fields, given, "", {
      path,
      nameOf: (id) => nameById.get(id),
      secrets,
      guards,
      line,
    });
    (found[resource.name] ??= {})[name] = fields;
  }
  const order = documentKinds.map(({ name }) => name);
  const kinds = Object.entries(found).toSorted(([a], [b]) => order.indexOf(a) - order.indexOf(b));
  return { document: { document, objects: Object.fromEntries(kinds) }, secrets: secrets.found, report };
}

/** The same object can be in several responses. */
function withoutRepeats(objects: readonly ApiObject[]): ApiObject[] {
  return [...new Map(objects.map((object) => [object.id, object])).values()];
}

function sortOldestFirst(objects: readonly ApiObject[]): ApiObject[] {
  const timeOf = ({ value }: ApiObject): string => (typeof value["created_at"] === "string" ? value["created_at"] : "");
  return objects.toSorted((a, b) => timeOf(a).localeCompare(timeOf(b)) || a.id.localeCompare(b.id));
}

function kindOf({ resource }: ApiObject): string {
  return (resource?.name ?? "").replaceAll("_", "-");
}

/** Returns the owner by the nesting of the response, or by the field that names it. */
function ownerOf(object: ApiObject, byId: ReadonlyMap<string, ApiObject>): ApiObject | undefined {
  if (object.owner) return object.owner;
  const { ownedBy, fields } = object.resource ?? {};
  if (!ownedBy || !fields) return undefined;
  const name =
    Object.entries(fields).find(
      ([key, field]) => key === ownedBy.field || (field.type === "ref" && field.input === ownedBy.field),
    )?.[0] ?? "";
  const value = object.value[name];
  const id = typeof value === "object" && value !== null ? (value as JsonObject)["id"] : value;
  return byId.get(String(id));
}

/** A domain with automatic certificates also names the current certificate, which is not a setting. */
function settingsOf({ value }: ApiObject, byId: ReadonlyMap<string, ApiObject>): JsonObject {
  const certificate = value["certificate"];
  const id = typeof certificate === "object" && certificate !== null ? (certificate as JsonObject)["id"] : undefined;
  const isIssued = typeof byId.get(String(id))?.value["issued_at"] === "string";
  return value["certificate_management_policy"] || isIssued ? { ...value, certificate: null } : value;
}

/** Routes in a response may lack the id of their edge. */
function ownerField({ resource, owner }: ApiObject): JsonObject {
  return resource?.ownedBy && owner ? { [resource.ownedBy.field]: owner.id } : {};
}

function describeObject({ value }: ApiObject): string {
  for (const name of telling) {
    const found = value[name];
    const text = Array.isArray(found) ? String(found[0] ?? "") : typeof found === "string" ? found : "";
    if (text !== "") return text.replace(/:443$/, "");
  }
  return "";
}
