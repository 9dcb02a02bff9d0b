const maxFields = 100;

/**
 * Returns the named fields that occur in a form or query (WHATWG URL §5.1), decoded strictly; or text that states the
 * fault: a repeated name, or bytes that cannot be decoded.
 */
export function formFields<Name extends string>(
  text: string,
  names: readonly Name[],
): Partial<Record<Name, string>> | string {
  const found: Partial<Record<Name, string>> = {};
  const raw = readRawFields(text, names);
  if (typeof raw === "string") return raw;
  for (const [name, value] of Object.entries(raw) as [Name, string][]) {
    try {
      found[name] = decodeURIComponent(value.replaceAll("+", " "));
    } catch {
      return `${name} is not encoded as forms are`;
    }
  }
  return found;
}

/** The same without decoding: the exact octets that a signature of the redirect binding covers. */
export function readRawFields<Name extends string>(
  text: string,
  names: readonly Name[],
): Partial<Record<Name, string>> | string {
  const found: Partial<Record<Name, string>> = {};
  const fields = text.split("&", maxFields + 1);
  if (fields.length > maxFields) return `there are more than ${maxFields} fields`;
  for (const field of fields) {
    const equals = field.indexOf("=");
    const written = equals < 0 ? field : field.slice(0, equals);
    const name = names.find((one) => one === decodeName(written));
    if (name === undefined) continue;
    if (found[name] !== undefined) return `${name} is given twice`;
    found[name] = equals < 0 ? "" : field.slice(equals + 1);
  }
  return found;
}

/** A name in any spelling is that name, so that none is given twice under two spellings. */
function decodeName(name: string): string {
  try {
    return decodeURIComponent(name.replaceAll("+", " "));
  } catch {
    return "";
  }
}
