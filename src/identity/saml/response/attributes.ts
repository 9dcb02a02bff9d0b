import { nameIdFormats, saml } from "../xml-names.ts";
import { attributeOf, elementsIn, isNamed } from "../xml/element.ts";
import type { XmlElement } from "../xml/element.ts";
import { isVisible } from "./name-id.ts";
import type { SamlAttribute } from "./work.ts";

const claims = "http://schemas.xmlsoap.org/ws/2005/05/identity/claims";
const emailNames = ["email", "mail", "urn:oid:0.9.2342.19200300.100.1.3", `${claims}/emailaddress`];
const nameNames = ["name", "displayName", "urn:oid:2.16.840.1.113730.3.1.241", `${claims}/name`];
/** RFC 5321 §4.5.3.1.3. */
const maxEmail = 254;
const maxName = 256;

/** Returns the attributes of a verified assertion. A repeated attribute has all of its values. */
export function attributesOf(assertion: XmlElement): readonly SamlAttribute[] {
  const found = new Map<string, string[]>();
  for (const statement of elementsIn(assertion)) {
    if (!isNamed(statement, saml, "AttributeStatement")) continue;
    for (const attribute of elementsIn(statement)) {
      const name = attributeOf(attribute, "Name");
      if (!isNamed(attribute, saml, "Attribute") || name === undefined) continue;
      let values = found.get(name);
      if (!values) found.set(name, (values = []));
      for (const value of elementsIn(attribute)) values.push(...textOf(value));
    }
  }
  return [...found].map(([name, values]) => ({ name, values }));
}

/** A value that contains elements is not text and is skipped. */
function textOf(value: XmlElement): readonly string[] {
  const [only, ...more] = value.children;
  const isText = isNamed(value, saml, "AttributeValue") && typeof only === "string" && more.length === 0;
  return isText ? [only] : [];
}

/** Returns the distinct values of the attributes with these names, in the order of the names. */
export function valuesOf(attributes: readonly SamlAttribute[], names: readonly string[]): readonly string[] {
  return [...new Set(names.flatMap((name) => attributes.find((one) => one.name === name)?.values ?? []))];
}

/** Lower case; empty if neither an attribute nor the name id has the form of an address. */
export function emailOf(attributes: readonly SamlAttribute[], nameId: string, format: string | undefined): string {
  const isEmail = nameIdFormats.email.some((one) => one === format);
  const values = [...valuesOf(attributes, emailNames), ...(isEmail ? [nameId] : [])];
  const found = values.find((one) => one.length <= maxEmail && /^[\x21-\x3f\x41-\x7e]+@[A-Za-z0-9.-]+$/.test(one));
  return found?.toLowerCase() ?? "";
}

/** Empty if there is none that can be displayed. */
export function displayNameOf(attributes: readonly SamlAttribute[]): string {
  return valuesOf(attributes, nameNames).find((one) => one !== "" && one.length <= maxName && isVisible(one)) ?? "";
}
