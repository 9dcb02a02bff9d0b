import { nameIdFormats } from "../xml-names.ts";
import { attributeOf, textIn } from "../xml/element.ts";
import type { XmlElement } from "../xml/element.ts";

export interface NameId {
  readonly nameId: string;
  /** As received. */
  readonly format?: string;
  /** Owner of the name, if the provider states it. A logout must repeat it (saml-core §3.7.3). */
  readonly nameQualifier?: string;
  readonly spNameQualifier?: string;
}

interface ExpectedNameId {
  readonly entityId: string;
  readonly nameIdFormat: string;
}

const maxNameId = 256;
/** Equal to the maximum length of an entity id. */
const maxQualifier = 1024;

/** Returns the name in a NameID (saml-core §2.2.2, §8.3), or text that says why the route does not accept it. */
export function nameIdOf(element: XmlElement, { entityId, nameIdFormat }: ExpectedNameId): NameId | string {
  const format = attributeOf(element, "Format");
  const any = nameIdFormats.unspecified.some((one) => one === nameIdFormat);
  if (!any && format !== nameIdFormat) return "the NameID does not have the format that the route requires";
  const qualifier = attributeOf(element, "SPNameQualifier");
  if (qualifier !== undefined && qualifier !== entityId) return "the NameID is for another service";
  const nameQualifier = attributeOf(element, "NameQualifier");
  if (nameQualifier !== undefined && nameQualifier.length > maxQualifier) return "the NameQualifier is too long";
  const nameId = textIn(element);
  if (nameId.length === 0 || nameId.length > maxNameId) return `the NameID must have 1 to ${maxNameId} characters`;
  if (!isVisible(nameId)) return "the NameID contains invisible characters";
  return {
    nameId,
    ...(format !== undefined && { format }),
    ...(nameQualifier !== undefined && { nameQualifier }),
    ...(qualifier !== undefined && { spNameQualifier: qualifier }),
  };
}

/** Whether the text has no control or format characters, and no separators except single inner spaces. */
export function isVisible(text: string): boolean {
  return !/[\p{C}\p{Zl}\p{Zp}]|[^\P{Zs} ]|^ | $/u.test(text);
}
